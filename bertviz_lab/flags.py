"""The fields of a config as flags of the command line, and what was given of them."""

import argparse
import dataclasses
import types
import typing
from collections.abc import Sequence
from typing import Any


def add_options(parser: argparse.ArgumentParser, config: type, names: Sequence[str] = ()) -> None:
    """A flag for each field of a config, or for some, with type, choices and help; what is not given is not set."""
    hints = typing.get_type_hints(config)
    for field in dataclasses.fields(config):
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
    """Of these fields those that were given; several values are a tuple."""
    given = {name: getattr(options, name) for name in names if name in options}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
