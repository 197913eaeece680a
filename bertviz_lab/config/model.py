"""The shape of a BERT, under the field names of Hugging Face's `config.json`."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Self

from bertviz_lab.config.options import is_number
from bertviz_lab.errors import InputError

#: name -> (layers, hidden size, attention heads); Turc et al. 2019 for the small ones, Devlin et al. 2018 for the rest.
PRESETS: dict[str, tuple[int, int, int]] = {
    "tiny": (2, 128, 2),
    "mini": (4, 256, 4),
    "small": (4, 512, 8),
    "medium": (8, 512, 8),
    "base": (12, 768, 12),
    "large": (24, 1024, 16),
}

#: The label of what is not scored, as in `torch.nn.functional.cross_entropy` and in transformers.
IGNORE_INDEX = -100

#: Names of the feed-forward activation, as in transformers' ACT2FN; `model.layers` has the functions.
ACTIVATIONS = (
    *("gelu", "gelu_new", "relu", "gelu_10", "quick_gelu", "gelu_python", "gelu_fast", "gelu_accurate"),
    *("gelu_python_tanh", "gelu_pytorch_tanh", "hardswish", "leaky_relu", "mish", "relu2", "relu6"),
    *("sigmoid", "silu", "swish", "tanh"),
)


#: Far beyond any BERT: a file that asks for more is refused before anything is built.
_LARGEST = {
    "vocab_size": 4_000_000,
    "hidden_size": 32_768,
    "num_hidden_layers": 512,
    "num_attention_heads": 512,
    "intermediate_size": 131_072,
    "max_position_embeddings": 1_000_000,
    "type_vocab_size": 1024,
    "num_labels": 1_000_000,
}


@dataclass(frozen=True)
class BertConfig:
    """The shape of a BERT, under the field names of Hugging Face's `config.json`.

    Raises `InputError` on construction when the numbers cannot make a model.
    Source: Devlin et al. 2018, section 3; defaults are BERT-base.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"  # "gelu" is the exact erf form, "gelu_new" Google's tanh form
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0
    classifier_dropout: float | None = None
    num_labels: int = 2
    share_layers: bool = False  # cross-layer parameter sharing (ALBERT); saved repeated for Hugging Face's BERT
    id2label: tuple[str, ...] = ()  # label names by index; a mapping in Hugging Face's file
    #: Of question answering, by the name that `transformers` gives it in its pipeline: whether "no answer" may be
    #: predicted, which it may if the training data had unanswerable questions; None where that is unknown.
    handle_impossible_answer: bool | None = None
    #: "regression" where one label is a number, "multi_label_classification" where a text has any number of labels;
    #: `transformers` asks for it.
    problem_type: str | None = None
    #: Of multi-label classification: the probability from which on a label applies, one for all or one a label.
    decision_thresholds: tuple[float, ...] = ()
    is_decoder: bool = False  # causal mask: tokens attend only to those before them, as in GPT

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            counts = field.type is int and field.name != "pad_token_id"
            if counts and (not isinstance(value, int) or value < 1):
                raise InputError(f"{field.name} must be a whole number of at least 1, not {value!r}.")
            if counts and value > _LARGEST[field.name]:
                raise InputError(f"{field.name} must be at most {_LARGEST[field.name]:,}, not {value:,}.")
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size {self.hidden_size} is not divisible by {self.num_attention_heads} heads; "
                "choose a multiple."
            )
        if self.hidden_act not in ACTIVATIONS:
            raise InputError(f"hidden_act {self.hidden_act!r} is not known; choose one of {', '.join(ACTIVATIONS)}.")
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"):
            value = getattr(self, name)
            if not (value is None and name == "classifier_dropout") and not (is_number(value) and 0.0 <= value < 1.0):
                raise InputError(f"{name} must be at least 0 and below 1, not {value!r}.")
        for name in ("initializer_range", "layer_norm_eps"):
            value = getattr(self, name)
            if not (is_number(value) and value > 0.0):
                raise InputError(f"{name} must be a number above 0, not {value!r}.")
        if self.id2label and len(self.id2label) != self.num_labels:
            raise InputError(f"id2label names {len(self.id2label)} labels but num_labels is {self.num_labels}.")
        thresholds = self.decision_thresholds
        if len(thresholds) not in (0, 1, self.num_labels) or not all(is_number(t) and 0 <= t <= 1 for t in thresholds):
            raise InputError("decision_thresholds must be numbers from 0 to 1, one for all labels or one for each.")

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names by index, `LABEL_0` and so on where none were given, as Hugging Face names them."""
        return self.id2label or tuple(f"LABEL_{index}" for index in range(self.num_labels))

    @classmethod
    def preset(cls, name: str, **overrides: Any) -> Self:
        """A named size ("tiny" ... "large"), with any field replaced. Raises `InputError` for an unknown name."""
        if name not in PRESETS:
            raise InputError(f"There is no preset {name!r}; choose one of {', '.join(PRESETS)}.")
        layers, hidden, heads = PRESETS[name]
        shape: dict[str, Any] = {
            "num_hidden_layers": layers,
            "hidden_size": hidden,
            "num_attention_heads": heads,
            "intermediate_size": 4 * hidden,
        }
        return cls(**(shape | overrides))

    def replace(self, **changes: Any) -> Self:
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The body of a Hugging Face `config.json`, without `architectures`, which the checkpoint adds."""
        body = dataclasses.asdict(self)
        labels = self.labels
        if self.handle_impossible_answer is None:
            del body["handle_impossible_answer"]
        if not self.decision_thresholds:
            del body["decision_thresholds"]
        del body["num_labels"]  # Hugging Face derives it from id2label
        body["id2label"] = {str(index): label for index, label in enumerate(labels)}
        body["label2id"] = {label: index for index, label in enumerate(labels)}
        return body | {"model_type": "bert", "tie_word_embeddings": True, "position_embedding_type": "absolute"}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Self:
        """Read a Hugging Face `config.json`. Raises `InputError` for another architecture or an unusable value."""
        kind = body.get("model_type", "bert")
        if kind != "bert":
            raise InputError(f"This checkpoint is a {kind!r} model; the lab reads BERT checkpoints (model_type bert).")
        if body.get("position_embedding_type", "absolute") != "absolute":
            raise InputError("This BERT uses relative positions; the lab reads learned absolute positions only.")
        if body.get("add_cross_attention"):
            raise InputError("This BERT also attends to another model's text (cross-attention), which the lab cannot.")
        known = {f.name for f in dataclasses.fields(cls)}
        values = {name: value for name, value in body.items() if name in known and value is not None}
        labels = values.pop("id2label", None) or {}
        try:
            names = tuple(str(labels[key]) for key in sorted(labels, key=int))
        except (TypeError, ValueError) as error:
            raise InputError(f"id2label must map 0, 1, 2 ... to names, not {labels!r}.") from error
        if isinstance(thresholds := values.get("decision_thresholds"), list):
            values["decision_thresholds"] = tuple(thresholds)
        if names:
            values["num_labels"] = len(names)
            values["id2label"] = () if names == tuple(f"LABEL_{index}" for index in range(len(names))) else names
        return cls(**values)
