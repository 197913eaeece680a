"""What handlers of the page answer: payloads in the order in which they were asked for, or one plain sentence."""

import functools
import logging
import time
from collections.abc import Callable
from typing import Any

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload

_log = logging.getLogger(__name__)


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
        asked = 1000 * time.time()
        return _stamped(handler(*arguments, **named), asked)

    return answer


def _stamped(found: Any, asked: float) -> Any:
    """A payload becomes plain text, so that it is stamped once only: by the innermost of several handlers."""
    if isinstance(found, (tuple, list)):
        return type(found)(_stamped(value, asked) for value in found)
    return str(found.having(asked=asked)) if isinstance(found, Payload) else found


def picture(draw: Callable[..., str]) -> Callable[..., str]:
    """A function that makes a payload, answering with a sentence in place of the picture where it cannot."""

    @functools.wraps(draw)
    def answer(*arguments: Any, **named: Any) -> str:
        try:
            return draw(*arguments, **named)
        except Exception as error:  # whatever happens, the page must live on
            return message_payload(sentence_of(error))

    return in_order(answer)
