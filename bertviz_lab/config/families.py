"""The families that came after BERT: what each is in the settings of `BertConfig`, and its `config.json`.

A family's file calls the same things by other names, and says nothing of what all its models have in common:
`families.toml` has both, a table for each family. Here is what takes more than a change of names.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
    """One `model_type` of Hugging Face: its names in `transformers`, its settings, how its `config.json` is read."""

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


# RoBERTa and MPNet: read from byte-level BPE, without segments.


def _without_unused_positions(values: Body) -> Body:
    """RoBERTa counts positions from the padding's id plus one; the rows before that belong to no text."""
    offset = values["pad_token_id"] + 1
    return values | {"position_offset": offset, "max_position_embeddings": values["max_position_embeddings"] - offset}


def _with_unused_positions(values: Body) -> Body:
    return values | {"max_position_embeddings": values["max_position_embeddings"] + values["pad_token_id"] + 1}


# ALBERT: one set of layers for the whole depth.


def _one_group(values: Body) -> Body:
    groups, inner = values.pop("num_hidden_groups", 1), values.pop("inner_group_num", 1)
    if (groups, inner) != (1, 1):
        raise InputError(
            f"This ALBERT has {groups} groups of {inner} layers; the lab reads those that share one layer."
        )
    return values


# DeBERTa: content and position apart.


def _disentangled(values: Body) -> Body:
    if values.get("conv_kernel_size", 0):
        raise InputError("This DeBERTa has a convolution next to its first layer, which the lab does not support.")
    if not values.pop("relative_attention", False):
        raise InputError("This DeBERTa has no relative positions, which the lab does not support.")
    embedding_size = values["embedding_size"] or values["hidden_size"]
    if values.pop("attention_head_size", 0) or embedding_size != values["hidden_size"]:
        raise InputError("This DeBERTa has heads or embeddings of another size than its hidden states.")
    kinds = values["pos_att_type"]
    values["pos_att_type"] = tuple(kinds.lower().split("|") if isinstance(kinds, str) else kinds)
    values["norm_rel_ebd"] = "layer_norm" in str(values["norm_rel_ebd"])
    values["position_buckets"] = max(values["position_buckets"], 0)
    if values["max_relative_positions"] < 1:
        values["max_relative_positions"] = values["max_position_embeddings"]
    return values


def _as_deberta(values: Body) -> Body:
    return values | {
        "relative_attention": True,
        "pos_att_type": list(values["pos_att_type"]),
        "norm_rel_ebd": "layer_norm" if values["norm_rel_ebd"] else "none",
        "position_buckets": values["position_buckets"] or -1,
        "pooler_hidden_size": values["hidden_size"],
        "legacy": True,  # the masked-LM head under the names that transformers reads by default
    }


# ModernBERT: rotary positions, pre-norm, GLU, windows.

_MOST_LAYERS = 1024  # more are refused by `BertConfig`, and need no names before that


def _modern(values: Body) -> Body:
    every, layers = values.pop("global_attn_every_n_layers", 3), values["num_hidden_layers"]
    if not isinstance(every, int) or every < 1:
        raise InputError(f"global_attn_every_n_layers must be a whole number of at least 1, not {every!r}.")
    types = values.get("layer_types") or tuple(
        "sliding_attention" if index % every else "full_attention" for index in range(min(layers, _MOST_LAYERS))
    )
    ropes = values.pop("rope_parameters", None) or {}
    full, local = (ropes.get(kind) or {} for kind in ("full_attention", "sliding_attention"))
    scaled = {rope.get("rope_type", "default") for rope in (full, local)} != {"default"} or values.get("rope_scaling")
    if scaled:
        raise InputError("This ModernBERT scales its rotary positions (rope_scaling), which the lab does not support.")
    return values | {
        "layer_types": tuple(types),
        "rope_theta": full.get("rope_theta", values.get("global_rope_theta", 160_000.0)),
        "local_rope_theta": local.get("rope_theta", values.get("local_rope_theta", 10_000.0)),
        "pooler_act": values["mlm_act"],
    }


def _as_modern(values: Body) -> Body:
    full, local = values.pop("rope_theta"), values.pop("local_rope_theta")
    return values | {
        "layer_types": list(values["layer_types"]) or ["full_attention"] * values["num_hidden_layers"],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": full},
            "sliding_attention": {"rope_type": "default", "rope_theta": local},
        },
        "embedding_dropout": values["hidden_dropout_prob"],
    }


_FROM_FILE: dict[str, Callable[[Body], Body]] = {
    "roberta": _without_unused_positions,
    "mpnet": _without_unused_positions,
    "albert": _one_group,
    "electra": lambda values: (
        values | ({"embedding_size": None} if values["embedding_size"] == values["hidden_size"] else {})
    ),
    "deberta-v2": _disentangled,
    "modernbert": _modern,
}
_TO_FILE: dict[str, Callable[[Body], Body]] = {
    "bert": lambda values: values | {"position_embedding_type": "absolute"},
    "roberta": _with_unused_positions,
    "mpnet": _with_unused_positions,
    "distilbert": lambda values: values | {"classifier_dropout": values["classifier_dropout"] or 0.0},
    "albert": lambda values: values | ({"classifier_dropout": 0.1} if values["classifier_dropout"] is None else {}),
    "electra": lambda values: values | {"embedding_size": values["embedding_size"] or values["hidden_size"]},
    "deberta-v2": _as_deberta,
    "modernbert": _as_modern,
}
_TABLES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _family(model_type: str) -> Family:
    """Return the family of a table, which may be like that of another but for some entries."""
    table = _TABLES[model_type]
    like = table.get("like", model_type)
    body = {name: value for name, value in {**_TABLES[like], **table}.items() if name != "like"}
    body["heads"] = (*TASKS, *body.get("heads", ()))
    functions: dict[str, Any] = {"from_file": _FROM_FILE.get(like, dict), "to_file": _TO_FILE.get(like, dict)}
    return Family(model_type, **body, **functions)


#: model_type -> family. What is not here is refused.
FAMILIES = {model_type: _family(model_type) for model_type in _TABLES}
#: Families that can be trained from random weights here, by MLM (ALBERT with SOP too, ELECTRA by replaced tokens).
FROM_SCRATCH = tuple(model_type for model_type, table in _TABLES.items() if "scratch" in table)
