"""Addresses that open the page where somebody else left it: tab, model, texts, knobs, and the place in the picture."""

from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from bertviz_lab.figures.payload import Payload

#: Longer texts make no address that can be sent.
_LONGEST = 2000


def with_link(payload: Payload, tab: str, model: str, part: str = "", **fields: Any) -> Payload:
    """The payload with what a link to it says; its view adds its own place. Texts too long for an address give none.

    `part` names the folded part of the tab in which the view lies.
    """
    said = {name: _written(value) for name, value in fields.items()}
    if any(len(text) > _LONGEST for text in said.values()):
        return payload
    return payload.having(link={"tab": tab, "model": model, "part": part, **said})


def _written(value: Any) -> str:
    if value is None or value is False:
        return ""
    return "1" if value is True else str(value)


def told(request: gr.Request) -> dict[str, str]:
    """What the address of a visit says, as text; nothing of it is believed yet."""
    return {str(name): str(value)[: 2 * _LONGEST] for name, value in dict(request.query_params).items()}


def field_updates(said: dict[str, str], tab: str, fields: Mapping[str, Component]) -> list[Any]:
    """A value for each of a tab's fields: what the address says where it is about this tab and makes sense there."""
    mine = said if said.get("tab") == tab else {}
    return [_read(component, mine[name]) if name in mine else gr.skip() for name, component in fields.items()]


def fresh_fields(said: Mapping[str, str], fields: Mapping[str, Component]) -> list[Any]:
    """A value for each of a tab's fields: what is said of it, or else what it began with when the page was built."""
    found = [_read(component, said[name]) if name in said else component.value for name, component in fields.items()]
    return [
        "" if value is None and isinstance(fields[name], gr.Textbox) else value
        for name, value in zip(fields, found, strict=True)
    ]


def _read(component: Component, text: str) -> Any:
    """A field's value out of an address; what it cannot hold is passed over."""
    if isinstance(component, gr.Checkbox):
        return text == "1"
    if isinstance(component, gr.Radio):
        return text if text in [value for _, value in component.choices] else gr.skip()
    if isinstance(component, (gr.Slider, gr.Number)):
        try:
            number = float(text)
        except ValueError:
            return gr.skip()
        low, high = component.minimum, component.maximum
        inside = (low is None or number >= low) and (high is None or number <= high)  # NaN is not
        return number if inside and number == number else gr.skip()
    return text
