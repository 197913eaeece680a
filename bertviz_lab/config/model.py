"""The shape of a BERT, under the field names of Hugging Face's `config.json`.

The families that came after BERT (`families.py`) are other values of the same settings.
"""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from bertviz_lab.config.families import FAMILIES, FROM_SCRATCH, Family
from bertviz_lab.config.options import check_value, is_number, store_plain
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

#: What the sizes are called on the page.
SIZES = {name: f"{name} {layers} x {width}" for name, (layers, width, _) in PRESETS.items()}

#: The names of the published models whose sizes are presets: "bert-base-uncased", with its vocabulary of 30,522.
_PUBLISHED = re.compile(r"bert-(?P<size>base|large)-(?P<case>cased|uncased)")

#: The label of what is not scored, as in `torch.nn.functional.cross_entropy` and in transformers.
IGNORE_INDEX = -100

#: Names of the feed-forward activation, as in transformers' ACT2FN; `model.layers` has the functions.
ACTIVATIONS = (
    *("gelu", "gelu_new", "relu", "gelu_10", "quick_gelu", "gelu_python", "gelu_fast", "gelu_accurate"),
    *("gelu_python_tanh", "gelu_pytorch_tanh", "hardswish", "leaky_relu", "mish", "relu2", "relu6"),
    *("sigmoid", "silu", "swish", "tanh"),
)


def _choice(default: str | None, choices: Iterable[str]) -> Any:
    """Declare one of several names that are no `Literal`."""
    return dataclasses.field(default=default, metadata={"choices": tuple(choices)})


@dataclass(frozen=True)
class BertConfig:
    """The shape of a BERT, under the field names of Hugging Face's `config.json`.

    Raises `InputError` on construction when the numbers cannot make a model.
    Source: Devlin et al. 2018, section 3; defaults are BERT-base.
    """

    vocab_size: Annotated[int, 1, 4_000_000] = 30522
    hidden_size: Annotated[int, 1, 32_768] = 768
    num_hidden_layers: Annotated[int, 1, 512] = 12
    num_attention_heads: Annotated[int, 1, 512] = 12
    intermediate_size: Annotated[int, 1, 131_072] = 3072
    hidden_act: str = _choice("gelu", ACTIVATIONS)  # "gelu" is the exact erf form, "gelu_new" Google's tanh form
    hidden_dropout_prob: Annotated[float, 0.0, 0.999] = 0.1
    attention_probs_dropout_prob: Annotated[float, 0.0, 0.999] = 0.1
    max_position_embeddings: Annotated[int, 1, 1_000_000] = 512
    type_vocab_size: Annotated[int, 0, 1024] = 2
    initializer_range: Annotated[float, 1e-9, 10.0] = 0.02
    layer_norm_eps: Annotated[float, 1e-30, 1.0] = 1e-12
    pad_token_id: Annotated[int, 0, 4_000_000] = 0  # an id
    classifier_dropout: Annotated[float | None, 0.0, 0.999] = None
    num_labels: Annotated[int, 1, 1_000_000] = 2
    share_layers: bool = False  # cross-layer parameter sharing (ALBERT); saved repeated for Hugging Face's BERT
    id2label: tuple[str, ...] = ()  # label names by index; a mapping, as in Hugging Face's file, becomes this
    #: Of question answering, by the name that `transformers` gives it in its pipeline: whether "no answer" may be
    #: predicted, which it may if the training data had unanswerable questions; None where that is unknown.
    handle_impossible_answer: bool | None = None
    #: By the name of `transformers`' example scripts: how far, in nats, the score of no answer must exceed that of the
    #: best span for "no answer" to be predicted; None is 0, what the loss trains.
    null_score_diff_threshold: float | None = None
    #: "regression" where one label is a number, "multi_label_classification" where a text has any number of labels;
    #: `transformers` asks for it.
    problem_type: Literal["regression", "single_label_classification", "multi_label_classification"] | None = None
    #: Of multi-label classification: the probability from which on a label applies, one for all or one a label.
    decision_thresholds: tuple[float, ...] = ()
    is_decoder: bool = False  # causal mask: tokens attend only to those before them, as in GPT

    #: What the head over a pair was pretrained on where that is not the family's own: "sop" for a BERT that was
    #: pretrained on sentence order; "" for the family's own.
    pair_objective: Literal["", "nsp", "sop"] = ""
    #: Whether half of the pairs of NSP were true next sentences; None where Google's code drew them, which has more
    #: random ones. A model is scored on such pairs as it was trained on.
    balanced_pairs: bool | None = None

    # The families (docs/families.md). What BERT does is the default of each setting.
    model_type: str = _choice("bert", FAMILIES)
    bos_token_id: int | None = None  # of the tokenizer; kept for Hugging Face's files
    eos_token_id: int | None = None
    #: Where attention learns how far apart two tokens are: from the input alone ("absolute"), by turning queries and
    #: keys ("rotary"), by scores with relative positions ("disentangled"), by a learned number ("relative_bias").
    position_embedding_type: Literal["absolute", "rotary", "disentangled", "relative_bias"] = "absolute"
    position_biased_input: bool = True  # absolute positions are added to the input embeddings
    #: Row of the first position; RoBERTa's table begins with rows that no text uses.
    position_offset: Annotated[int, 0, 4_000_000] = 0
    #: Of factorised embeddings, which a matrix projects to the hidden size.
    embedding_size: Annotated[int | None, 1, 32_768] = None
    norm_position: Literal["post", "pre"] = "post"  # LayerNorm after each sum, or before each sub-layer
    norm_bias: bool = True  # of every LayerNorm
    attention_bias: bool = True  # of query, key, value and output
    mlp_bias: bool = True  # of both feed-forward matrices
    gated_feed_forward: bool = False  # GLU: the activation is multiplied by a second projection
    mlm_act: str | None = _choice(None, ACTIVATIONS)  # of the masked-LM head; None is `hidden_act`
    pooler_act: str = _choice("tanh", ACTIVATIONS)
    dropout_before_pooler: bool = False  # the classifier's dropout before the pooler too
    classifier_pooling: Literal["cls", "mean"] = "cls"  # what a text's classifier reads
    classifier_transform: bool = False  # dense, activation and norm before every classifier
    classifier_bias: bool = True  # of that dense layer
    decoder_bias: bool = True  # of the masked-LM logits
    layer_types: tuple[str, ...] = ()  # for each layer "full_attention" or "sliding_attention"; () is all full
    #: Tokens that a layer with sliding attention sees, half of them on either side.
    local_attention: Annotated[int, 0, 1_000_000] = 0
    rope_theta: Annotated[float, 1.0, 1e12] = 160_000.0  # base of the rotary wavelengths, in layers with full attention
    local_rope_theta: Annotated[float, 1.0, 1e12] = 10_000.0  # and in those with sliding attention
    pos_att_type: tuple[str, ...] = ("c2p", "p2c")  # disentangled: content to position, position to content
    share_att_key: bool = False  # disentangled: positions use the content's key and query matrices
    norm_rel_ebd: bool = False  # disentangled: LayerNorm of the relative position embeddings
    position_buckets: Annotated[int, 0, 65_536] = 0  # disentangled: distances beyond half of this share buckets
    max_relative_positions: Annotated[int, 1, 65_536] = 512  # disentangled: the largest distance
    relative_attention_num_buckets: Annotated[int, 1, 1024] = 32  # relative bias

    def __post_init__(self) -> None:
        store_plain(self)
        if not isinstance(self.id2label, tuple):
            object.__setattr__(self, "id2label", _label_names(self.id2label))
        for field in dataclasses.fields(self):  # what is too large is refused before anything is built
            check_value(field, getattr(self, field.name), field.name)
        if self.hidden_size % self.num_attention_heads:
            heads = f"{self.num_attention_heads} heads"
            raise InputError(f"hidden_size {self.hidden_size} is not divisible by {heads}; choose a multiple.")
        self._check_attention()
        if self.id2label and len(self.id2label) != self.num_labels:
            raise InputError(f"id2label names {len(self.id2label)} labels but num_labels is {self.num_labels}.")
        thresholds = self.decision_thresholds
        is_fitting = isinstance(thresholds, tuple) and len(thresholds) in (0, 1, self.num_labels)
        if not is_fitting or not all(is_number(t) and 0 <= t <= 1 for t in thresholds):
            raise InputError("decision_thresholds must be numbers from 0 to 1, one for all labels or one for each.")
        if self.null_score_diff_threshold is not None and not is_number(self.null_score_diff_threshold):
            raise InputError(f"null_score_diff_threshold must be a number, not {self.null_score_diff_threshold!r}.")

    def _check_attention(self) -> None:
        if self.layer_types and len(self.layer_types) != self.num_hidden_layers:
            raise InputError(f"layer_types names {len(self.layer_types)} layers of {self.num_hidden_layers}.")
        if set(self.layer_types) - {"full_attention", "sliding_attention"}:
            raise InputError(f"layer_types must be full_attention or sliding_attention, not {self.layer_types[:3]}.")
        if "sliding_attention" in self.layer_types and self.local_attention < 2:
            raise InputError("Layers with sliding attention need local_attention, the tokens of their window.")
        if self.position_embedding_type == "rotary" and self.head_size % 2:
            raise InputError(f"Rotary positions turn pairs of numbers: a head of {self.head_size} has an odd one.")
        if self.position_embedding_type == "disentangled" and (
            not self.pos_att_type or set(self.pos_att_type) - {"c2p", "p2c"} or self.position_buckets == 1
        ):
            raise InputError("Disentangled attention needs pos_att_type c2p or p2c, and position_buckets 0 or above 1.")

    @property
    def family(self) -> Family:
        return FAMILIES[self.model_type]

    # What a family has, or lacks: pages say so instead of showing nothing.

    @property
    def has_segments(self) -> bool:
        """Whether the model tells sentence A from sentence B by segment embeddings."""
        return self.type_vocab_size > 1

    @property
    def has_nsp(self) -> bool:
        """Whether the head over a pair was pretrained on next-sentence prediction."""
        return (self.pair_objective or self.family.pretraining) == "nsp"

    @property
    def has_sop(self) -> bool:
        """Whether the head over a pair was pretrained on sentence-order prediction."""
        return (self.pair_objective or self.family.pretraining) == "sop"

    @property
    def reads_pairs(self) -> bool:
        """Whether two texts can be told apart: by segments, or by the separators of another family."""
        return self.has_segments or self.model_type != "bert"

    @property
    def is_prenorm(self) -> bool:
        """Whether hidden states are sums that were never normalized, until `final_norm` after the last layer."""
        return self.norm_position == "pre"

    def is_local(self, layer: int) -> bool:
        """Return whether a layer attends only within a window of `local_attention` tokens."""
        return bool(self.layer_types) and self.layer_types[layer] == "sliding_attention"

    @property
    def windows(self) -> tuple[int | None, ...]:
        """Of each layer the tokens that its local attention sees; None where it sees all."""
        return tuple(self.local_attention if self.is_local(n) else None for n in range(self.num_hidden_layers))

    @property
    def no_answer_threshold(self) -> float:
        """Return the threshold of "no answer" in nats; infinity for a model that always answers."""
        return math.inf if self.handle_impossible_answer is False else (self.null_score_diff_threshold or 0.0)

    @property
    def head_dropout(self) -> float:
        """The dropout before a classifier: `classifier_dropout`, or the hidden dropout if that is unset."""
        return self.hidden_dropout_prob if self.classifier_dropout is None else self.classifier_dropout

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads

    @property
    def labels(self) -> tuple[str, ...]:
        """Label names by index, `LABEL_0` and so on where none were given, as Hugging Face names them."""
        return self.id2label or tuple(f"LABEL_{index}" for index in range(self.num_labels))

    @classmethod
    def preset(cls, name: str, *, family: str = "bert", **overrides: Any) -> Self:
        """Return a named size ("tiny" to "large", or "bert-base-uncased"), with any field replaced.

        `family` is one of `FROM_SCRATCH`; what makes it that family is not replaced. Raises `InputError` for an unknown
        name or family.
        """
        published = _PUBLISHED.fullmatch(name)
        if published:
            name = published["size"]
            overrides = {"vocab_size": 28_996 if published["case"] == "cased" else 30_522} | overrides
        if name not in PRESETS:
            raise InputError(f"There is no preset {name!r}; choose one of {', '.join(PRESETS)}.")
        layers, hidden, heads = PRESETS[name]
        shape: dict[str, Any] = {
            "num_hidden_layers": layers,
            "hidden_size": hidden,
            "num_attention_heads": heads,
            "intermediate_size": 4 * hidden,
        }
        if family not in FROM_SCRATCH:
            raise InputError(f"There are no presets of {family!r}; choose one of {', '.join(FROM_SCRATCH)}.")
        if family == "bert":
            return cls(**(shape | overrides))
        settings = {f.name: f.default for f in dataclasses.fields(cls)}
        return cls(**FAMILIES[family].from_scratch(shape | overrides, settings) | {"model_type": family})

    def replace(self, **changes: Any) -> Self:
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return the body of a Hugging Face `config.json`, without `architectures`, which the checkpoint adds."""
        body = self.family.write(dataclasses.asdict(self))
        labels = self.labels
        body["id2label"] = {str(index): label for index, label in enumerate(labels)}
        body["label2id"] = {label: index for index, label in enumerate(labels)}
        return body | {"model_type": self.model_type, "tie_word_embeddings": True}

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Self:
        """Read a Hugging Face `config.json`. Raises `InputError` for another architecture or an unusable value."""
        kind = body.get("model_type", "bert")
        if not isinstance(kind, str) or kind not in FAMILIES:
            raise InputError(f"This checkpoint is a {kind!r} model; the lab reads {', '.join(FAMILIES)}.")
        settings = {f.name: f.default for f in dataclasses.fields(cls)}
        try:
            values = FAMILIES[kind].read({name: value for name, value in body.items() if value is not None}, settings)
        except InputError:
            raise
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise InputError(f"config.json of this {kind} cannot be used: {error}.") from error
        values = {name: value for name, value in values.items() if name in settings}
        if names := _label_names(values.pop("id2label", None)):
            values["num_labels"] = len(names)
            values["id2label"] = () if names == tuple(f"LABEL_{index}" for index in range(len(names))) else names
        return cls(**values | {"model_type": kind})


def _label_names(id2label: Mapping[int | str, str] | None) -> tuple[str, ...]:
    """Label names by index. Raises `InputError` for anything but a mapping of numbers, which may be text, to names."""
    labels = id2label or {}
    try:
        return tuple(str(labels[key]) for key in sorted(labels, key=int))
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"id2label must map 0, 1, 2 ... to names, not {labels!r}.") from error
