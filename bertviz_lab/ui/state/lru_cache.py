"""The last few of something that takes long to make."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, TypeVar, cast

ValueT = TypeVar("ValueT")


@dataclass
class _Making:
    lock: threading.Lock = field(default_factory=threading.Lock)
    askers: int = 0


class LruCache:
    """Values under keys, of which those asked for last are kept; safe to use from many threads.

    `most` is how many; with `weigh` it is what they may weigh together, such as bytes, the newest one apart. Where
    `small_stay`, the lighter half goes last: a large value drives out other large ones.
    """

    def __init__(self, most: int, weigh: Callable[[Any], int] = lambda value: 1, *, small_stay: bool = False) -> None:
        self._most, self._weigh, self._small_stay = most, weigh, small_stay
        self._weights: dict[Hashable, int] = {}
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._making: dict[Hashable, _Making] = {}  # keys that somebody waits for
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """Return the value under a key; of several threads one makes it, and the others wait."""
        with self._lock:
            making = self._making.setdefault(key, _Making())
            making.askers += 1
        try:
            with making.lock:
                with self._lock:
                    if key in self._values:
                        self._values.move_to_end(key)
                        return cast(ValueT, self._values[key])
                value = make()
                self.put(key, value)
                return value
        finally:
            with self._lock:
                making.askers -= 1
                if not making.askers:
                    del self._making[key]

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a value under a key, as the one that was asked for last."""
        with self._lock:
            self._values[key], self._weights[key] = value, self._weigh(value)
            self._values.move_to_end(key)
            while len(self._values) > 1 and sum(self._weights.values()) > self._most:
                self._remove(self._next_to_go())

    def peek(self, key: Hashable) -> Any:
        """Return the value under a key, None where it is not kept; nothing is made."""
        with self._lock:
            return self._values.get(key)

    @property
    def load(self) -> tuple[int, int]:
        """Return how many values are kept, and what they weigh together."""
        with self._lock:
            return len(self._values), sum(self._weights.values())

    def discard(self, is_obsolete: Callable[[Any], bool]) -> None:
        """Forget the values under keys that nobody will ask for again."""
        with self._lock:
            for key in [key for key in self._values if is_obsolete(key)]:
                self._remove(key)

    def _next_to_go(self) -> Hashable:
        *older, _ = self._values  # from the one that was asked for the longest time ago
        light = mean(self._weights[key] for key in older) if self._small_stay else 0
        return next(key for key in older if self._weights[key] >= light)

    def _remove(self, key: Hashable) -> None:
        del self._values[key], self._weights[key]
