"""What the tabs for a pair of sentences share: an example that is picked, and the examples of another model."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.chips import chip_items, chips_payload
from bertviz_lab.ui.error_handling import picked, sentence_of
from bertviz_lab.ui.examples import keep_or_replace

#: (session, model, sentence A, sentence B) to the payloads of a tab's views; it never raises.
Draw = Callable[[AppState, str, str, str], tuple[str, ...]]


def pick_pair(draw: Draw, session: AppState, data: dict[str, Any], model: str) -> tuple[Any, ...]:
    """Put an example into the fields and draw it."""
    text_a, text_b = picked(data, 2)
    return text_a, text_b, *draw(session, model, text_a, text_b)


def follow_with_pair(
    draw: Draw, views: int, session: AppState, model: str, shown: str, text_a: str, text_b: str
) -> tuple[Any, ...]:
    """Examples of another model, and its answer in each of so many views; the person's own sentences stay."""
    try:
        items = list(session.examples(model).pairs)
    except Exception as error:
        return *(gr.skip(),) * 3, *(message_payload(sentence_of(error)),) * views
    current = (text_a or "", text_b or "")
    wanted = keep_or_replace(current, chip_items(shown), items)
    fields = (gr.skip(), gr.skip()) if wanted == current else wanted
    return chips_payload(items), *fields, *draw(session, model, *wanted)
