"""A few facts in a row, such as what the chosen model is."""

from collections.abc import Iterable, Sequence
from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.ui.components.assemble import Assembly, component

FACTS = Assembly("facts", ("facts.js",), ("facts.css",))


def facts(value: str = "", *, label: str = "Facts", empty: str = "", **options: Any) -> gr.HTML:
    """The row of facts; its value comes from `facts_payload`, or from `figures.payload.message_payload`."""
    return component(FACTS, value=value, label=label, empty=empty, **options)


def facts_payload(
    items: Iterable[tuple[str, str]],
    *,
    note: str = "",
    tone: str = "plain",
    more: tuple[str, Sequence[str]] | None = None,
) -> Payload:
    """`items` are (what, value); an empty `what` lets the value stand alone. `tone`: plain, error.

    `more` is folded away: a heading, and paragraphs under it.
    """
    body = {"items": [list(item) for item in items], "note": note, "tone": tone}
    return to_json(body | ({"more": {"title": more[0], "lines": list(more[1])}} if more else {}))
