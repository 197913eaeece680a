"""Examples, one click away."""

import json
from collections.abc import Sequence
from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.components.assemble import Assembly, component

CHIPS = Assembly("chips", ("chips.js",), ("chips.css",))


def chips(value: str = "", *, label: str = "Examples", **options: Any) -> gr.HTML:
    """A row of examples; its value comes from `chips_payload`. Event: `pick` {texts} when one is clicked."""
    return component(CHIPS, value=value, label=label, **options)


def chips_payload(
    items: Sequence[Sequence[str]], label: str = "Try", *, shown: int | None = None, does: str | None = None
) -> str:
    """Each item is the texts that go into the fields, in their order: one, or sentence A and B.

    Of items with further texts, such as settings, only the first `shown` stand on the button; `does` says what a button
    does where it does something else.
    """
    body = {"label": label, "items": [list(item) for item in items], "shown": shown, "does": does}
    return to_json({name: value for name, value in body.items() if value is not None})


def chip_items(payload: str | None) -> list[tuple[str, ...]]:
    """The items of a payload that comes back from the page."""
    try:
        return [tuple(str(text) for text in item) for item in json.loads(payload or "{}").get("items", [])]
    except (ValueError, AttributeError, TypeError):
        return []
