"""What handlers of the page answer: payloads in the order in which they were asked for, or one plain sentence."""

import contextlib
import functools
import logging
import re
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.state_holder import SessionState

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload

_log = logging.getLogger(__name__)


def sentence_of(error: Exception, *, shared: bool) -> str:
    """What to tell a person about an error: its own sentence, or for a mistake of ours that it was one.

    On a shared page files go by their names, not by where they lie on this machine.
    """
    if isinstance(error, InputError):
        return without_folders(str(error)) if shared else str(error)
    _log.error("a handler failed: %s", where(error))
    return f"Something went wrong on this server ({type(error).__name__}); the page is still alive, try something else."


_WORD = r"""[^\s/\\'",;:()]+"""
#: An absolute path of two names or more, on Linux, macOS or Windows; the names of folders may have blanks. Not the end
#: of an address, nor "and/or".
_PATH = re.compile(rf"""(?<![\w/:.<])(?:/|[A-Za-z]:[\\/])(?:{_WORD}(?: {_WORD})*[/\\])+((?:{_WORD})?)""")


def without_folders(sentence: str) -> str:
    """A sentence with the last name of each absolute path in its place."""
    return _PATH.sub(lambda path: path[1] if path[1].strip(".") else f"a folder{path[1]}", sentence)


def where(error: BaseException) -> str:
    """An error in one line for the log: its type and the last calls that led to it.

    Not its message, which may quote what a visitor typed, and no line of source for each call.
    """
    calls = traceback.extract_tb(error.__traceback__)[-4:]
    places = [f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in reversed(calls)]
    return " < ".join([type(error).__name__, *places])


@contextlib.contextmanager
def panics_as_errors() -> Iterator[None]:
    """A panic of a library in Rust becomes a `RuntimeError`.

    It is no `Exception` in Python, and would end the thread that computes an answer in place of the answer.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError("A library has panicked.") from error


class Page(gr.Blocks):
    """Blocks of Gradio whose failures are one sentence for the visitor and one line in the log, never a traceback.

    What comes here are values that Gradio's components refuse, and mistakes of ours that no handler has answered.
    Nor does it keep what was answered, as Gradio does for deep links, which are closed here: an answer of `/attention`
    takes 76 MB, and each call that names no session is a session of its own.
    """

    async def process_api(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        """Call a handler. Raises `gr.Error` only."""
        state: SessionState | None = named.get("state")
        try:
            with panics_as_errors():
                return await super().process_api(*arguments, **named)
        except gr.Error as error:
            error.print_exception = False
            raise
        except Exception as error:
            _log.error("an event failed: %s", where(error))
            sentence = "This server could not use what the page sent; reload the page."
            raise gr.Error(sentence, print_exception=False) from None
        finally:
            if state is not None:
                state.config_values.clear()


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


def picture(draw: Callable[..., str], *, shared: bool) -> Callable[..., str]:
    """A function that makes a payload, answering with a sentence in place of the picture where it cannot."""

    @functools.wraps(draw)
    def answer(*arguments: Any, **named: Any) -> str:
        try:
            with panics_as_errors():
                return draw(*arguments, **named)
        except Exception as error:  # whatever happens, the page must live on
            return message_payload(sentence_of(error, shared=shared))

    return in_order(answer)
