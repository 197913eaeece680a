"""One sentence in place: what went wrong, or what has just happened."""

from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.components.assemble import Assembly, component

NOTICE = Assembly("notice", ("notice.js",), ("notice.css",))


def notice(**options: Any) -> gr.HTML:
    """A line that is not there while it has nothing to say; its value comes from `notice_payload`."""
    return component(NOTICE, value="", label="Message", **options)


def notice_payload(text: str, tone: str = "error") -> str:
    """`tone` is "error", "warning", "info" or "good"."""
    return to_json({"text": text, "tone": tone}) if text else ""
