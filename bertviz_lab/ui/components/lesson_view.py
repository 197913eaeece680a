"""The lessons: the list of them and one at a time, or all on one page for who leads others through them."""

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

LESSON_VIEW = Assembly(
    "lessons",
    ("lesson_words.js", "lesson_memory.js", "lesson_one.js", "lesson_leader.js", "lesson_view.js"),
    ("lesson_view.css", "lesson_leader.css"),
)


def lesson_view(
    value: str = "", *, server_functions: Sequence[Callable[..., Any]], label: str = "Lessons", **options: Any
) -> gr.HTML:
    """The lessons; its value is {"lessons": [...]}, each with its texts as they are before anything is measured.

    `measured(number)` answers, as JSON, {"answer": index or null, "paragraphs", "bars": [[name, share, words]],
    "proof": [{"text", "tab"}], "links": [[tab, address, text]]}, or {"message"}; `handout(address)` a whole page.
    Event: `set_up` {lesson, step} when a button leads to a place. Which lessons are done is kept in the browser alone.
    """
    return component(LESSON_VIEW, value=value, label=label, server_functions=server_functions, **options)
