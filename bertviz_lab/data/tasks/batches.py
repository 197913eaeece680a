"""From rows of token ids to padded batches of tensors: rows of like length together, shuffled anew in every epoch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.batches import Batch, batches_by_length, padded_width
from bertviz_lab.data.tasks.features import Features

_LOOKED_AHEAD = 64  # batches in which a place is looked for


@dataclass(frozen=True, kw_only=True)
class TaskBatch(Batch):
    """One step's rows. Counts are those of the whole step in a micro-batch too: what sums of losses are over."""

    targets: Tensor  # (batch,), (batch, 2), (batch, classes) or (batch, tokens), see `Features`; -100 is not scored
    rows: Tensor  # (batch,): which rows of the features these are
    count: int  # labels
    total: float  # their weights; without weights as many


def write_out(
    features: Features, rows: NDArray[np.int64], pad_id: int, weights: NDArray[np.float32] | None = None
) -> TaskBatch:
    """Some rows side by side, padded to a multiple of 8; `weights` are those of the classes.

    Of examples with several texts, `rows` are the examples, and ids, segments and mask (batch, texts, tokens).
    """
    if features.texts > 1:
        return _write_out_related(features, rows, pad_id)
    lengths = np.array([len(features.ids[row]) for row in rows])
    width = padded_width(lengths)
    columns = np.arange(width)[None]
    is_token = columns < lengths[:, None]
    ids = np.full((len(rows), width), pad_id, dtype=np.int64)
    ids[is_token] = np.concatenate([features.ids[row] for row in rows])
    segments = ((columns >= features.segment_b[rows][:, None]) & is_token).astype(np.int64)
    targets: NDArray[Any]
    if isinstance(features.targets, list):
        targets = np.full((len(rows), width), IGNORE_INDEX, dtype=np.int64)
        targets[is_token] = np.concatenate([features.targets[row] for row in rows])
    else:
        targets = features.targets[rows]
    # An answer's start and end are one label together.
    labelled = rows if features.windows or targets.dtype == np.float32 else targets[targets != IGNORE_INDEX]
    return TaskBatch(
        input_ids=torch.from_numpy(ids),
        token_type_ids=torch.from_numpy(segments),
        attention_mask=torch.from_numpy(is_token) if not is_token.all() else None,
        targets=torch.from_numpy(targets),
        rows=torch.from_numpy(rows),
        real_tokens=int(lengths.sum()),
        count=len(labelled),
        total=float(len(labelled) if weights is None else weights[labelled].sum()),
    )


def _write_out_related(features: Features, rows: NDArray[np.int64], pad_id: int) -> TaskBatch:
    chosen = [features.ids[row * features.texts + text] for row in rows for text in range(features.texts)]
    lengths = np.array([len(ids) for ids in chosen], dtype=np.int64)
    is_token = np.arange(padded_width(lengths))[None] < lengths[:, None]
    ids = np.full(is_token.shape, pad_id, dtype=np.int64)
    ids[is_token] = np.concatenate(chosen)
    shape = (len(rows), features.texts, -1)
    return TaskBatch(
        input_ids=torch.from_numpy(ids).view(shape),
        token_type_ids=torch.zeros(ids.shape, dtype=torch.int64).view(shape),
        attention_mask=torch.from_numpy(is_token).view(shape),
        targets=torch.from_numpy(cast(NDArray[Any], features.targets)[rows]),
        rows=torch.from_numpy(rows),
        real_tokens=int(lengths.sum()),
        count=len(rows),
        total=float(len(rows)),
    )


def batches_without_repeats(
    texts: Sequence[Sequence[bytes]], order: NDArray[np.int64], batch_size: int
) -> list[NDArray[np.int64]]:
    """Examples in batches, as few as there can be, in which a text occurs in one example at most where that can be.

    The other examples of a batch are what an example is set apart from, so none of them should be like it.
    `texts` are those of each example, `order` the one in which they are taken.
    """
    batches: list[list[int]] = [[] for _ in range(-(-len(order) // batch_size))]
    seen: list[set[bytes]] = [set() for _ in batches]
    room = [min(batch_size, len(order) - batch_size * n) for n in range(len(batches))]
    first = 0
    for example in order.tolist():
        while len(batches[first]) == room[first]:
            first += 1
        places = [n for n in range(first, min(len(batches), first + _LOOKED_AHEAD)) if len(batches[n]) < room[n]]
        place = next((n for n in places if seen[n].isdisjoint(texts[example])), places[0])
        batches[place].append(example)
        seen[place].update(texts[example])
    return [np.array(batch, dtype=np.int64) for batch in batches]


@dataclass(frozen=True)
class TaskBatches:
    """How rows become batches; each depends on `seed`, its epoch and its number alone."""

    features: Features
    batch_size: int
    pad_id: int
    seed: int
    weights: NDArray[np.float32] | None = None

    @cached_property
    def _texts(self) -> list[list[bytes]]:
        """What tells the texts of each example from others."""
        step, ids = self.features.texts, [row.tobytes() for row in self.features.ids]
        return [ids[start : start + step] for start in range(0, len(ids), step)]

    @property
    def in_an_epoch(self) -> int:
        return -(-len(self.features) // self.batch_size)

    def epoch(self, number: int) -> Iterator[NDArray[np.int64]]:
        """The rows of each batch of one epoch, in order."""
        rng = np.random.default_rng((self.seed, number))
        order = rng.permutation(len(self.features))
        if self.features.texts > 1:
            yield from batches_without_repeats(self._texts, order, self.batch_size)
            return
        lengths = np.array([len(ids) for ids in self.features.ids])
        for rows in batches_by_length(lengths[order], self.batch_size, rng):
            yield order[rows]

    def batch_at(self, rows: NDArray[np.int64], epoch: int, number: int) -> TaskBatch:
        """The batch of these rows, the same wherever it comes."""
        return write_out(self.features, rows, self.pad_id, self.weights)

    def in_order(self) -> Iterator[TaskBatch]:
        """All rows once, the longest first, for scoring; of examples with several texts by the first."""
        order = np.argsort([-len(ids) for ids in self.features.ids[:: self.features.texts]], kind="stable")
        for start in range(0, len(order), self.batch_size):
            yield write_out(self.features, order[start : start + self.batch_size], self.pad_id, self.weights)
