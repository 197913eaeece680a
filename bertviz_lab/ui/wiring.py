"""How handlers are joined to the page: what they answer when a person's input cannot be used, and who may call them."""

import functools
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
from gradio.components import Component

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload

_log = logging.getLogger(__name__)

#: For every event of the page: not an endpoint, and no grey veil over what it changes.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
#: The same for fields that are answered while a person types: of many key presses the last one counts.
TYPING: dict[str, Any] = QUIET | {"trigger_mode": "always_last"}


class Folded:
    """A part of a tab that is folded away: drawn when it is opened, and again after whatever it follows."""

    def __init__(self, accordion: gr.Accordion, draw: Callable[..., Any], inputs: Sequence[Component], output: Any):
        """`draw(*inputs)` gives the value, or the values, of `output`. To be made inside the page, after its parts."""
        self._draw, self._output = in_order(draw), output
        self._open = gr.Checkbox(False, visible=False)
        self._inputs = [self._open, *inputs]
        accordion.expand(lambda: True, None, self._open, **QUIET).then(self._answer, self._inputs, output, **QUIET)
        accordion.collapse(lambda: False, None, self._open, **QUIET)

    def follow(self, *events: Any) -> None:
        """Draw again after each of these events, while it is open."""
        for event in events:
            event.then(self._answer, self._inputs, self._output, **QUIET)

    def _answer(self, is_open: bool, *inputs: Any) -> Any:
        if is_open:
            return self._draw(*inputs)
        return [gr.skip() for _ in self._output] if isinstance(self._output, list) else gr.skip()


@dataclass(frozen=True)
class Tab:
    """A tab that shows something about the chosen model.

    `follow_model(model, *inputs)` answers with one value for each of `outputs`; it is called when the page opens
    and whenever the model changes, and after it the open ones of `parts` are drawn again. `fields` are what a link to
    the tab fills in, by the names that stand in its address.
    """

    id: str
    follow_model: Callable[..., Any]
    inputs: list[Component]
    outputs: list[Component]
    parts: Sequence[Folded] = ()
    fields: dict[str, Component] = field(default_factory=dict)


def sentence_of(error: Exception) -> str:
    """What to tell a person about an error: its own sentence, or for a mistake of ours that it was one."""
    if isinstance(error, InputError):
        return str(error)
    _log.error("A handler of the page failed", exc_info=error)
    return f"Something went wrong on this server ({type(error).__name__}); the page is still alive, try something else."


def in_order(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The handler with the time of its call written into each payload that it gives.

    Answers can overtake each other, when a model is changed while another is at work: pictures keep the one that was
    asked for last.
    """

    @functools.wraps(handler)
    def answer(*arguments: Any, **named: Any) -> Any:
        asked = 1000 * time.monotonic()
        found = handler(*arguments, **named)
        if isinstance(found, (tuple, list)):
            return type(found)(_stamped(value, asked) for value in found)
        return _stamped(found, asked)

    return answer


def _stamped(value: Any, asked: float) -> Any:
    """A payload becomes plain text, so that it is stamped once only: by the innermost of several handlers."""
    return str(value.having(asked=asked)) if isinstance(value, Payload) else value


def picture(draw: Callable[..., str]) -> Callable[..., str]:
    """A function that makes a payload, answering with a sentence in place of the picture where it cannot."""

    @functools.wraps(draw)
    def answer(*arguments: Any, **named: Any) -> str:
        try:
            return draw(*arguments, **named)
        except Exception as error:  # whatever happens, the page must live on
            return message_payload(sentence_of(error))

    return in_order(answer)


def clicked(handler: Callable[..., Any]) -> Callable[..., Any]:
    """A listener for a component's own event: `handler(data, *inputs)`, data being what the browser sent with it."""

    answer = in_order(handler)

    def receive(event: gr.EventData, *inputs: Any) -> Any:
        data = event._data
        return answer(data if isinstance(data, dict) else {}, *inputs)

    return receive


def picked(data: dict[str, Any], count: int) -> tuple[str, ...]:
    """The texts of an example that was clicked, filled up with empty ones."""
    texts = [text for text in data.get("texts", ()) if isinstance(text, str)]
    return tuple((texts + [""] * count)[:count])
