"""From tables of examples to padded batches of tensors, masked again at every visit."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.batches import Batch, batches_by_length, padded_width
from bertviz_lab.data.pretraining.masking import MaskingRule, mask_batch
from bertviz_lab.data.pretraining.sentence_pairs import A_END, A_START, B_END, B_START, LABEL, Examples, plan_epoch
from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView
from bertviz_lab.tokenization import Tokenizer

#: In the causal-LM warm-up one batch in so many is masked all the same: the MLM and NSP curves are there from the first
#: second, at no cost to what is learned.
MASKED_EVERY = 8


@dataclass(frozen=True, kw_only=True)
class PretrainingBatch(Batch):
    """One step's examples. Counts are those of the whole step in a micro-batch too: what sums of losses are over."""

    masked_positions: Tensor  # (batch, predictions)
    labels: Tensor  # (batch, predictions), -100 in unused places
    draws: Tensor  # (batch, predictions), from 0 to 1: by which a generator's replacements are sampled
    next_sentence_label: Tensor | None  # (batch,), 0 is next or in order, 1 is random or swapped
    label_count: int  # labels that are not -100
    pair_count: int  # examples with a label of their pair
    token_count: int  # tokens that are not padding
    causal: bool = False  # nothing is masked: every position is predicted, `labels` are the tokens that follow


@dataclass(frozen=True)
class PretrainingData:
    """How a part of a corpus becomes batches; each depends on `seed`, its epoch and its number alone.

    With `repeat_after` the passes repeat after that many, examples and masks alike: static masking, as in Google's
    code, which writes ten versions of the corpus to disk (`dupe_factor`). None masks again in every pass.
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
    balanced: bool = False  # as many true as random next sentences, see `plan_epoch`
    single_share: float = 0.0  # of the examples, which are one text without a second

    def random(self, epoch: int, stream: int) -> np.random.Generator:
        """Random numbers of a pass: stream 0 plans it, stream n + 1 masks its batch n."""
        version = epoch % self.repeat_after if self.repeat_after else epoch
        return np.random.default_rng((self.seed, version, stream))

    def epoch(self, number: int) -> Iterator[Examples]:
        """Yield the examples of each batch of one pass, (batch, 5), in order."""
        rng = self.random(number, 0)
        how = (self.seq_len, self.short_seq_probability, self.pairs, self.balanced, self.single_share)
        for table in plan_epoch(self.documents, rng, *how):
            lengths = table[:, A_END] - table[:, A_START] + table[:, B_END] - table[:, B_START]
            labels = table[:, LABEL] if self.balanced else None
            for rows in batches_by_length(lengths, self.batch_size, rng, labels):
                yield table[rows]

    def pair_labels(self, most: int) -> NDArray[np.int64]:
        """Return labels of the pairs of the first pass: of its first batches, until there are `most`."""
        labels: list[int] = []
        for rows in self.epoch(0):
            labels += rows[rows[:, LABEL] != IGNORE_INDEX, LABEL].tolist()
            if len(labels) >= most:
                break
        return np.array(labels, dtype=np.int64)

    def batch_at(self, rows: Examples, epoch: int, number: int) -> PretrainingBatch:
        """Return the batch of these examples at its place: masked, or for next-token prediction."""
        if self.causal and number % MASKED_EVERY != 0:
            return self.causal_batch(rows)
        return self.batch(rows, self.random(epoch, 1 + number))

    def batch(self, rows: Examples, rng: np.random.Generator) -> PretrainingBatch:
        """Write out and mask some examples (batch, 5)."""
        ids, lengths, inputs = self._write_out(rows)
        masked = mask_batch(ids, lengths, self.rule, rng)
        return PretrainingBatch(
            **inputs,
            input_ids=torch.from_numpy(masked.input_ids),
            masked_positions=torch.from_numpy(masked.positions),
            labels=torch.from_numpy(masked.labels),
            draws=torch.from_numpy(rng.random(masked.labels.shape, dtype=np.float32)),
            next_sentence_label=torch.from_numpy(rows[:, LABEL].copy()) if self.pairs else None,
            label_count=int((masked.labels != IGNORE_INDEX).sum()),
            pair_count=int((rows[:, LABEL] != IGNORE_INDEX).sum()),
        )

    def causal_batch(self, rows: Examples) -> PretrainingBatch:
        """Write out some examples (batch, 5) for next-token prediction, as in GPT, but never of special tokens."""
        ids, _, inputs = self._write_out(rows)
        labels = np.where(np.isin(ids[:, 1:], list(self.rule.special_ids)), IGNORE_INDEX, ids[:, 1:])
        return PretrainingBatch(
            **inputs,
            input_ids=torch.from_numpy(ids),
            masked_positions=torch.arange(ids.shape[1] - 1).repeat(len(ids), 1),  # rows of their own, to be pinned
            labels=torch.from_numpy(labels),
            draws=torch.empty(len(ids), 0),
            next_sentence_label=None,
            label_count=int((labels != IGNORE_INDEX).sum()),
            pair_count=0,
            causal=True,
        )

    def _write_out(self, rows: Examples) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, Any]]:
        """Write out [CLS] A [SEP] B [SEP], or [CLS] A [SEP].

        Returns ids (batch, tokens), lengths (batch,), and what every batch has of them besides.
        """
        a_length = rows[:, A_END] - rows[:, A_START]
        b_length = rows[:, B_END] - rows[:, B_START]
        lengths = a_length + b_length + np.where(b_length > 0, 3, 2)
        # Masks are drawn for each place, padding included: with another multiple a seed would give other masks.
        width = min(padded_width(lengths, 8), max(self.seq_len, int(lengths.max())))
        columns = np.arange(width)[None]  # (1, tokens)
        a_end, b_end = (1 + a_length)[:, None], (2 + a_length + b_length)[:, None]
        in_a = (columns > 0) & (columns < a_end)
        in_b = (columns > a_end) & (columns < b_end)
        offset = np.where(in_a, rows[:, A_START, None] + columns - 1, 0)
        offset = np.where(in_b, rows[:, B_START, None] + columns - a_end - 1, offset)
        ids = self.documents.corpus.ids[offset].astype(np.int64)
        sep = (columns == a_end) | ((columns == b_end) & (b_length > 0)[:, None])
        ids = np.where(in_a | in_b, ids, np.where(sep, self.tokenizer.sep_id, self.tokenizer.pad_id))
        ids[:, 0] = self.tokenizer.cls_id
        segments = ((columns > a_end) & (columns < lengths[:, None])).astype(np.int64)
        real, count = columns < lengths[:, None], int(lengths.sum())
        mask = None if real.all() else torch.from_numpy(real)
        inputs = {"token_type_ids": torch.from_numpy(segments), "attention_mask": mask}
        return ids, lengths, inputs | {"real_tokens": count, "token_count": count}


def masking_rule(
    tokenizer: Tokenizer, probability: float = 0.15, whole_word: bool = False, spans: bool = False, **more: float
) -> MaskingRule:
    """Return the paper's rule for a tokenizer's vocabulary; `more`: the other fields of `MaskingRule`."""
    how: dict[str, Any] = {"whole_word": whole_word, "spans": spans, "continuation": tokenizer.continuation, **more}
    return MaskingRule(tokenizer.mask_id, tokenizer.vocab_size, tokenizer.special_ids, probability, **how)
