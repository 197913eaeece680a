"""The declaration of a setting, which command line, page and documentation are drawn from; the settings of all runs."""

import dataclasses
import difflib
import math
import os
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import Field, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

from bertviz_lab.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: Who may set an option: everybody, the command line and Python, or recipes and Python alone.
SetBy = Literal["page", "command line", "recipe"]
#: How a message names an argument of Python, alone or with a value.
_ARGUMENT = re.compile(r'`([a-z_]+)(?:="?([^`"]*)"?)?`')
_LONGEST = 500  # characters of a setting that a form sends


def option(
    default: Any,
    label: str,
    help: str,
    *,
    group: str,
    choices: Mapping[str, str] | tuple[str, ...] = (),
    examples: tuple[str, ...] = (),
    by: SetBy = "page",
) -> Any:
    """Declare a config field; the options of a group are declared by a `partial` of this.

    Its type has the smallest and the largest number that are allowed: `Annotated[int, 1, 48]`.

    Args:
        default: its value where none is given.
        label: its name on the page.
        help: a sentence without its full stop. Flags in it, such as --steps, become labels on the page.
        group: the heading it is listed under in `--help` and on the page.
        choices: the values that are allowed, if they are few and not those of a `Literal`; as a mapping with what each
            is called on the page, where its name does not explain it.
        examples: values that the page suggests.
        by: who may set it.
    """
    words = {"label": label, "help": help, "group": group, "choices": choices, "examples": examples, "by": by}
    return field(default=default, metadata=words)


def bounds_of(f: Field[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest number that a field may have; (None, None) without bounds."""
    return getattr(f.type, "__metadata__", (None, None))


def choices_of(f: Field[Any]) -> dict[str, str]:
    """Return the values that a field may have, each with its name on the page; none where they are not few."""
    literals = [hint for hint in (f.type, *get_args(f.type)) if get_origin(hint) is Literal]
    choices = get_args(literals[0]) if literals else f.metadata.get("choices", ())
    return dict(choices) if isinstance(choices, Mapping) else dict(zip(choices, choices, strict=True))


def flag_of(name: str) -> str:
    """Return the option of the command line that sets a field."""
    return "--" + name.replace("_", "-")


def plain(value: Any) -> Any:
    """Return a setting as a file holds it: NumPy's numbers as Python's, lists and arrays as tuples, paths as text."""
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
    """Raise `InputError` naming the field where a field is none of its choices, beyond its bounds or no list of files.

    Fields become `plain`.
    """
    store_plain(config)
    for f in dataclasses.fields(config):
        value, named = getattr(config, f.name), f"`{f.name}`"
        check_value(f, value, named)
        if isinstance(f.default, tuple):
            value = (value,) if isinstance(value, str) else value
            if not (isinstance(value, tuple) and all(isinstance(v, str) for v in value)):
                raise InputError(f"{named} takes a list of files.")
            object.__setattr__(config, f.name, value)


def check_value(f: Field[Any], value: Any, named: str) -> None:
    """Raise `InputError`, which calls a field `named`, where its value is none of its choices or beyond its bounds."""
    if value is f.default is None:
        return
    if (choices := choices_of(f)) and value not in [*choices]:
        matches = difflib.get_close_matches(str(value), choices, n=1)
        hint = f"; did you mean {matches[0]}?" if matches else "."
        raise InputError(f"{named} must be one of {', '.join(choices)}, not {value!r}{hint}")
    low, high = bounds_of(f)
    if low is None:
        return
    if not is_number(value) or not low <= value <= high:
        raise InputError(f"{named} must lie between {low} and {high}, not {value!r}.")
    if isinstance(low, int) and not isinstance(value, int):
        raise InputError(f"{named} must be a whole number, not {value!r}.")


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
    kinds = [kind for kind in get_args(hint) if kind is not types.NoneType]
    kind = kinds[0] if isinstance(hint, types.UnionType) else get_origin(hint) or hint
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


def in_flags(message: str) -> str:
    """Replace arguments in a message, such as `seq_len` or `family="albert"`, by options of the command line."""

    def flag(found: re.Match[str]) -> str:
        name, value = found.groups("")
        return flag_of(name) + (f" {value}" if value not in ("", "True") else "")

    return _ARGUMENT.sub(flag, message)


def in_page_words(config: type["DataclassInstance"], message: str) -> str:
    """Replace the arguments and flags in a message by the labels of the page."""
    message = in_flags(message)
    for f in sorted(dataclasses.fields(config), key=lambda f: -len(f.name)):
        message = message.replace(flag_of(f.name), f'"{f.metadata["label"]}"')
    return message.replace("--resume", '"Resume training"')


def is_number(value: object) -> bool:
    """Return whether a value is a finite number, which True and False are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def parse_duration(text: str) -> float:
    """Return the seconds in "90s", "10m", "1.5h", "2d" or a bare number. Raises `InputError` for anything else."""
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
#: Options of both with defaults of their own.
warmup_fraction = partial(
    optimization,
    label="LR warm-up (fraction)",
    help="Fraction of the run over which the learning rate rises to its peak",
)
snapshots = partial(
    reporting,
    label="Room for snapshots (MB)",
    help="Megabytes for snapshots of the weights at steps 0, 1, 2, 5, 10 and so on (training dynamics); 0 keeps none",
    by=COMMAND,
)


#: Environment variables of the webhook and the command that the end of a run is reported to. They are no settings: the
#: folder of a run, its card and its page show those.
NOTIFY_VARIABLES = ("BERTVIZ_LAB_NOTIFY", "BERTVIZ_LAB_NOTIFY_COMMAND")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The settings of a run that do not depend on its task; the base of `PretrainConfig` and `FinetuneConfig`."""

    #: What may change when a run is resumed.
    adjustable: ClassVar[frozenset[str]]

    batch_size: int
    learning_rate: Annotated[float | None, 1e-7, 1.0] = optimization(
        None, "Peak learning rate", "Highest learning rate of the run; if empty, one suited to the model size"
    )
    weight_decay: Annotated[float, 0.0, 1.0] = optimization(
        0.01, "Weight decay", "Decoupled weight decay of AdamW, on all but biases and LayerNorm"
    )
    max_grad_norm: Annotated[float, 1e-3, 1000.0] = optimization(
        1.0, "Gradient clipping (max norm)", "Scale down gradients with a larger norm than this"
    )
    gradient_accumulation_steps: Annotated[int, 1, 4096] = optimization(
        1, "Gradient accumulation", "Micro-batches of an optimizer step, which take less memory"
    )
    gradient_checkpointing: bool = optimization(
        False, "Gradient checkpointing", "Keep less in memory, compute layers twice: the same result, a third slower"
    )
    precision: str = optimization(
        "auto",
        "Precision",
        "Floating-point format; auto picks the fastest that the hardware supports",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    seed: Annotated[int, 0, 2**31 - 1] = reporting(
        0, "Seed", "Seed of every random stream: the same seed repeats the same run"
    )
    patience: Annotated[int, 0, 1000] = reporting(
        0, "Early-stopping patience", "Evaluations without improvement before stopping; 0 is off"
    )
    checkpoint_every: Annotated[float, 0.1, 86_400.0] = reporting(
        60.0, "Checkpoint every (s)", "Seconds between checkpoints", by=COMMAND
    )
    tracker: str = reporting(
        "", "Tracker", "Also log to this tracker, such as tensorboard, by its name in Accelerate", by=COMMAND
    )
    threads: Annotated[int, 0, 1024] = optimization(0, "Threads", "CPU threads; 0 uses all cores", by=COMMAND)

    def __post_init__(self) -> None:
        check_options(self)
        if self.gradient_accumulation_steps > self.batch_size:
            steps = self.gradient_accumulation_steps
            raise InputError(f"`gradient_accumulation_steps={steps}` is more than the batch size, {self.batch_size}.")

    def resumed_with(self, **given: Any) -> Self:
        """Return the settings of a resumed run. Raises `InputError` naming a setting that may not change."""
        if given.get("precision") == "auto":  # the one that was chosen at the start
            del given["precision"]
        for name, value in given.items():
            if name not in self.adjustable and plain(value) != getattr(self, name):
                fixed = f"`{name}` cannot change when a run is resumed (it is {getattr(self, name)!r})"
                raise InputError(f"{fixed}; choose another folder to start a new run.")
        return dataclasses.replace(self, **given)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> Self:
        """Return the settings in a run's `config.json`; names of other versions of the lab are ignored."""
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in body.items() if name in names})
