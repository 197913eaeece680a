"""From tables of examples to padded batches of tensors, masked afresh at every visit."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.data.pretraining.masking import IGNORE, MaskingRule, mask_batch
from bertviz_lab.data.pretraining.sentence_pairs import A_END, A_START, B_END, B_START, LABEL, Examples, plan_epoch
from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

#: Of the batches that are read forwards one in so many is masked all the same: the masked-word and next-sentence
#: curves are there from the first second, at no cost to what is learnt.
MASKED_EVERY = 8

_POOL = 64  # batches sorted by length together: little padding, yet every pool mixes the whole table


@dataclass(frozen=True)
class PretrainingBatch:
    """One step's examples, (batch, tokens) unless said otherwise."""

    input_ids: Tensor
    token_type_ids: Tensor
    attention_mask: Tensor | None  # None where there is no padding
    positions: Tensor  # (batch, predictions)
    labels: Tensor  # (batch, predictions), -100 in unused places
    next_sentence_label: Tensor | None  # (batch,), 0 is next or in order, 1 is random or swapped

    real_tokens: int  # positions that are not padding
    # Of the whole step, also where this is a part of it: what a sum of losses is divided by.
    label_count: int  # labels that are not -100
    pair_count: int  # examples with a label of their pair; 0 without pairs
    causal: bool = False  # nothing is masked: `positions` are all, `labels` the tokens that follow
    name: str = ""  # which it is, for people

    def micro_batch(self, index: int, parts: int) -> "PretrainingBatch":
        """Every `parts`-th example from `index` on, as wide as the whole: a process's share, or what fits in memory.

        A part may be empty. Losses summed over the labels of all parts, over `label_count` and `pair_count`,
        are those of the whole.
        """
        whole: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        rows: dict[str, Any] = {name: value[index::parts] for name, value in whole.items() if isinstance(value, Tensor)}
        mask = rows.get("attention_mask")
        real_tokens = rows["input_ids"].numel() if mask is None else int(mask.sum())
        return replace(self, **rows, real_tokens=real_tokens)

    def to(self, device: torch.device) -> "PretrainingBatch":
        tensors: dict[str, Any] = {f.name: v for f in fields(self) if isinstance(v := getattr(self, f.name), Tensor)}
        if device.type == "cuda":  # pinned memory is copied while the device computes
            tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()})


@dataclass(frozen=True)
class PretrainingData:
    """How a part of a corpus becomes batches; each depends on `seed`, its epoch and its number alone.

    With `repeat_after` the passes repeat after that many, examples and masks alike: static masking, as in Google's
    code, which writes ten versions of the corpus to disk (`dupe_factor`). None masks afresh in every pass.
    """

    documents: CorpusView
    tokenizer: Tokenizer
    rule: MaskingRule
    seq_len: int
    batch_size: int
    short_seq_probability: float
    pairs: str  # "nsp", "sop" or "", as in `pretraining`
    seed: int
    causal: bool = False  # most batches ask for every next token instead of masked ones
    repeat_after: int | None = None

    def random(self, epoch: int, stream: int) -> np.random.Generator:
        """Random numbers of a pass: stream 0 plans it, stream n + 1 masks its batch n."""
        version = epoch % self.repeat_after if self.repeat_after else epoch
        return np.random.default_rng((self.seed, version, stream))

    def epoch(self, number: int) -> Iterator[Examples]:
        """The examples of each batch of one pass, (batch, 5), in order."""
        rng = self.random(number, 0)
        tables = plan_epoch(
            self.documents,
            rng,
            seq_len=self.seq_len,
            short_seq_probability=self.short_seq_probability,
            pairs=self.pairs,
        )
        for table in tables:
            yield from _by_length(table, self.batch_size, rng)

    def batch(self, rows: Examples, rng: np.random.Generator) -> PretrainingBatch:
        """Write out and mask some examples (batch, 5)."""
        ids, segments, lengths = self._write_out(rows)
        masked = mask_batch(ids, lengths, self.rule, rng)
        padded = lengths.min() < ids.shape[1]
        real = np.arange(ids.shape[1]) < lengths[:, None]
        return PretrainingBatch(
            input_ids=torch.from_numpy(masked.input_ids),
            token_type_ids=torch.from_numpy(segments),
            attention_mask=torch.from_numpy(real) if padded else None,
            positions=torch.from_numpy(masked.positions),
            labels=torch.from_numpy(masked.labels),
            next_sentence_label=torch.from_numpy(rows[:, LABEL].copy()) if self.pairs else None,
            real_tokens=int(lengths.sum()),
            label_count=int((masked.labels != IGNORE).sum()),
            pair_count=len(rows) if self.pairs else 0,
        )

    def causal_batch(self, rows: Examples) -> PretrainingBatch:
        """Write out some examples (batch, 5) for reading forwards: at each token the next is asked for, as in GPT.

        Special tokens are never the answer.
        """
        ids, segments, lengths = self._write_out(rows)
        real = np.arange(ids.shape[1]) < lengths[:, None]
        labels = np.where(np.isin(ids[:, 1:], list(self.rule.special_ids)), IGNORE, ids[:, 1:])
        return PretrainingBatch(
            input_ids=torch.from_numpy(ids),
            token_type_ids=torch.from_numpy(segments),
            attention_mask=torch.from_numpy(real) if not real.all() else None,
            positions=torch.arange(ids.shape[1] - 1).expand(len(ids), -1),
            labels=torch.from_numpy(labels),
            next_sentence_label=None,
            real_tokens=int(lengths.sum()),
            label_count=int((labels != IGNORE).sum()),
            pair_count=0,
            causal=True,
        )

    def _write_out(self, rows: Examples) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """[CLS] A [SEP] B [SEP], or [CLS] A [SEP]: ids and segments (batch, tokens), lengths (batch,)."""
        a_length = rows[:, A_END] - rows[:, A_START]
        b_length = rows[:, B_END] - rows[:, B_START]
        lengths = a_length + b_length + np.where(b_length > 0, 3, 2)
        width = min(-(-int(lengths.max()) // 8) * 8, max(self.seq_len, int(lengths.max())))
        at = np.arange(width)[None]  # (1, tokens)
        a_end, b_end = (1 + a_length)[:, None], (2 + a_length + b_length)[:, None]
        in_a = (at > 0) & (at < a_end)
        in_b = (at > a_end) & (at < b_end)
        offset = np.where(in_a, rows[:, A_START, None] + at - 1, 0)
        offset = np.where(in_b, rows[:, B_START, None] + at - a_end - 1, offset)
        ids = self.documents.corpus.ids[offset].astype(np.int64)
        sep = (at == a_end) | ((at == b_end) & (b_length > 0)[:, None])
        ids = np.where(in_a | in_b, ids, np.where(sep, self.tokenizer.sep_id, self.tokenizer.pad_id))
        ids[:, 0] = self.tokenizer.cls_id
        segments = ((at > a_end) & (at < lengths[:, None])).astype(np.int64)
        return ids, segments, lengths


class BatchStream:
    """All batches, epoch after epoch, without end; `epoch` and `number` say which comes next, enough to resume there.

    Raises `InputError` where a whole epoch gives no example.
    """

    def __init__(self, data: PretrainingData, epoch: int = 0, number: int = 0):
        self.data, self.epoch, self.number = data, epoch, number
        self._rows: Iterator[Examples] = islice(data.epoch(epoch), number, None)

    def __iter__(self) -> "BatchStream":
        return self

    def __next__(self) -> PretrainingBatch:
        rows = next(self._rows, None)
        if rows is None:
            if self.number:
                self.epoch, self.number = self.epoch + 1, 0
                self._rows = self.data.epoch(self.epoch)
                rows = next(self._rows, None)
            if rows is None:
                raise InputError("The text gives no example for this objective: no document has two sentences.")
        rng = self.data.random(self.epoch, 1 + self.number)
        causal = self.data.causal and self.number % MASKED_EVERY != 0
        self.number += 1
        batch = self.data.causal_batch(rows) if causal else self.data.batch(rows, rng)
        return replace(batch, name=f"pass {self.epoch + 1} over the text, batch {self.number}")


def _by_length(table: Examples, batch_size: int, rng: np.random.Generator) -> Iterator[Examples]:
    """Cut a shuffled table into batches of similar length, and shuffle the batches."""
    pool = batch_size * _POOL
    for start in range(0, len(table), pool):
        rows = table[start : start + pool]
        length = rows[:, A_END] - rows[:, A_START] + rows[:, B_END] - rows[:, B_START]
        rows = rows[np.argsort(length, kind="stable")]
        batches = [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]
        for index in rng.permutation(len(batches)):
            yield batches[index]


def masking_rule(
    tokenizer: Tokenizer,
    probability: float = 0.15,
    whole_word: bool = False,
    spans: bool = False,
    *,
    mask_share: float = 0.8,
    random_share: float = 0.1,
) -> MaskingRule:
    """The paper's rule for a tokenizer's vocabulary."""
    return MaskingRule(
        mask_id=tokenizer.mask_id,
        vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids,
        probability=probability,
        mask_share=mask_share,
        random_share=random_share,
        whole_word=whole_word,
        spans=spans,
        continuation=tokenizer.continuation,
    )
