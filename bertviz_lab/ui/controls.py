"""Inputs drawn from the fields of a config: a new option shows up on the page by being declared."""

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any

import gradio as gr

from bertviz_lab.config import PRESETS
from bertviz_lab.errors import InputError

_FEW = 6  # choices that fit side by side
_TIMES = ("30s", "1m", "2m", "5m", "10m", "30m", "1h", "3h")


def names_of(config: type, group: str, without: Sequence[str] = ()) -> list[str]:
    """The fields of a group, in the order of their declaration."""
    return [f.name for f in dataclasses.fields(config) if f.metadata["group"] == group and f.name not in without]


def draw(config: type, names: Sequence[str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """One input for each field: {field name: component}, rendered where this is called."""
    hints, fields = typing.get_type_hints(config), {f.name: f for f in dataclasses.fields(config)}
    return {name: control(fields[name], hints[name], defaults.get(name, fields[name].default)) for name in names}


def control(field: Field[Any], hint: Any, value: Any) -> Any:
    """The input that suits a field's type, choices and bounds."""
    meta = field.metadata
    common: dict[str, Any] = {
        "label": label_of(field),
        "info": _sentence(meta["help"]),
        "elem_id": f"option-{field.name}",
        "min_width": 240,
    }
    if field.name == "preset":
        sizes = [(f"{name} {layers} x {width}", name) for name, (layers, width, _) in PRESETS.items()]
        common["info"] = "Layers x hidden size. A larger model can learn more and takes longer to."
        return gr.Radio(sizes, value=value, scale=3, **common)
    if field.name == "time_budget":
        return gr.Dropdown(list(_TIMES), value=value, allow_custom_value=True, scale=1, **common)
    if meta["choices"]:
        kind = gr.Radio if len(meta["choices"]) <= _FEW else gr.Dropdown
        return kind(list(meta["choices"]), value=value, **common)
    if hint is bool:
        return gr.Checkbox(value=value, **common)
    kinds = _kinds(hint)
    if int in kinds or float in kinds:
        # Bounds are checked by the config, whose sentence says more than a red frame.
        return gr.Number(value=value, precision=0 if int in kinds else None, **common)
    return gr.Textbox(value=value, **common)


def collect(config: type, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """What came back from the page as arguments of the config; an empty number means the field's default.

    Raises `InputError` where a value is of another kind than its field.
    """
    hints, fields = typing.get_type_hints(config), {f.name: f for f in dataclasses.fields(config)}
    found: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        field, kinds = fields[name], _kinds(hints[name])
        if value is None or value == "":
            found[name] = field.default
        elif bool in kinds:
            found[name] = bool(value)
        elif int in kinds or float in kinds:
            if not isinstance(value, (int, float)):
                raise InputError(f"{label_of(field)} must be a number, not {str(value)[:40]!r}.")
            found[name] = int(value) if int in kinds and float(value).is_integer() else value
        else:
            found[name] = str(value)
    return found


def in_page_words(config: type, message: str) -> str:
    """A config's complaint with the labels of the page in place of the flags of the command line."""
    for field in sorted(dataclasses.fields(config), key=lambda f: -len(f.name)):
        flag = "--" + field.name.replace("_", "-")
        message = message.replace(flag, label_of(field))
    return message


def label_of(field: Field[Any]) -> str:
    """The name of a field on the page."""
    return field.metadata["label"] or field.name.replace("_", " ").capitalize()


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _kinds(hint: Any) -> tuple[type, ...]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(kind for kind in typing.get_args(hint) if kind is not types.NoneType)
    return (hint,) if isinstance(hint, type) else (str,)
