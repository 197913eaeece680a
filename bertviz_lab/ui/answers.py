"""What handlers of the page answer: payloads in the order in which they were asked for, or one plain sentence."""

import functools
import inspect
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload

_log = logging.getLogger(__name__)
_TELL_EVERY = 0.4  # seconds between two words about slow work


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
