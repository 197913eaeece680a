"""Inputs drawn from the fields of a config, which says of what kind they are, their choices and their values."""

import dataclasses
import json
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any

import gradio as gr

from bertviz_lab.config import PRESETS
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.ui.forms.options import HELP, LABELS, RECIPES

_LONGEST = 500  # characters of a setting
_FEW = 6  # choices that fit side by side
_TIMES = ("30s", "1m", "2m", "5m", "10m", "30m", "1h", "3h")


def draw(config: type, names: Sequence[str], defaults: Mapping[str, Any], *, prefix: str = "option") -> dict[str, Any]:
    """One input for each field: {field name: component}, rendered where this is called; `prefix` begins their ids."""
    hints, fields = typing.get_type_hints(config), {f.name: f for f in dataclasses.fields(config)}
    return {
        name: control(fields[name], hints[name], defaults.get(name, fields[name].default), prefix) for name in names
    }


def control(field: Field[Any], hint: Any, value: Any, prefix: str = "option") -> Any:
    """The input that suits a field's type, choices and bounds."""
    meta = field.metadata
    common: dict[str, Any] = {
        "label": label_of(field),
        "info": help_of(field),
        "elem_id": f"{prefix}-{field.name}",
        "min_width": 240,
    }
    if field.name == "preset":
        sizes = [(f"{name} {layers} x {width}", name) for name, (layers, width, _) in PRESETS.items()]
        return gr.Radio(sizes, value=value, **common)
    if field.name == "recipe":
        return gr.Radio([(RECIPES[name], name) for name in meta["choices"]], value=value, **common)
    if field.name == "time_budget":
        return gr.Dropdown(list(_TIMES), value=value, allow_custom_value=True, **common)
    if meta["choices"]:
        kind = gr.Radio if len(meta["choices"]) <= _FEW else gr.Dropdown
        return kind(list(meta["choices"]), value=value, **common)
    if hint is bool:
        return gr.Checkbox(value=value, **common)
    kinds = _kinds(hint)
    if (int in kinds or float in kinds) and value is not None:
        # Bounds are checked by the config, whose sentence says more than a red frame.
        return gr.Number(value=value, precision=0 if int in kinds else None, **common)
    # A number that may be empty is a text as well: an empty gr.Number becomes 0 when it comes into view.
    return gr.Textbox(value=value, **common)


def advice(about: str, advised: Mapping[str, Any]) -> Payload:
    """The line about the chosen data, which also keeps what is recommended for it, for `followed`."""
    return facts_payload([], note=about).having(advised=advised)


def followed(values: Sequence[Any], advice: str, advised: Mapping[str, Any]) -> list[Any]:
    """What is recommended now, for those of the values that still are what the earlier `advice` was.

    The others stay as they are on the page, where a person may have gone on typing.
    """
    before = json.loads(advice)["advised"]

    def typed(value: Any) -> str:  # an empty field is a text to the page and None to a config
        return "" if value is None else str(value)

    return [
        new if typed(value) == typed(before.get(name)) != typed(new) else gr.skip()
        for (name, new), value in zip(advised.items(), values, strict=True)
    ]


def collect(config: type, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """What came back from the page as arguments of the config.

    A field that was emptied is left out, so that the recipe decides, or is None where it may be empty.
    Raises `InputError` where a value is of another kind than its field.
    """
    hints, fields = typing.get_type_hints(config), {f.name: f for f in dataclasses.fields(config)}
    settings: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        field, kinds = fields[name], _kinds(hints[name])
        if value is None or value == "":
            if field.default is None:
                settings[name] = None
        elif bool in kinds:
            settings[name] = bool(value)
        elif int in kinds or float in kinds:
            try:
                number = float(value)
            except (TypeError, ValueError) as error:
                complaint = f'"{label_of(field)}" must be a number, not {str(value)[:40]!r}.'
                raise InputError(complaint) from error
            settings[name] = int(number) if int in kinds and number.is_integer() else number
        elif len(str(value)) > _LONGEST:
            raise InputError(f'"{label_of(field)}" is too long: it has at most {_LONGEST} characters.')
        else:
            settings[name] = str(value)
    return settings


def in_page_words(config: type, message: str) -> str:
    """A config's complaint with the labels of the page in place of the flags of the command line."""
    for field in sorted(dataclasses.fields(config), key=lambda f: -len(f.name)):
        flag = "--" + field.name.replace("_", "-")
        message = message.replace(flag, f'"{label_of(field)}"')
    return message.replace("--resume", '"Resume training"')


def label_of(field: Field[Any]) -> str:
    """The name of a field on the page."""
    return LABELS.get(field.name) or field.metadata["label"] or field.name.replace("_", " ").capitalize()


def help_of(field: Field[Any]) -> str:
    """The sentence under it."""
    text = HELP.get(field.name) or str(field.metadata["help"])
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _kinds(hint: Any) -> tuple[type, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(kind for kind in typing.get_args(hint) if kind is not types.NoneType)
    return (hint,) if isinstance(hint, type) else (str,)
