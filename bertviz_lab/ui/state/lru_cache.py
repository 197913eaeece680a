"""The last few of something that takes long to make."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class LruCache:
    """Values under keys, of which those asked for last are kept; safe to use from many threads.

    `most` is how many; with `weigh` it is what they may weigh together, such as bytes, the newest one apart.
    """

    def __init__(self, most: int, weigh: Callable[[Any], int] = lambda value: 1) -> None:
        self._most, self._weigh = most, weigh
        self._weights: dict[Hashable, int] = {}
        self._values: OrderedDict[Hashable, Any] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The value under a key, made where it is not among those kept. What `make` raises is not kept.

        Of several who ask at the same time one makes it, and the others wait.
        """
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                if key in self._values:
                    self._values.move_to_end(key)
                    return self._values[key]
            try:
                value = make()
            finally:
                with self._lock:
                    self._making.pop(key, None)
            with self._lock:
                self._values[key], self._weights[key] = value, self._weigh(value)
                while len(self._values) > 1 and sum(self._weights.values()) > self._most:
                    oldest, _ = self._values.popitem(last=False)
                    del self._weights[oldest]
        return value
