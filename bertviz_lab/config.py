"""Every setting, declared once: the command line, the page and the documentation are drawn from these fields."""

import dataclasses
import difflib
import math
from dataclasses import dataclass, field
from typing import Any, Literal, Self

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

ACTIVATIONS = ("gelu", "gelu_new", "relu")


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
    id2label: tuple[str, ...] = ()  # label names by index; a mapping in Hugging Face's file

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
            "num_labels",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a whole number of at least 1, not {value!r}.")
        if self.hidden_size % self.num_attention_heads:
            raise InputError(
                f"hidden_size {self.hidden_size} cannot be shared equally by {self.num_attention_heads} heads; "
                "choose a multiple."
            )
        if self.hidden_act not in ACTIVATIONS:
            raise InputError(f"hidden_act {self.hidden_act!r} is not known; choose one of {', '.join(ACTIVATIONS)}.")
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"):
            value = getattr(self, name)
            if not (value is None and name == "classifier_dropout") and not (_is_number(value) and 0.0 <= value < 1.0):
                raise InputError(f"{name} must be at least 0 and below 1, not {value!r}.")
        for name in ("initializer_range", "layer_norm_eps"):
            value = getattr(self, name)
            if not (_is_number(value) and value > 0.0):
                raise InputError(f"{name} must be a number above 0, not {value!r}.")
        if self.id2label and len(self.id2label) != self.num_labels:
            raise InputError(f"id2label names {len(self.id2label)} labels but num_labels is {self.num_labels}.")

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
        if body.get("is_decoder") or body.get("add_cross_attention"):
            raise InputError("This BERT is a decoder; the lab reads encoders only.")
        known = {f.name for f in dataclasses.fields(cls)}
        values = {name: value for name, value in body.items() if name in known and value is not None}
        labels = values.pop("id2label", None) or {}
        try:
            names = tuple(str(labels[key]) for key in sorted(labels, key=int))
        except (TypeError, ValueError) as error:
            raise InputError(f"id2label must map 0, 1, 2 ... to names, not {labels!r}.") from error
        if names:
            values["num_labels"] = len(names)
            values["id2label"] = () if names == tuple(f"LABEL_{index}" for index in range(len(names))) else names
        return cls(**values)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def option(
    default: Any,
    help: str,
    *,
    group: str = "basic",
    label: str = "",
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """A config field with what the command line and the page need to draw it."""
    meta = {"help": help, "group": group, "label": label, "choices": choices, "low": low, "high": high}
    return field(default=default, metadata=meta)


@dataclass(frozen=True)
class PretrainConfig:
    """Everything that decides a pretraining run; saved as the run's `config.json`, enough to repeat it.

    Raises `InputError` naming the option when a value is out of range.
    """

    corpus: tuple[str, ...] = option((), "Text files, or sample:tiny-town, or sample:docstrings")
    preset: str = option("mini", "Size of the model", choices=tuple(PRESETS), label="Model size")
    steps: int | None = option(None, "Optimiser steps; leave empty to use the time budget", low=1, high=10_000_000)
    time_budget: str = option("2m", "How long to train, such as 90s, 10m or 2h; used when steps is empty")
    objective: str = option("mlm+nsp", "What the model learns from", choices=("mlm+nsp", "mlm"))
    vocab_size: int = option(8192, "Size of the vocabulary learnt from the text", group="text", low=64, high=100_000)
    tokenizer: str = option("", "Folder with a tokenizer to use instead of training one", group="text")
    algorithm: Literal["wordpiece", "bpe"] = option(
        "wordpiece", "How words are split", group="text", choices=("wordpiece", "bpe")
    )
    lowercase: bool = option(True, "Fold case and strip accents", group="text")
    documents: str = option("auto", "Where a document ends", group="text", choices=("auto", "blank-line", "file"))
    seq_len: int = option(128, "Tokens in one example", group="advanced", low=8, high=512)
    batch_size: int = option(32, "Examples in one step", group="advanced", low=1, high=4096)
    mask_probability: float = option(0.15, "Share of the tokens to be predicted", group="advanced", low=0.01, high=0.9)
    whole_word: bool = option(False, "Choose whole words for masking, not word pieces", group="advanced")
    short_seq_probability: float = option(
        0.1, "Share of examples that are made shorter at random", group="advanced", low=0.0, high=1.0
    )
    optimizer: str = option("adamw", "Update rule", group="advanced", choices=("adamw", "muon"))
    learning_rate: float | None = option(
        None, "Peak learning rate; empty chooses one for the model size", group="advanced", low=1e-7, high=1.0
    )
    warmup: float = option(
        0.06, "Share of the run in which the learning rate rises", group="advanced", low=0.0, high=0.9
    )
    weight_decay: float = option(
        0.01, "AdamW weight decay, on all but biases and LayerNorm", group="advanced", low=0.0, high=1.0
    )
    beta2: float = option(
        0.98,
        "How slowly AdamW forgets the size of past gradients (the paper: 0.999)",
        group="advanced",
        low=0.5,
        high=0.99999,
    )
    dropout: float = option(0.0, "Dropout while pretraining (the paper: 0.1)", group="advanced", low=0.0, high=0.9)
    clip_norm: float = option(1.0, "Longest gradient that is let through", group="advanced", low=1e-3, high=1000.0)
    precision: str = option(
        "auto", "Number format of the arithmetic", group="advanced", choices=("auto", "fp32", "bf16", "fp16")
    )
    seed: int = option(0, "Start of every random stream", group="advanced", low=0, high=2**31 - 1)
    threads: int = option(0, "CPU threads; 0 takes all cores", group="advanced", low=0, high=1024)
    eval_every: float = option(
        15.0, "Seconds between looks at the held-out text", group="advanced", low=0.1, high=86_400.0
    )
    checkpoint_every: float = option(60.0, "Seconds between checkpoints", group="advanced", low=0.1, high=86_400.0)

    def __post_init__(self) -> None:
        if isinstance(self.corpus, str) or not self.corpus:
            raise InputError("Name at least one text to train on, for example --corpus book.txt.")
        for f in dataclasses.fields(self):
            value, meta = getattr(self, f.name), f.metadata
            flag = "--" + f.name.replace("_", "-")
            if meta["choices"] and value not in meta["choices"]:
                near = difflib.get_close_matches(str(value), meta["choices"], n=1)
                hint = f"; did you mean {near[0]}?" if near else "."
                raise InputError(f"{flag} must be one of {', '.join(meta['choices'])}, not {value!r}{hint}")
            may_be_empty = value is None and f.default is None
            if meta["low"] is not None and not may_be_empty:
                if not _is_number(value) or not meta["low"] <= value <= meta["high"]:
                    raise InputError(f"{flag} must lie between {meta['low']} and {meta['high']}, not {value!r}.")
                if isinstance(meta["low"], int) and not isinstance(value, int):
                    raise InputError(f"{flag} must be a whole number, not {value!r}.")
        parse_duration(self.time_budget)

    @property
    def time_budget_seconds(self) -> float | None:
        """Length of the run in seconds, or None where the number of steps decides."""
        return None if self.steps is not None else parse_duration(self.time_budget)

    @property
    def uses_nsp(self) -> bool:
        return self.objective == "mlm+nsp"

    def model_config(self, vocab_size: int) -> BertConfig:
        """The model this run trains, for the vocabulary its tokenizer turned out to have."""
        return BertConfig.preset(
            self.preset,
            vocab_size=vocab_size,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.dropout,
        )

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, body: dict[str, Any]) -> Self:
        known = {f.name for f in dataclasses.fields(cls)}
        values = {name: value for name, value in body.items() if name in known}
        return cls(**(values | {"corpus": tuple(values.get("corpus", ()))}))


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def parse_duration(text: str) -> float:
    """Seconds in "90s", "10m", "1.5h", "2d" or a bare number of seconds. Raises `InputError` for anything else."""
    stripped = str(text).strip().lower()
    unit = stripped[-1:]
    number = stripped[:-1] if unit in _UNITS else stripped
    try:
        seconds = float(number) * _UNITS.get(unit, 1.0)
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise InputError(f"{text!r} is not a length of time; write for example 90s, 10m or 2h.")
    return seconds
