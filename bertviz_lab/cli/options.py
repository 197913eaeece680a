"""The options that commands share; those of a training run are the fields of its config."""

import argparse
import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

from bertviz_lab.config.options import NOTIFY_VARIABLES, choices_of, flag_of, grouped_options, kind_of

#: Options of all commands that are files, folders, or names that may be those of folders.
_PATHS = (
    *("out", "data", "corpus", "train", "eval", "test", "model", "init_from", "teacher", "tokenizer", "like"),
    *("runs_dir", "auth_file", "corrections", "corrected", "add_vocabulary"),
)


#: `command(name, run, json=..., model=...)` returns the parser of a command, with `--json` and `--model` unless False.
AddCommand = Callable[..., argparse.ArgumentParser]


def add_options(parser: argparse._ActionsContainer, config: type, names: Sequence[str] = ()) -> None:
    """Add a flag for each field of a config, under the headings of their groups, or for `names` without headings."""
    for title, fields in grouped_options(config, "page", "command line").items():
        group = parser if names else parser.add_argument_group(title)
        for field in fields:
            if not names or field.name in names:
                _add_option(group, field, kind_of(config, field.name))


def _add_option(group: argparse._ActionsContainer, field: dataclasses.Field[Any], kind: type) -> None:
    default = "" if field.default in (None, "", ()) else f" (default: {field.default})"
    label, text = field.metadata["label"], f"{field.metadata['help']}{default}"
    help = (f"{label}: {text}" if " " in label else text).replace("%", "%%")
    keywords: dict[str, Any] = {"default": argparse.SUPPRESS, "help": help}
    if kind is bool:
        keywords["action"] = argparse.BooleanOptionalAction
    elif kind is tuple:
        keywords |= {"nargs": "+", "metavar": "FILE" if field.name in _PATHS else "TEXT"}
    else:
        choices = choices_of(field)
        keywords |= {"type": kind, "metavar": "{" + ",".join(choices) + "}" if choices else field.name.upper()}
    group.add_argument(flag_of(field.name), **keywords)


def add_notify_options(parser: argparse._ActionsContainer) -> None:
    """Add where the end of a run is reported; the defaults are those of the environment."""
    webhook_default, command_default = (os.environ.get(name, "") for name in NOTIFY_VARIABLES)
    webhook = "Report the end of a run to this webhook of ntfy, Slack, Discord, or any that takes JSON"
    parser.add_argument("--notify", metavar="URL", default=webhook_default, help=webhook)
    command = "Run this command at the end of a run, with the report as JSON on its stdin"
    parser.add_argument("--notify-command", metavar="COMMAND", default=command_default, help=command)


def given_options(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Return those of these fields that were given; lists become tuples."""
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
