"""Batches of every kind: rows of like length together, padded, micro-batches, a stream that resumes, made ahead."""

import multiprocessing
import pickle
import signal
import warnings
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.errors import InputError

_POOL_BATCHES = 64  # sorted by length together: little padding, yet every pool mixes all of the data


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One step's examples; tensors are (batch, ...), and numbers are those of the whole step in a micro-batch too."""

    input_ids: Tensor  # (batch, tokens)
    token_type_ids: Tensor  # (batch, tokens)
    attention_mask: Tensor | None  # (batch, tokens), None where there is no padding
    real_tokens: int  # tokens that are not padding; of a micro-batch its own
    name: str = ""  # which it is, for people

    def _tensors(self) -> dict[str, Any]:
        return {f.name: value for f in fields(self) if isinstance(value := getattr(self, f.name), Tensor)}

    def micro_batch(self, index: int, parts: int) -> Self:
        """Return every `parts`-th row from `index` on, as wide as the whole: a process's share, or what fits in memory.

        It may be empty. Losses summed over the labels of all micro-batches, over the counts of the whole step, are
        those of the whole.
        """
        rows: dict[str, Any] = {name: value[index::parts] for name, value in self._tensors().items()}
        mask = rows.get("attention_mask")
        return replace(self, **rows, real_tokens=rows["input_ids"].numel() if mask is None else int(mask.sum()))

    def to(self, device: torch.device) -> Self:
        """Return the same batch on a device."""
        tensors = self._tensors()
        if device.type == "cuda":  # pinned memory is copied while the device computes
            tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


RowsT = TypeVar("RowsT")
BatchT = TypeVar("BatchT", bound=Batch)
BatchT_co = TypeVar("BatchT_co", bound=Batch, covariant=True)


class BatchSource(Protocol[RowsT, BatchT_co]):
    """Data whose batches each depend on a seed, their epoch and their number alone."""

    def epoch(self, number: int) -> Iterator[RowsT]:
        """Return the rows of each batch of one epoch, in order."""

    def batch_at(self, rows: RowsT, epoch: int, number: int) -> BatchT_co:
        """Return the batch of these rows at its place."""


class BatchStream(Iterator[BatchT]):
    """All batches without end; `epoch` and `number` say which is next. Raises `InputError` for an epoch of none."""

    def __init__(self, source: BatchSource[Any, BatchT], epoch: int = 0, number: int = 0) -> None:
        self.source, self.epoch, self.number = source, epoch, number
        self._rows: Iterator[Any] = islice(source.epoch(epoch), number, None)

    def __next__(self) -> BatchT:
        rows = next(self._rows, None)
        if rows is None and self.number:
            self.epoch, self.number = self.epoch + 1, 0
            self._rows = self.source.epoch(self.epoch)
            rows = next(self._rows, None)
        if rows is None:
            raise InputError("The text gives no example for this objective: no document has two sentences.")
        batch = self.source.batch_at(rows, self.epoch, self.number)
        self.number += 1
        return replace(batch, name=f"epoch {self.epoch + 1}, batch {self.number}")


def batches_by_length(
    lengths: NDArray[np.int64],
    batch_size: int,
    rng: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Yield indices of shuffled rows, cut into batches of similar length, the batches shuffled again.

    `lengths` is (rows,). With `groups`, (rows,), every batch has its share of each group. Raises `ValueError` for a
    `batch_size` below 1.
    """
    if batch_size < 1:
        raise ValueError(f"A batch has at least one row, not {batch_size}.")
    pool = batch_size * _POOL_BATCHES
    groups = np.zeros_like(lengths) if groups is None else groups
    for start in range(0, len(lengths), pool):
        rows = start + order_in_groups(lengths[start : start + pool], groups[start : start + pool])
        batches = [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]
        for index in rng.permutation(len(batches)):
            yield batches[index]


def order_in_groups(keys: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return indices, (rows,), by which each group is sorted by its keys and evenly spread over the others."""
    place = np.empty(len(keys))
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        rows = rows[np.argsort(keys[rows], kind="stable")]
        place[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(place, kind="stable")


def padded_width(lengths: NDArray[np.int64], multiple: int) -> int:
    """Return the longest length, rounded up: kernels are prepared for each width, and padding costs time too."""
    return -(-int(lengths.max()) // multiple) * multiple


def same_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Return the places of rows of one length, in batches of up to `tokens` that need no padding, the longest first."""
    of_length: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        of_length[length].append(place)
    sized = ((max(1, tokens // length), of_length[length]) for length in sorted(of_length, reverse=True))
    return [same[start : start + size] for size, same in sized for start in range(0, len(same), size)]


def padded_rows(rows: Sequence[Sequence[int] | NDArray[np.integer]], filler: int) -> tuple[Tensor, Tensor]:
    """Return rows of numbers as a matrix, (rows, longest) of int64, and where it has something of them, as a mask."""
    table = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, filler)
    lengths = torch.tensor([len(row) for row in rows])
    return table, torch.arange(table.shape[1]) < lengths[:, None]


class ProcessStream(Iterator[BatchT]):
    """The batches of a stream, made in a process of its own, which starts with the first one.

    A thread that plans and masks millions of tokens a second holds Python's lock, for which the one that feeds a GPU
    would wait. The process is forked, so it shares the corpus, and it never touches the GPU.
    """

    def __init__(self, stream: BatchStream[BatchT]) -> None:
        self.epoch, self.number = stream.epoch, stream.number
        context = multiprocessing.get_context("fork")
        self._received, self._sent = context.Pipe(duplex=False)
        self._process = context.Process(target=self._make, args=(stream,), daemon=True)

    def _make(self, stream: BatchStream[BatchT]) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # and not what the forking process does
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        torch.set_num_threads(1)  # the others were not forked
        self._received.close()  # or the pipe would stay open when nobody reads it any more
        try:
            while True:
                self._sent.send_bytes(pickle.dumps(_next_with_place(stream)))
        except BrokenPipeError:
            return
        except BaseException as error:  # raised again where the batches are taken
            self._sent.send_bytes(pickle.dumps(error))

    def __next__(self) -> BatchT:
        if self._process.ident is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # that other threads are not forked
                self._process.start()
            self._sent.close()
        item = pickle.loads(self._received.recv_bytes())
        if isinstance(item, BaseException):
            raise item
        batch, self.epoch, self.number = item
        return batch

    def close(self) -> None:
        """End the process."""
        if self._process.ident is not None:
            self._process.terminate()
            self._process.join()
        self._received.close()


_AHEAD = 4  # batches: little memory
_AHEAD_OF_GPU = 64  # enough to bridge the planning of an epoch's next part


class Prefetcher(Iterator[BatchT]):
    """The batches of a stream, made ahead in a thread, or in a process for a GPU, in the same order.

    `epoch` and `number` are those of the next batch to be taken, not of the next to be made, so a run resumes exactly.
    An error of the stream is raised where the batch would have come. The thread starts with the first batch and ends
    with `close`, or soon after nobody refers to the prefetcher any more.
    """

    def __init__(self, stream: BatchStream[BatchT], ahead: int = _AHEAD, *, in_process: bool = False) -> None:
        self.epoch, self.number = stream.epoch, stream.number
        self._made: BatchStream[BatchT] | ProcessStream[BatchT] = stream
        if in_process and "fork" in multiprocessing.get_all_start_methods():
            self._made, ahead = ProcessStream(stream), max(ahead, _AHEAD_OF_GPU)
        self._ahead, self._thread = ahead, ThreadPoolExecutor(1, "prefetch")
        self._ready: deque[Future[tuple[BatchT, int, int]]] = deque()

    def __next__(self) -> BatchT:
        while len(self._ready) < self._ahead:
            self._ready.append(self._thread.submit(_next_with_place, self._made))
        if not self._ready:
            raise StopIteration
        try:
            batch, self.epoch, self.number = self._ready.popleft().result()
        except BaseException:
            self.close()
            raise
        return batch

    def close(self) -> None:
        """End the thread and drop the batches made ahead."""
        self._ahead = 0
        self._ready.clear()
        self._thread.shutdown(cancel_futures=True)
        if isinstance(self._made, ProcessStream):
            self._made.close()


def _next_with_place(stream: BatchStream[BatchT] | ProcessStream[BatchT]) -> tuple[BatchT, int, int]:
    """Return the next batch of a stream, and the place of the one after it."""
    return next(stream), stream.epoch, stream.number
