"""Task examples as rows of token ids, and rows as padded batches of tensors, shuffled again in every epoch.

- A text, or a pair, is one row: `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`; of a pair the longer text is truncated.
- A sentence of labeled words is tokenized word by word, and the first piece of each word has its label (Devlin et
  al. 2018, section 5.3). A sentence too long for one row is split between words into several: no word is left out.
- Texts that belong together are a row each.
- A question with its passage is one row for each window, see `question_answering`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.batches import Batch, batches_by_length, padded_width
from bertviz_lab.data.examples import Example, LabelledText, LabelledWords, Question, RelatedTexts, Task
from bertviz_lab.data.tasks.question_answering import Window, make_windows
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.tokenization.encoding import truncated_lengths

#: Tokens that are scored at once, padding included.
_SCORED_TOKENS = 8192


@dataclass(frozen=True)
class Limits:
    """Max lengths in tokens of a row and of a question, and the tokens that windows share; see `make_windows`."""

    max_length: int = 128
    stride: int = 128
    max_question_length: int = 64


@dataclass(frozen=True)
class Features:
    """Rows of a model's input with their targets."""

    ids: list[NDArray[np.int32]]  # token ids of each row, special tokens included
    segment_b: NDArray[np.int64]  # position at which segment B begins in each row; the row's length where there is none
    # index of the example that each row is of; rows of an example are adjacent and in order
    examples: NDArray[np.int64]
    # (rows,) class or number; (rows, classes) 0 or 1; (rows, 2) first and last token of an answer; or a list of
    # (tokens,) classes
    targets: NDArray[np.int64] | NDArray[np.float32] | list[NDArray[np.int64]]
    # for labelled words, the positions of the words' first pieces in each row
    word_starts: list[NDArray[np.int64]] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)  # for questions, the window of each row
    texts: int = 1  # rows of each example, where that is one number: 1, or those of texts that belong together

    def __len__(self) -> int:
        """Return what a batch consists of: rows, or examples of several texts."""
        return len(self.ids) // self.texts

    @cached_property
    def longest(self) -> int:
        """The tokens of the longest row."""
        return max(map(len, self.ids))


def encode_examples(
    examples: Sequence[Example],
    task: Task,
    tokenizer: Tokenizer,
    labels: Sequence[str],
    limits: Limits,
    *,
    training: bool = False,
) -> Features:
    """Return rows for examples of a task. A label that is not among `labels` becomes -100, which losses ignore."""
    if task == "tokens":
        return _words(cast(Sequence[LabelledWords], examples), tokenizer, labels, limits.max_length)
    if task == "qa":
        return _questions(cast(Sequence[Question], examples), tokenizer, limits, training)
    if task == "embeddings":
        return _related(cast(Sequence[RelatedTexts], examples), tokenizer, limits.max_length)
    return _texts(cast(Sequence[LabelledText], examples), task, tokenizer, labels, limits)


def _texts(
    examples: Sequence[LabelledText], task: Task, tokenizer: Tokenizer, labels: Sequence[str], limits: Limits
) -> Features:
    firsts = tokenizer.ids([example.text_a for example in examples])
    seconds = tokenizer.ids([example.text_b or "" for example in examples])
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    rows, segment_b = [], []
    for example, first, second in zip(examples, firsts, seconds, strict=True):
        pair = example.text_b is not None
        separators = [sep] * (tokenizer.pair_separators if pair else 1)
        added = 1 + len(separators) + pair
        keep_a, keep_b = truncated_lengths(len(first), len(second), limits.max_length - added)
        row = [cls, *first[:keep_a], *separators]
        segment_b.append(len(row))
        rows.append(np.array([*row, *second[:keep_b], sep] if pair else row, dtype=np.int32))
    targets: NDArray[np.int64] | NDArray[np.float32]
    if task == "multilabel":
        targets = multi_hot(examples, labels)
    elif task == "classification":
        index = {label: number for number, label in enumerate(labels)}
        targets = np.array([index.get(str(example.label), IGNORE_INDEX) for example in examples], dtype=np.int64)
    else:
        targets = np.array([float(cast(float, example.label)) for example in examples], dtype=np.float32)
    return Features(rows, np.array(segment_b, dtype=np.int64), np.arange(len(rows)), targets)


def _related(examples: Sequence[RelatedTexts], tokenizer: Tokenizer, max_length: int) -> Features:
    """Return a row for each text; targets are scores, or 0 for each example where there are none."""
    texts = [text for example in examples for text in example.texts]
    distinct = list(dict.fromkeys(texts))
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    ids = (np.array([cls, *row[: max_length - 2], sep], dtype=np.int32) for row in tokenizer.ids(distinct))
    row_of = dict(zip(distinct, ids, strict=True))
    rows = [row_of[text] for text in texts]
    dtype: Any = np.float32 if any(example.score is not None for example in examples) else np.int64
    return Features(
        ids=rows,
        segment_b=np.array([len(row) for row in rows], dtype=np.int64),
        examples=np.array([n for n, example in enumerate(examples) for _ in example.texts], dtype=np.int64),
        targets=np.array([example.score or 0 for example in examples], dtype=dtype),
        texts=len(examples[0].texts) if examples else 2,
    )


def multi_hot(examples: Sequence[LabelledText], labels: Sequence[str]) -> NDArray[np.float32]:
    """Return which labels each example has, (examples, labels) of 0 and 1; other labels are left out."""
    index = {label: number for number, label in enumerate(labels)}
    targets = np.zeros((len(examples), len(labels)), dtype=np.float32)
    for row, example in zip(targets, examples, strict=True):
        row[[index[label] for label in cast(tuple[str, ...], example.label) if label in index]] = 1.0
    return targets


def _words(examples: Sequence[LabelledWords], tokenizer: Tokenizer, labels: Sequence[str], max_length: int) -> Features:
    distinct = list(dict.fromkeys(word for example in examples for word in example.words))
    pieces = dict(zip(distinct, tokenizer.ids_of_words(distinct), strict=True))
    index = {label: number for number, label in enumerate(labels)}
    capacity = max_length - 2
    split: list[tuple[int, list[tuple[list[int], int]]]] = []  # rows: their example, and the ids and class of each word
    for owner, example in enumerate(examples):
        used = max_length  # a sentence begins a row
        for word, label in zip(example.words, example.labels, strict=True):
            ids = pieces[word][:capacity]
            if used + len(ids) > capacity:
                split.append((owner, []))
                used = 0
            split[-1][1].append((ids, index.get(label, IGNORE_INDEX)))
            used += len(ids)
    rows, targets, word_starts = [], [], []
    for _, words in split:
        rows.append(np.array([tokenizer.cls_id, *chain(*(ids for ids, _ in words)), tokenizer.sep_id], dtype=np.int32))
        word_starts.append(np.cumsum([1, *(len(ids) for ids, _ in words[:-1])]))
        targets.append(np.full(len(rows[-1]), IGNORE_INDEX, dtype=np.int64))
        targets[-1][word_starts[-1]] = [label for _, label in words]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    return Features(rows, lengths, np.array([owner for owner, _ in split], dtype=np.int64), targets, word_starts)


def _questions(examples: Sequence[Question], tokenizer: Tokenizer, limits: Limits, training: bool) -> Features:
    windows = make_windows(examples, tokenizer, **vars(limits), training=training)
    return Features(
        ids=[window.ids for window in windows],
        segment_b=np.array([window.passage_start for window in windows], dtype=np.int64),
        examples=np.array([window.question for window in windows], dtype=np.int64),
        targets=np.array([(window.start, window.end) for window in windows], dtype=np.int64).reshape(-1, 2),
        windows=windows,
    )


@dataclass(frozen=True, kw_only=True)
class TaskBatch(Batch):
    """One step's rows. Counts are those of the whole step in a micro-batch too: what sums of losses are over."""

    targets: Tensor  # (batch,), (batch, 2), (batch, classes) or (batch, tokens), see `Features`; -100 is not scored
    rows: Tensor  # (batch,): which rows of the features these are
    count: int  # labels
    total: float  # their weights; without weights as many


def batches_without_repeats(
    texts: Sequence[Sequence[bytes]], order: NDArray[np.int64], batch_size: int
) -> list[NDArray[np.int64]]:
    """Return examples in batches, as few as there can be, in which a text occurs in one example at most where that can
    be.

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
        places = [n for n in range(first, min(len(batches), first + 64)) if len(batches[n]) < room[n]]
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

    @property
    def in_an_epoch(self) -> int:
        return -(-len(self.features) // self.batch_size)

    def epoch(self, number: int) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of each batch of one epoch, in order."""
        rng = np.random.default_rng((self.seed, number))
        order, step = rng.permutation(len(self.features)), self.features.texts
        lengths = np.array([len(ids) for ids in self.features.ids]).reshape(-1, step).max(1)
        batches = (order[rows] for rows in batches_by_length(lengths[order], self.batch_size, rng))
        if step == 1:
            yield from batches
            return
        ids = [row.tobytes() for row in self.features.ids]  # what tells texts apart
        texts = [ids[start : start + step] for start in range(0, len(ids), step)]
        yield from batches_without_repeats(texts, np.concatenate([*batches]), self.batch_size)

    def batch_at(self, rows: NDArray[np.int64], epoch: int = 0, number: int = 0) -> TaskBatch:
        """Return these rows side by side, the same wherever they come.

        They are (batch, tokens); with several texts an example (batch, texts, tokens). Long ones are padded to widths
        farther apart, eight from one power of two to the next: a CPU's kernels are prepared for each width, and what
        they keep is in the way of the next step's tensors.
        """
        features, texts = self.features, self.features.texts
        text_rows = (rows[:, None] * texts + np.arange(texts)).ravel()
        lengths = np.array([len(features.ids[row]) for row in text_rows])
        multiple = max(4, 2 ** (int(lengths.max()).bit_length() - 4))
        columns = np.arange(min(padded_width(lengths, multiple), features.longest))[None]
        is_token = columns < lengths[:, None]
        ids = np.full(is_token.shape, self.pad_id, dtype=np.int64)
        ids[is_token] = np.concatenate([features.ids[row] for row in text_rows])
        segments = ((columns >= features.segment_b[text_rows][:, None]) & is_token).astype(np.int64)
        targets: NDArray[Any]
        if isinstance(features.targets, list):
            targets = np.full(ids.shape, IGNORE_INDEX, dtype=np.int64)
            targets[is_token] = np.concatenate([features.targets[row] for row in rows])
        else:
            targets = features.targets[rows]
        # An answer's start and end are one label together.
        labelled = rows if features.windows or targets.dtype == np.float32 else targets[targets != IGNORE_INDEX]
        shape = (len(rows), texts, -1) if texts > 1 else ids.shape
        return TaskBatch(
            input_ids=torch.from_numpy(ids).view(shape),
            token_type_ids=torch.from_numpy(segments).view(shape),
            attention_mask=torch.from_numpy(is_token).view(shape) if texts > 1 or not is_token.all() else None,
            targets=torch.from_numpy(targets),
            rows=torch.from_numpy(rows),
            real_tokens=int(lengths.sum()),
            count=len(labelled),
            total=float(len(labelled) if self.weights is None else self.weights[labelled].sum()),
        )

    def in_order(self) -> Iterator[TaskBatch]:
        """Yield all rows once, the longest first, for scoring; of examples with several texts by the first."""
        lengths = np.array([len(ids) for ids in self.features.ids[:: self.features.texts]])
        order = np.argsort(-lengths, kind="stable")
        while len(order):
            rows, order = np.split(order, [scored_at_once(self.features, self.batch_size, int(lengths[order[0]]))])
            yield self.batch_at(rows)


def scored_at_once(features: Features, most: int, length: int) -> int:
    """Return how many examples of up to `length` tokens are scored together.

    Those of several texts are always `most`: the others in the batch are their negatives.
    """
    return most if features.texts > 1 else max(1, min(most, _SCORED_TOKENS // length))
