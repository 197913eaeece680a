"""How handlers are joined to the page: what they answer when a person's input cannot be used, and who may call them."""

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import message_payload

_log = logging.getLogger(__name__)

#: For every event of the page: not an endpoint, and no grey veil over what it changes.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
#: The same for fields that are answered while a person types: of many key presses the last one counts.
TYPING: dict[str, Any] = QUIET | {"trigger_mode": "always_last"}


@dataclass(frozen=True)
class Tab:
    """A tab that shows something about the chosen model.

    `follow_model(model, *inputs)` answers with one value for each of `outputs`; it is called when the page opens
    and whenever the model changes.
    """

    id: str
    follow_model: Callable[..., Any]
    inputs: list[Component]
    outputs: list[Component]


def sentence_of(error: Exception) -> str:
    """What to tell a person about an error: its own sentence, or for a mistake of ours that it was one."""
    if isinstance(error, InputError):
        return str(error)
    _log.error("A handler of the page failed", exc_info=error)
    return f"Something went wrong on this server ({type(error).__name__}); the page is still alive, try something else."


def picture(draw: Callable[..., str]) -> Callable[..., str]:
    """A function that makes a payload, answering with a sentence in place of the picture where it cannot."""

    @functools.wraps(draw)
    def answer(*arguments: Any, **named: Any) -> str:
        try:
            return draw(*arguments, **named)
        except Exception as error:  # whatever happens, the page must live on
            return message_payload(sentence_of(error))

    return answer


def clicked(handler: Callable[..., Any]) -> Callable[..., Any]:
    """A listener for a component's own event: `handler(data, *inputs)`, data being what the browser sent with it."""

    def receive(event: gr.EventData, *inputs: Any) -> Any:
        data = event._data
        return handler(data if isinstance(data, dict) else {}, *inputs)

    return receive


def picked(data: dict[str, Any], count: int) -> tuple[str, ...]:
    """The texts of an example that was clicked, filled up with empty ones."""
    texts = [text for text in data.get("texts", ()) if isinstance(text, str)]
    return tuple((texts + [""] * count)[:count])
