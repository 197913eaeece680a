"""The options that commands share; those of a training run are the fields of its config."""

import argparse
import os
import types
import typing
from collections.abc import Sequence
from typing import Any, Protocol

from bertviz_lab.config.options import options_of

#: Options of all commands that are files, folders, or names that may be those of folders.
_PATHS = (
    *("out", "data", "corpus", "train", "eval", "test", "model", "init_from", "teacher", "tokenizer", "like"),
    *("runs_dir", "auth_file"),
)


class AddCommand(Protocol):
    """Adds a command: its parser, to which its module adds options."""

    def __call__(self, name: str, run: Any, *, json: bool = True, model: bool = True) -> argparse.ArgumentParser:
        """Return the parser of the command that `run` carries out, with `--json` and `--model` where it has them."""


def add_options(parser: argparse._ActionsContainer, config: type, names: Sequence[str] = ()) -> None:
    """Add a flag for each field of a config (or for `names`); an option that is not given is not set."""
    hints = typing.get_type_hints(config)
    for field in options_of(config):
        if names and field.name not in names:
            continue
        flag, hint = "--" + field.name.replace("_", "-"), hints[field.name]
        kinds = [kind for kind in typing.get_args(hint) if kind is not types.NoneType] or [hint]
        default = "" if field.default in (None, "", ()) else f" (default: {field.default})"
        keywords: dict[str, Any] = {"default": argparse.SUPPRESS, "help": field.metadata["help"] + default}
        if hint is bool:
            keywords["action"] = argparse.BooleanOptionalAction
        elif typing.get_origin(hint) is tuple:
            keywords |= {"nargs": "+", "metavar": "FILE"}
        else:
            keywords |= {"type": kinds[0] if isinstance(kinds[0], type) else str, "metavar": field.name.upper()}
            if field.metadata["choices"]:
                keywords["metavar"] = "{" + ",".join(field.metadata["choices"]) + "}"
        parser.add_argument(flag, **keywords)


def given_options(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Those of these fields that were given; lists become tuples."""
    given = {name: getattr(options, name) for name in names if name in options}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def expand_home(options: argparse.Namespace) -> argparse.Namespace:
    """Expand a leading ~ of paths, in place: a shell does so in `--corpus ~/texts`, but not in `--corpus=~/texts`."""
    for name in _PATHS:
        value = getattr(options, name, None)
        if isinstance(value, list):
            setattr(options, name, [os.path.expanduser(entry) for entry in value])
        elif value is not None:
            setattr(options, name, type(value)(os.path.expanduser(value)))
    return options
