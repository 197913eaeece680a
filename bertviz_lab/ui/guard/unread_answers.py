"""Answers of Gradio's queue that nobody has fetched yet: Gradio keeps those of two thousand sessions, however large."""

import weakref
from collections import Counter
from dataclasses import dataclass
from typing import Any

from gradio.server_messages import ProcessCompletedMessage

_WITHDRAWN = "This answer was not fetched, and newer ones have taken its place; ask again and fetch the answer at once."


@dataclass(frozen=True)
class _Kept:
    message: "weakref.ref[ProcessCompletedMessage]"  # gone when it was fetched
    address: str
    size: int


class UnreadAnswers:
    """Lets `most` numbers and characters wait; beyond, the oldest answer goes of the address that has most of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[_Kept] = []

    def add(self, address: str, message: ProcessCompletedMessage) -> None:
        """Count an answer that was just given; others may become a sentence that says so."""
        self._kept = [kept for kept in self._kept if kept.message() is not None]
        self._kept.append(_Kept(weakref.ref(message), address, _size_of(message.output)))
        while sum(kept.size for kept in self._kept) > self._most:
            sizes: Counter[str] = Counter()
            for kept in self._kept:
                sizes[kept.address] += kept.size
            ((crowd, _),) = sizes.most_common(1)
            oldest = next(kept for kept in self._kept if kept.address == crowd)
            self._kept.remove(oldest)
            _withdraw(oldest.message())


def _withdraw(message: ProcessCompletedMessage | None) -> None:
    if message is not None:
        message.success, message.output = False, {"error": _WITHDRAWN}


def _size_of(value: Any) -> int:
    """How many numbers and characters an answer has."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size_of, value.values()))
    if not isinstance(value, (list, tuple)) or not value:
        return 1
    return len(value) if isinstance(value[0], float) else sum(map(_size_of, value))
