"""How handlers are joined to the page: what they answer when a person's input cannot be used, and who may call them."""

import functools
import inspect
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload

_log = logging.getLogger(__name__)
_TELL_EVERY = 0.4  # seconds between two words about slow work

#: For every event of the page: not an endpoint, and no grey veil over what it changes.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
#: The same for fields that are answered while a person types: of many key presses the last one counts.
TYPING: dict[str, Any] = QUIET | {"trigger_mode": "always_last"}


class Folded:
    """A part of a tab that is folded away: drawn when it is opened, and again after whatever it follows."""

    def __init__(
        self, name: str, accordion: gr.Accordion, draw: Callable[..., Any], inputs: Sequence[Component], output: Any
    ):
        """`draw(*inputs)` gives the value, or the values, of `output`; it may yield some before the last.

        To be made inside the page, after its parts. `name` stands in links to it.
        """
        self.name, self.accordion = name, accordion
        self.is_open = gr.Checkbox(bool(accordion.open), visible=False)
        self._draw, self._output = in_order(draw), output
        self._nothing = [gr.skip() for _ in output] if isinstance(output, list) else gr.skip()
        self._inputs = [self.is_open, *inputs]
        self.follow(accordion.expand(lambda: True, None, self.is_open, **QUIET))
        accordion.collapse(lambda: False, None, self.is_open, **QUIET)

    def follow(self, *events: Any) -> None:
        """Draw again after each of these events, while it is open."""
        answer = self._answers if inspect.isgeneratorfunction(self._draw) else self._answer
        for event in events:
            event.then(answer, self._inputs, self._output, **QUIET)

    def _answer(self, is_open: bool, *inputs: Any) -> Any:
        return self._draw(*inputs) if is_open else self._nothing

    def _answers(self, is_open: bool, *inputs: Any) -> Iterator[Any]:
        if is_open:
            yield from self._draw(*inputs)
        else:
            yield self._nothing


@dataclass(frozen=True)
class Tab:
    """A tab that shows something about the chosen model.

    `follow_model(model, *inputs)` answers with one value for each of `outputs`; it is called when the page opens
    and whenever the model changes, and after it the open ones of `parts` are drawn again. `fields` are what a link to
    the tab fills in, by the names that stand in its address; a link to a part of it opens that part too.
    """

    id: str
    follow_model: Callable[..., Any]
    inputs: list[Component]
    outputs: list[Component]
    parts: Sequence[Folded] = ()
    fields: Mapping[str, Component] = field(default_factory=dict)
    second: gr.Dropdown | None = None  # where another model is chosen to stand beside the first


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
        return _stamped(handler(*arguments, **named), asked)

    @functools.wraps(handler)
    def answers(*arguments: Any, **named: Any) -> Iterator[Any]:
        asked = 1000 * time.monotonic()
        for found in handler(*arguments, **named):
            yield _stamped(found, asked)

    return answers if inspect.isgeneratorfunction(handler) else answer


def _stamped(found: Any, asked: float) -> Any:
    """A payload becomes plain text, so that it is stamped once only: by the innermost of several handlers."""
    if isinstance(found, (tuple, list)):
        return type(found)(_stamped(value, asked) for value in found)
    return str(found.having(asked=asked)) if isinstance(found, Payload) else found


def picture(draw: Callable[..., str]) -> Callable[..., str]:
    """A function that makes a payload, answering with a sentence in place of the picture where it cannot."""

    @functools.wraps(draw)
    def answer(*arguments: Any, **named: Any) -> str:
        return _or_sentence(partial(draw, *arguments, **named))

    return in_order(answer)


def _or_sentence(draw: Callable[[], str]) -> str:
    try:
        return draw()
    except Exception as error:  # whatever happens, the page must live on
        return message_payload(sentence_of(error))


def slow_picture(draw: Callable[..., str], doing: str) -> Callable[..., Iterator[str]]:
    """The same for work of seconds: `draw(*inputs, on_progress)` is told of as "doing: 40 %" until it is done."""

    @functools.wraps(draw)
    def answers(*arguments: Any) -> Iterator[str]:
        done = [0.0]

        def on_progress(share: float) -> None:
            done[0] = share

        with ThreadPoolExecutor(1) as background:
            work = background.submit(draw, *arguments, on_progress)
            while wait([work], timeout=_TELL_EVERY).not_done:
                yield message_payload(f"{doing}: {done[0]:.0%}")
        yield _or_sentence(work.result)

    return in_order(answers)


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
