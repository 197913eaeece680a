"""What a setting needs besides its value: a sentence of help, its choices and its bounds."""

import dataclasses
import difflib
import math
import os
from dataclasses import Field, field
from typing import TYPE_CHECKING, Any

from bertviz_lab.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def option(
    default: Any,
    help: str,
    *,
    label: str = "",
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """A config field with what the command line and the page need to draw it."""
    meta = {"help": help, "label": label, "choices": choices, "low": low, "high": high}
    return field(default=default, metadata=meta)


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
        flag = "--" + f.name.replace("_", "-")
        if meta["choices"] and value not in meta["choices"]:
            matches = difflib.get_close_matches(str(value), meta["choices"], n=1)
            hint = f"; did you mean {matches[0]}?" if matches else "."
            raise InputError(f"{flag} must be one of {', '.join(meta['choices'])}, not {value!r}{hint}")
        if isinstance(f.default, tuple) and not (isinstance(value, tuple) and all(isinstance(v, str) for v in value)):
            raise InputError(f"{flag} takes a list of files.")
        is_default = value is None and f.default is None
        if meta["low"] is not None and not is_default:
            if not is_number(value) or not meta["low"] <= value <= meta["high"]:
                raise InputError(f"{flag} must lie between {meta['low']} and {meta['high']}, not {value!r}.")
            if isinstance(meta["low"], int) and not isinstance(value, int):
                raise InputError(f"{flag} must be a whole number, not {value!r}.")


def options_of(config: type["DataclassInstance"]) -> list[Field[Any]]:
    """The fields of a config in the order in which people read them: its own, then those that all runs share."""
    return sorted(dataclasses.fields(config), key=lambda field: field.name not in config.__annotations__)


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
