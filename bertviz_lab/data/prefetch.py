"""Batches made ahead of time: a background thread builds the next ones while the model computes."""

import contextlib
import queue
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Generic

from bertviz_lab.data.batches import BatchStream, BatchT

_WAIT_SECONDS = 0.2
_AHEAD = 4  # batches: enough to bridge the planning of an epoch's next part on a fast device, and little memory


class Prefetcher(Iterator[BatchT], Generic[BatchT]):
    """The batches of a stream, made ahead in a thread, in the same order.

    `epoch` and `number` are those of the next batch to be taken, not of the next to be made, so a run resumes exactly.
    An error of the stream is raised where the batch would have come. The thread starts with the first batch and ends
    with `close`, or soon after nobody refers to the prefetcher any more.
    """

    def __init__(self, stream: BatchStream[BatchT], ahead: int = _AHEAD) -> None:
        self.epoch, self.number = stream.epoch, stream.number
        self._ready: queue.Queue[Any] = queue.Queue(ahead)  # (batch, epoch, number), or an exception
        self._closed = threading.Event()
        arguments = (stream, self._ready, self._closed)  # and not self, which could then never be collected
        self._thread = threading.Thread(target=_fill, args=arguments, daemon=True, name="prefetch")
        weakref.finalize(self, self._closed.set)

    def __next__(self) -> BatchT:
        if self._closed.is_set():
            raise StopIteration
        if self._thread.ident is None:
            self._thread.start()
        item = self._ready.get()
        if isinstance(item, BaseException):
            self.close()
            raise item
        batch, self.epoch, self.number = item
        return batch

    def close(self) -> None:
        """End the thread and drop the batches made ahead."""
        self._closed.set()
        while self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self._ready.get(timeout=0.01)  # room for the thread, which may be waiting for it


def _fill(stream: BatchStream[Any], ready: "queue.Queue[Any]", closed: threading.Event) -> None:
    while not closed.is_set():
        try:
            batch = next(stream)
            item: Any = (batch, stream.epoch, stream.number)
        except BaseException as error:  # raised again in the thread that takes the batches
            item = error
        while not closed.is_set():
            with contextlib.suppress(queue.Full):
                ready.put(item, timeout=_WAIT_SECONDS)
                break
        if isinstance(item, BaseException):
            return
