"""Checks of the texts that a visitor sends."""

from typing import Any

from bertviz_lab.errors import InputError

#: The longest text that is accepted, in characters.
MOST_CHARACTERS = 50_000


def checked(text: Any, name: str = "text") -> str:
    """Return a text, None as "". Raises `InputError` for another type, a lone surrogate, or a text that is too long."""
    if text is None:
        return ""
    if not isinstance(text, str):
        raise InputError(f"{name} must be a string.")
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"The text has {len(text):,} characters; shorten it to {MOST_CHARACTERS:,}, of which a model reads the "
            "first few hundred words."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} has half of a character (a lone surrogate); send whole characters.") from None
    return text
