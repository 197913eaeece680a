"""The one exception that a person, not a programmer, is meant to read; and the panics of libraries in Rust."""

import contextlib
from collections.abc import Iterator


class InputError(ValueError):
    """Something a person supplied cannot be used; the text is one clear sentence that says what to do.

    The command line prints it and exits with code 2; the page shows it where the input was given.
    """


@contextlib.contextmanager
def panics_as_errors() -> Iterator[None]:
    """Convert a Rust panic, which is no `Exception`, into a `RuntimeError`."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError("A library has panicked.") from error
