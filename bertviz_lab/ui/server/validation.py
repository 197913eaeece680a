"""What a visitor typed, before anything is made of it."""

from typing import Any

from bertviz_lab.errors import InputError

#: The longest text that is looked at; a model reads some hundred words of it.
MOST_CHARACTERS = 50_000


def checked(text: Any, name: str = "text") -> str:
    """Return a text from a browser or a program; None is empty. Raises `InputError` for anything else, or too long."""
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
