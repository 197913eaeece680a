"""From rows of token ids to padded batches of tensors: rows of like length together, shuffled anew in every epoch."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.data.tasks.features import IGNORE, Features

_POOL = 64  # batches sorted by length together: little padding, yet every pool mixes all rows


@dataclass(frozen=True)
class TaskBatch:
    """One step's rows, (batch, tokens) unless said otherwise."""

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor | None  # None where there is no padding
    targets: Tensor  # (batch,), (batch, 2) or (batch, tokens), see `Features`; -100 is not asked
    rows: Tensor  # (batch,): which rows of the features these are

    real_tokens: int  # positions that are not padding
    # Of the whole step, also where this is a part of it: what sums of hits and of losses are divided by.
    count: int  # labels
    total: float  # their weights; without weights as many
    name: str = ""  # which it is, for people

    def micro_batch(self, index: int, parts: int) -> "TaskBatch":
        """Every `parts`-th row from `index` on, as wide as the whole; a part may be empty."""
        whole: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        rows: dict[str, Any] = {name: value[index::parts] for name, value in whole.items() if isinstance(value, Tensor)}
        mask = rows.get("attention_mask")
        real_tokens = rows["input_ids"].numel() if mask is None else int(mask.sum())
        return replace(self, **rows, real_tokens=real_tokens)

    def to(self, device: torch.device) -> "TaskBatch":
        tensors: dict[str, Any] = {f.name: v for f in fields(self) if isinstance(v := getattr(self, f.name), Tensor)}
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


def write_out(
    features: Features, rows: NDArray[np.int64], pad_id: int, weights: NDArray[np.float32] | None = None
) -> TaskBatch:
    """Some rows side by side, padded to a multiple of 8; `weights` are those of the classes."""
    lengths = np.array([len(features.ids[row]) for row in rows])
    width = -(-int(lengths.max()) // 8) * 8
    at = np.arange(width)[None]
    real = at < lengths[:, None]
    ids = np.full((len(rows), width), pad_id, dtype=np.int64)
    ids[real] = np.concatenate([features.ids[row] for row in rows])
    segments = ((at >= features.segment_b[rows][:, None]) & real).astype(np.int64)
    targets: NDArray[Any]
    if isinstance(features.targets, list):
        targets = np.full((len(rows), width), IGNORE, dtype=np.int64)
        targets[real] = np.concatenate([features.targets[row] for row in rows])
    else:
        targets = features.targets[rows]
    # An answer's start and end are one label together.
    asked = rows if features.windows or targets.dtype == np.float32 else targets[targets != IGNORE]
    return TaskBatch(
        input_ids=torch.from_numpy(ids),
        token_type_ids=torch.from_numpy(segments),
        attention_mask=torch.from_numpy(real) if not real.all() else None,
        targets=torch.from_numpy(targets),
        rows=torch.from_numpy(rows),
        real_tokens=int(lengths.sum()),
        count=len(asked),
        total=float(len(asked) if weights is None else weights[asked].sum()),
    )


@dataclass(frozen=True)
class TaskBatches:
    """How rows become batches; each depends on `seed`, its epoch and its number alone."""

    features: Features
    batch_size: int
    pad_id: int
    seed: int
    weights: NDArray[np.float32] | None = None

    @property
    def in_an_epoch(self) -> int:
        return -(-len(self.features) // self.batch_size)

    def epoch(self, number: int) -> Iterator[NDArray[np.int64]]:
        """The rows of each batch of one epoch, in order."""
        rng = np.random.default_rng((self.seed, number))
        order = rng.permutation(len(self.features))
        lengths = np.array([len(ids) for ids in self.features.ids])
        pool = self.batch_size * _POOL
        batches = []
        for start in range(0, len(order), pool):
            rows = order[start : start + pool]
            rows = rows[np.argsort(lengths[rows], kind="stable")]
            batches += [rows[i : i + self.batch_size] for i in range(0, len(rows), self.batch_size)]
        for index in rng.permutation(len(batches)):
            yield batches[index]

    def in_order(self) -> Iterator[TaskBatch]:
        """All rows once, the longest first, for scoring."""
        order = np.argsort([-len(ids) for ids in self.features.ids], kind="stable")
        for start in range(0, len(order), self.batch_size):
            yield write_out(self.features, order[start : start + self.batch_size], self.pad_id, self.weights)


class TaskStream(Iterator[TaskBatch]):
    """All batches, epoch after epoch, forever; `epoch` and `number` say which comes next, enough to go on there."""

    def __init__(self, data: TaskBatches, epoch: int = 0, number: int = 0):
        self.data, self.epoch, self.number = data, epoch, number
        self._order = list(data.epoch(epoch))

    def __next__(self) -> TaskBatch:
        if self.number == len(self._order):
            self.epoch, self.number = self.epoch + 1, 0
            self._order = list(self.data.epoch(self.epoch))
        rows = self._order[self.number]
        self.number += 1
        batch = write_out(self.data.features, rows, self.data.pad_id, self.data.weights)
        return replace(batch, name=f"epoch {self.epoch + 1}, batch {self.number}")
