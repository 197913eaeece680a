"""The declaration of a setting, which command line, page and documentation are drawn from; the settings of all runs."""

import dataclasses
import difflib
import math
import os
import types
import typing
from collections.abc import Mapping
from dataclasses import Field, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from bertviz_lab.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: Who may set an option: everybody, the command line and Python, or recipes and Python alone.
SetBy = Literal["page", "command line", "recipe"]
_LONGEST = 500  # characters of a setting that a form sends


def option(
    default: Any,
    label: str,
    help: str,
    *,
    group: str,
    choices: tuple[str, ...] = (),
    titles: Mapping[str, str] | None = None,
    examples: tuple[str, ...] = (),
    between: tuple[float | None, float | None] = (None, None),
    by: SetBy = "page",
) -> Any:
    """Declare a config field; the options of a group are declared by a `partial` of this.

    Args:
        default: its value where none is given.
        label: its name on the page.
        help: a sentence without its full stop. Flags in it, such as --steps, become labels on the page.
        group: the heading it is listed under in `--help` and on the page.
        choices: the values that are allowed, if they are few.
        titles: what a choice is called on the page, where its name does not explain it.
        examples: values that the page suggests.
        between: the smallest and the largest number that are allowed.
        by: who may set it.
    """
    words = {"label": label, "help": help, "group": group, "titles": titles or {}, "examples": examples}
    return field(
        default=default, metadata={**words, "choices": choices, "low": between[0], "high": between[1], "by": by}
    )


def flag_of(name: str) -> str:
    """Return the option of the command line that sets a field."""
    return "--" + name.replace("_", "-")


def plain(value: Any) -> Any:
    """A setting as a file holds it: a number of numpy as Python's, a list or an array as a tuple, a path as text."""
    value = value.tolist() if hasattr(value, "tolist") else value
    value = os.fspath(value) if isinstance(value, os.PathLike) else value
    return tuple(plain(item) for item in value) if isinstance(value, (list, tuple)) else value


def store_plain(config: Any) -> None:
    """Make every field of a frozen config `plain`. Raises `InputError` where a switch is not True or False."""
    for f in dataclasses.fields(config):
        value = plain(getattr(config, f.name))
        if f.type is bool and not isinstance(value, bool):
            raise InputError(f"{f.name} must be True or False, not {value!r}.")
        object.__setattr__(config, f.name, value)


def check_options(config: Any) -> None:
    """Raise `InputError` naming the flag where a field is none of its choices, beyond its bounds or no list of files.

    Fields become `plain`.
    """
    store_plain(config)
    for f in dataclasses.fields(config):
        value, meta = getattr(config, f.name), f.metadata
        flag = flag_of(f.name)
        if meta["choices"] and value not in meta["choices"]:
            matches = difflib.get_close_matches(str(value), meta["choices"], n=1)
            hint = f"; did you mean {matches[0]}?" if matches else "."
            raise InputError(f"{flag} must be one of {', '.join(meta['choices'])}, not {value!r}{hint}")
        if isinstance(f.default, tuple):
            value = (value,) if isinstance(value, str) else value
            if not (isinstance(value, tuple) and all(isinstance(v, str) for v in value)):
                raise InputError(f"{flag} takes a list of files.")
            object.__setattr__(config, f.name, value)
        if meta["low"] is not None and not value is f.default is None:
            if not is_number(value) or not meta["low"] <= value <= meta["high"]:
                raise InputError(f"{flag} must lie between {meta['low']} and {meta['high']}, not {value!r}.")
            if isinstance(meta["low"], int) and not isinstance(value, int):
                raise InputError(f"{flag} must be a whole number, not {value!r}.")


def options_of(config: type["DataclassInstance"], *by: SetBy) -> list[Field[Any]]:
    """Return the fields of a config, its own before those that all runs share; only those set `by` these if given."""
    fields = [f for f in dataclasses.fields(config) if not by or f.metadata["by"] in by]
    own = list(config.__annotations__)
    return sorted(fields, key=lambda f: own.index(f.name) if f.name in own else len(own))


def grouped_options(config: type["DataclassInstance"], *by: SetBy) -> dict[str, list[Field[Any]]]:
    """Return the fields of `options_of` by their group, both in declared order."""
    groups: dict[str, list[Field[Any]]] = {}
    for f in options_of(config, *by):
        groups.setdefault(f.metadata["group"], []).append(f)
    return groups


def kind_of(config: type["DataclassInstance"], name: str) -> type:
    """Return the type of a field's values other than None: bool, int, float, str or tuple."""
    hint = typing.get_type_hints(config)[name]
    kinds = [kind for kind in typing.get_args(hint) if kind is not types.NoneType]
    kind = kinds[0] if isinstance(hint, types.UnionType) else typing.get_origin(hint) or hint
    return kind if isinstance(kind, type) else str


def from_form(config: type["DataclassInstance"], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a form sent as arguments of the config.

    An emptied field is left out, so that the recipe decides, or is None where that is allowed.
    Raises `InputError` where a value has another type than its field.
    """
    fields = {f.name: f for f in dataclasses.fields(config)}
    settings: dict[str, Any] = {}
    for name, value in values.items():
        f, kind = fields[name], kind_of(config, name)
        if value is None or value == "":
            if f.default is None:
                settings[name] = None
        elif kind is bool:
            settings[name] = bool(value)
        elif kind in (int, float):
            try:
                number = float(value)
            except (TypeError, ValueError) as error:
                message = f'"{f.metadata["label"]}" must be a number, not {str(value)[:40]!r}.'
                raise InputError(message) from error
            settings[name] = int(number) if kind is int and number.is_integer() else number
        elif len(str(value)) > _LONGEST:
            raise InputError(f'"{f.metadata["label"]}" is too long: it has at most {_LONGEST} characters.')
        else:
            settings[name] = str(value)
    return settings


def in_page_words(config: type["DataclassInstance"], message: str) -> str:
    """Replace the flags of the command line in a message by the labels of the page."""
    for f in sorted(dataclasses.fields(config), key=lambda f: -len(f.name)):
        message = message.replace(flag_of(f.name), f'"{f.metadata["label"]}"')
    return message.replace("--resume", '"Resume training"')


def is_number(value: object) -> bool:
    """Whether a value is a finite number, which True and False are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


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


#: The smallest max sequence length: the special tokens, and a word or two of each text.
SHORTEST_SEQUENCE = 8
#: Options of the groups that pretraining and fine-tuning share.
optimization, reporting = partial(option, group="Optimization"), partial(option, group="Evaluation and checkpoints")
COMMAND: SetBy = "command line"
RECIPE: SetBy = "recipe"


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The settings of a run that do not depend on its task; the base of `PretrainConfig` and `FinetuneConfig`."""

    #: What may change when a run is resumed.
    adjustable: ClassVar[frozenset[str]]

    batch_size: int
    learning_rate: float | None = optimization(
        None,
        "Peak learning rate",
        "Highest learning rate of the run; if empty, one suited to the model size",
        between=(1e-7, 1.0),
    )
    weight_decay: float = optimization(
        0.01, "Weight decay", "Decoupled weight decay of AdamW, on all but biases and LayerNorm", between=(0.0, 1.0)
    )
    max_grad_norm: float = optimization(
        1.0, "Gradient clipping (max norm)", "Scale down gradients with a larger norm than this", between=(1e-3, 1000.0)
    )
    gradient_accumulation_steps: int = optimization(
        1, "Gradient accumulation", "Micro-batches of an optimizer step, which take less memory", between=(1, 4096)
    )
    gradient_checkpointing: bool = optimization(
        False,
        "Gradient checkpointing",
        "Keep less in memory and compute each layer twice: the same result, a third slower",
    )
    precision: str = optimization(
        "auto",
        "Precision",
        "Floating-point format; auto picks the fastest that the hardware supports",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    seed: int = reporting(
        0, "Seed", "Seed of every random stream: the same seed repeats the same run", between=(0, 2**31 - 1)
    )
    checkpoint_every: float = reporting(
        60.0, "Checkpoint every", "Seconds between checkpoints", between=(0.1, 86_400.0), by=COMMAND
    )
    tracker: str = reporting(
        "", "Tracker", "Also log to this tracker, such as tensorboard, by its name in Accelerate", by=COMMAND
    )
    threads: int = optimization(0, "Threads", "CPU threads; 0 uses all cores", between=(0, 1024), by=COMMAND)

    def __post_init__(self) -> None:
        check_options(self)
        if self.gradient_accumulation_steps > self.batch_size:
            steps = self.gradient_accumulation_steps
            raise InputError(f"--gradient-accumulation-steps {steps} is more than the batch size, {self.batch_size}.")

    def resumed_with(self, **given: Any) -> Self:
        """The settings of a resumed run. Raises `InputError` naming a setting that may not change."""
        if given.get("precision") == "auto":  # the one that was chosen at the start
            del given["precision"]
        for name, value in given.items():
            if name not in self.adjustable and plain(value) != getattr(self, name):
                raise InputError(
                    f"{flag_of(name)} cannot change when a run is resumed (it is {getattr(self, name)!r}); "
                    "use another --out to start a new run."
                )
        return dataclasses.replace(self, **given)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Self:
        """The settings in a run's `config.json`; what another version of the lab wrote beside them is passed over."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in body.items() if name in names})
