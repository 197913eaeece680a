"""Inputs drawn from the fields of a config, which says of what kind they are, their choices and their values."""

import dataclasses
import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import Field
from typing import Any

import gradio as gr

from bertviz_lab.config.options import kind_of
from bertviz_lab.figures.payload import Payload, facts_payload

_FEW = 6  # choices that fit side by side


def draw(config: type, names: Sequence[str], defaults: Mapping[str, Any], *, prefix: str = "option") -> dict[str, Any]:
    """One input for each field: {field name: component}, rendered where this is called; `prefix` begins their ids."""
    hints, fields = typing.get_type_hints(config), {f.name: f for f in dataclasses.fields(config)}
    return {
        name: control(config, fields[name], hints[name], defaults.get(name, fields[name].default), prefix)
        for name in names
    }


def control(config: type, field: Field[Any], hint: Any, value: Any, prefix: str = "option") -> Any:
    """The input that suits a field's type, choices and bounds."""
    meta = field.metadata
    common: dict[str, Any] = {
        "label": label_of(field),
        "info": help_of(field),
        "elem_id": f"{prefix}-{field.name}",
        "min_width": 240,
    }
    if field.name == "preset":
        return gr.Radio([(title, name) for name, title in meta["titles"].items()], value=value, **common)
    if field.name == "recipe":
        return gr.Radio([(title, name) for name, title in meta["titles"].items()], value=value, **common)
    if field.name == "time_budget":
        return gr.Dropdown(list(meta["examples"]), value=value, allow_custom_value=True, **common)
    if meta["choices"]:
        kind = gr.Radio if len(meta["choices"]) <= _FEW else gr.Dropdown
        return kind(list(meta["choices"]), value=value, **common)
    if hint is bool:
        return gr.Checkbox(value=value, **common)
    kinds = (kind_of(config, field.name),)
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


def label_of(field: Field[Any]) -> str:
    """Return the name of a field on the page."""
    return str(field.metadata["label"])


def help_of(field: Field[Any]) -> str:
    """Return the sentence below a field."""
    return str(field.metadata["help"]) + "."
