"""Errors as one plain sentence for a person, and as one line for the log."""

import logging
import re
import traceback
from pathlib import Path

from bertviz_lab.errors import InputError

_log = logging.getLogger(__name__)


def sentence_of(error: Exception, *, shared: bool) -> str:
    """Return the message of an `InputError`; log any other error, and return that the server failed.

    On a shared page the folders of this machine are left out.
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
    """Return a sentence with each absolute path replaced by its last name."""
    return _PATH.sub(lambda path: path[1] if path[1].strip(".") else f"a folder{path[1]}", sentence)


def where(error: BaseException) -> str:
    """Return an error in one line for the log: its type and the last calls; a message may quote what was typed."""
    calls = traceback.extract_tb(error.__traceback__)[-4:]
    places = [f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in reversed(calls)]
    return " < ".join([type(error).__name__, *places])
