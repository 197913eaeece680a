"""A running text with entities or an answer marked in it."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

MARKED_TEXT = Assembly("marked", ("marked_text.js",), ("marked_text.css",))


def marked_text(value: str = "", *, label: str = "Marked text", **options: Any) -> gr.HTML:
    """The text; its value comes from `figures.marking.marked_payload`.

    Event: `alternative_select` {index} when another answer is chosen; the mark has then moved to it already.
    """
    return component(MARKED_TEXT, value=value, label=label, **options)
