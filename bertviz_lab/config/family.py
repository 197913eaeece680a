"""What a model family is: its names in `transformers`, its settings, and how to read and write its `config.json`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bertviz_lab.errors import InputError

#: Heads by the end of their classes' names: `BertFor` + head here, `RobertaFor` + head in transformers.
Head = Literal[
    "MaskedLM",
    "SequenceClassification",
    "TokenClassification",
    "QuestionAnswering",
    "PreTraining",
    "NextSentencePrediction",
    "ReplacedTokenDetection",
]
TASKS: tuple[Head, ...] = ("MaskedLM", "SequenceClassification", "TokenClassification", "QuestionAnswering")

Body = dict[str, Any]

#: Settings that every family's `config.json` has, under their own names or those of `Family.names`.
_COMMON = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act"),
    *("hidden_dropout_prob", "attention_probs_dropout_prob", "max_position_embeddings", "initializer_range"),
    *("layer_norm_eps", "pad_token_id", "bos_token_id", "eos_token_id", "classifier_dropout", "problem_type"),
    *("handle_impossible_answer", "decision_thresholds", "is_decoder", "type_vocab_size", "pair_objective"),
    *("balanced_pairs", "null_score_diff_threshold"),
)
#: Not written where they are unset: BERT's file has none of them.
_OPTIONAL = (
    *("bos_token_id", "eos_token_id", "handle_impossible_answer", "decision_thresholds", "pair_objective"),
    *("balanced_pairs", "null_score_diff_threshold"),
)


@dataclass(frozen=True)
class Family:
    """One `model_type` of Hugging Face."""

    model_type: str
    title: str  # as its authors write it
    class_prefix: str  # of its classes in transformers
    weight_prefix: str  # of its backbone's tensors
    heads: tuple[Head, ...] = TASKS
    pretraining: Literal["nsp", "sop", "rtd", ""] = ""  # beside masked-LM: what its pretraining class predicts
    has_pooler: bool = False  # whether the bare model has one
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    own: Sequence[str] = ()  # settings in its file that not every family has
    scratch: Mapping[str, Any] = field(default_factory=dict)  # of its published small models, to train one like them
    changes: str = ""  # what it changed in BERT; "" for BERT itself
    from_file: Callable[[Body], Body] = dict  # what a change of names is not enough for
    to_file: Callable[[Body], Body] = dict

    def read(self, body: Body, settings: Mapping[str, Any]) -> Body:
        """Return the settings in a `config.json`, which may choose this family's own; `settings` has BERT's.

        Raises `InputError` for a variant of the family that the lab cannot read.
        """
        if body.get("add_cross_attention"):
            raise InputError(f"This {self.title} has cross-attention to another model's text, which the lab cannot do.")
        if body.get("position_embedding_type", "absolute") != "absolute":
            raise InputError(f"This {self.title} uses relative positions; the lab reads learned absolute ones only.")
        theirs = {name: ours for ours, name in self.names.items()}
        foreign = set(settings) - {*_COMMON, *self.own, "num_labels", "id2label"}  # another family's, or another name
        named = {theirs.get(name, name): value for name, value in body.items() if name in theirs or name not in foreign}
        values = dict(settings) | dict(self.defaults) | named
        return self.from_file(values) | dict(self.fixed)

    def from_scratch(self, shape: Body, settings: Mapping[str, Any]) -> Body:
        """Return the settings of a model of this family with some shape, for a tokenizer whose padding has the id 0."""
        values = {"pad_token_id": 0, "bos_token_id": None, "eos_token_id": None} | dict(self.scratch) | shape
        body = {self.names.get(name, name): value for name, value in values.items()}
        return {name: value for name, value in self.read(body, settings).items() if name in settings}

    def write(self, values: Body) -> Body:
        """Return the `config.json` of some settings."""
        written = [name for name in (*_COMMON, *self.own) if name not in self.fixed]
        kept = {name: values[name] for name in written if values[name] not in (None, (), "") or name not in _OPTIONAL}
        body = self.to_file(kept)
        return {self.names.get(name, name): value for name, value in body.items()}

    def class_name(self, kind: str) -> str:
        """Return the name in transformers of one of the lab's classes: `BertForMaskedLM` is `RobertaForMaskedLM`."""
        if kind == "BertForReplacedTokenDetection":
            kind = "BertForPreTraining"
        return self.class_prefix + kind.removeprefix("Bert")

    def kind_name(self, class_name: str) -> str | None:
        """Return the lab's name of one of transformers' classes; None for a class that the family has not here."""
        end = class_name.removeprefix(self.class_prefix)
        if end == "ForPreTraining" and self.pretraining == "rtd":
            end = "ForReplacedTokenDetection"
        named = class_name.startswith(self.class_prefix) and (end == "Model" or end.removeprefix("For") in self.heads)
        return f"Bert{end}" if named else None
