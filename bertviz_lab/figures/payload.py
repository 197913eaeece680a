"""How data is sent to the page: a JSON string with numbers as base64 arrays.

Most payloads are the numbers of an analysis and the name of a figure (`figure`). The page makes the words and the
picture of them (`ui/components/figures`), as it does where an engine in the browser has computed the numbers.

It also carries text that a user typed, so `<` is written as its Unicode escape, which no HTML parser interprets, and
the page displays text through `textContent` only.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from bertviz_lab import strict_json

#: Maximum number of labels in a chart; a person cannot read more, and a browser is slow to draw them.
MOST_LABELS = 40


class Payload(str):
    """A payload as text, a type of its own to distinguish it from user input."""

    __slots__ = ()

    def having(self, **more: Any) -> "Payload":
        """Return the same with further entries."""
        added = to_json(more)
        return Payload(f"{self[:-1]}{',' if len(self) > 2 else ''}{added[1:]}")


def to_json(body: Mapping[str, Any]) -> Payload:
    """Return a payload as JSON. NaN and infinity become null."""
    text = strict_json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    # "<" occurs only inside strings, where the escape is the same character.
    return Payload(text.replace("<", "\\u003c"))


def figure(name: str, /, **given: Any) -> Payload:
    """Return what `ui/components/figures` draws a figure of: the arguments of its function `name`.

    Results of `interpret` become objects of their fields, arrays become lists. What is None is left out: the figure has
    a default for it.
    """
    return to_json({"picture": name} | {key: value for key, value in given.items() if value is not None})


def message_payload(text: str) -> Payload:
    """Return a payload that any component shows as a message in place of its picture."""
    return to_json({"message": text})


def facts_payload(
    items: Iterable[tuple[str, str]],
    *,
    lead: str = "",
    note: str = "",
    tone: str = "plain",
    more: tuple[str, Sequence[str]] | None = None,
) -> Payload:
    """Return a row of facts; `items` are (name, value), and an empty name lets the value be alone.

    `lead` is above them, `note` below. `tone`: plain, error. `more` is folded away: a heading, and paragraphs under it.
    """
    body = {"items": [list(item) for item in items], "lead": lead, "note": note, "tone": tone}
    return to_json(body | ({"more": {"title": more[0], "lines": list(more[1])}} if more else {}))


def base64_array(array: NDArray[Any]) -> str:
    """Return the bytes of an array in C order, as browsers read them, as base64 text."""
    return base64.b64encode(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()).decode("ascii")
