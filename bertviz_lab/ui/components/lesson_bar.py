"""The slim line that leads back to a lesson from wherever it has led."""

from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.ui.components.assemble import Assembly, component

LESSON_BAR = Assembly("lesson-bar", ("lesson_bar.js",), ("lesson_bar.css",))


def lesson_bar(value: str = "", *, label: str = "Lesson", **options: Any) -> gr.HTML:
    """The bar, which is not there before a lesson has led somewhere; its value comes from `bar_payload`.

    Event: `back` {number} when a person wants to return; the page's `lesson_view` shows that lesson.
    """
    return component(LESSON_BAR, value=value, label=label, **options)


def bar_payload(number: int, title: str, text: str, *, scroll_to: str = "") -> Payload:
    """The lesson, and what there is to do here; `scroll_to` is the id of what it is about, "" for the whole tab."""
    return to_json({"number": number, "title": title, "text": text, "scroll_to": scroll_to})
