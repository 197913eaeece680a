"""What a visitor typed, before anything is made of it."""

from typing import Any

from bertviz_lab.errors import InputError

#: The longest text that is looked at; a model reads some hundred words of it.
MOST_CHARACTERS = 50_000


def checked(text: Any) -> str:
    """A text from the browser, empty where a field was not drawn yet.

    Raises `InputError` where it is no text or beyond all measure.
    """
    if text is None:
        return ""
    if not isinstance(text, str):
        raise InputError("Type a sentence first.")
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"The text has {len(text):,} characters; shorten it to {MOST_CHARACTERS:,}, of which a model reads the "
            "first few hundred words."
        )
    return text
