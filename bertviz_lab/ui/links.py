"""Addresses that open the page where somebody else left it: tab, model, texts, and the place in the picture."""

from collections.abc import Iterable
from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import Payload

#: Longer texts make no address that can be sent.
_LONGEST = 2000


def with_link(payload: Payload, tab: str, model: str, **fields: str) -> Payload:
    """The payload with what a link to it says; its view adds its own place. Texts too long for an address give none."""
    if any(len(text) > _LONGEST for text in fields.values()):
        return payload
    return payload.having(link={"tab": tab, "model": model, **fields})


def told(request: gr.Request) -> dict[str, str]:
    """What the address of a visit says, as text; nothing of it is believed yet."""
    return {str(name): str(value)[: 2 * _LONGEST] for name, value in dict(request.query_params).items()}


def field_updates(said: dict[str, str], tab: str, names: Iterable[str]) -> list[Any]:
    """Updates of a tab's fields: what the address says where it is about this tab."""
    mine = said.get("tab") == tab
    return [said[name] if mine and name in said else gr.skip() for name in names]
