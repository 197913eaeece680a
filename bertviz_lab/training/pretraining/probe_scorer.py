"""Minimal-pair probes, scored while a model trains: which of two sentences it finds likelier.

A sentence's score is its pseudo-log-likelihood (Salazar et al. 2020): each token is masked in turn, for probes with the
later pieces of its word (Kauf and Ivanova 2023), and predicted; here for hundreds of sentences at once. What happens
next in a story is scored by the next-sentence head.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from bertviz_lab.data.batches import same_length
from bertviz_lab.data.probes import Probes
from bertviz_lab.data.probes.minimal_pairs import MinimalPair
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.model.heads import token_logits
from bertviz_lab.tokenization import Encoding, Tokenizer
from bertviz_lab.training.loop.evaluation import evaluating

_TOKENS_AT_ONCE = 8192
_TIE = 1e-4  # nats: scores nearer than this differ by rounding alone
_IS_NEXT = 0  # class of the next-sentence head


@dataclass(frozen=True)
class PairScore:
    """The log-probabilities, in nats, that a model gives the two texts of a pair."""

    pair: MinimalPair
    good: float
    bad: float

    @property
    def right(self) -> float:
        """1 where the good one is likelier, 0 where the bad one is, 0.5 where neither is or there is no number."""
        gap = self.good - self.bad
        return 1.0 if gap > _TIE else 0.0 if gap < -_TIE else 0.5


@dataclass(frozen=True)
class _Row:
    """One input with one question: the token at `position`, or for a pair of texts at 0 whether B follows A."""

    text: int  # its place among all texts: those of pair n are 2n, the good one, and 2n + 1
    ids: Sequence[int]
    segments: Sequence[int]
    position: int
    answer: int


@dataclass(frozen=True)
class ProbeScorer:
    """Probes as inputs of a model: encoded once, scored again and again, truncated to `max_length` tokens.

    With a token the later pieces of its word are masked, which would reveal it, unless `mask_rest_of_word` is False.
    """

    probes: Probes
    tokenizer: Tokenizer
    max_length: int = 512
    mask_rest_of_word: bool = True

    @cached_property
    def _masked_sentences(self) -> list[list[_Row]]:
        """Every sentence with each of its tokens masked."""
        return _batches(row for text, encoding in self._encodings(False) for row in self._rows(text, encoding))

    @cached_property
    def _next(self) -> list[list[_Row]]:
        """Every pair of texts with the question whether B follows A."""
        return _batches(_Row(text, e.ids, e.token_type_ids, 0, _IS_NEXT) for text, e in self._encodings(True))

    def _encodings(self, of_pairs: bool) -> Iterator[tuple[int, Encoding]]:
        """Yield the texts of the pairs that are questions about two texts, or of the others, with their places."""
        for index, pair in enumerate(self.probes.pairs):
            for offset, sentence in enumerate((pair.good, pair.bad)):
                if (pair.position is None) == of_pairs:
                    texts = (pair.context, sentence) if of_pairs else (text_of(pair, sentence), None)
                    yield 2 * index + offset, self.tokenizer.encode(*texts, max_length=self.max_length)

    def _rows(self, text: int, encoding: Encoding) -> Iterator[_Row]:
        for word in encoding.words:
            for position in word:
                ids = list(encoding.ids)
                for masked in range(position, word[-1] + 1 if self.mask_rest_of_word else position + 1):
                    ids[masked] = self.tokenizer.mask_id
                yield _Row(text, ids, encoding.token_type_ids, position, encoding.ids[position])

    @torch.inference_mode()
    def score(self, model: nn.Module) -> tuple[PairScore, ...]:
        """Return the scores of every pair that the model has a head for, in their order.

        The model is scored on its own device, in fp32 unless autocast is on, without dropout, and left in its mode;
        nothing is random.
        """
        sums = torch.zeros(2 * len(self.probes.pairs), dtype=torch.float64)
        reads_words = isinstance(model, (BertForPreTraining, BertForMaskedLM))
        reads_pairs = isinstance(model, BertForPreTraining) and model.config.has_segments and model.config.has_nsp
        with evaluating(model):
            for has_head, of_pairs in ((reads_words, False), (reads_pairs, True)):
                for rows in (self._next if of_pairs else self._masked_sentences) if has_head else ():
                    texts = torch.tensor([row.text for row in rows])
                    sums.index_add_(0, texts, _log_probabilities(model, rows, of_pairs))
        return tuple(
            PairScore(pair, *sums[2 * index : 2 * index + 2].tolist())
            for index, pair in enumerate(self.probes.pairs)
            if (reads_pairs if pair.position is None else reads_words)
        )


def text_of(pair: MinimalPair, sentence: str) -> str:
    """Return one of a pair's sentences as it is read: after what was said before it."""
    return f"{pair.context} {sentence}".strip()


def probe_accuracy(scores: Iterable[PairScore]) -> dict[str, float]:
    """For each kind the share of its pairs of which the good one is likelier; 0.5 is guessing."""
    kinds: dict[str, list[float]] = defaultdict(list)
    for score in scores:
        kinds[score.pair.kind].append(score.right)
    return {kind: sum(values) / len(values) for kind, values in kinds.items()}


def _batches(rows: Iterable[_Row]) -> list[list[_Row]]:
    """Return rows in batches of one length, so that nothing is padded."""
    listed = list(rows)
    batches = same_length([len(row.ids) for row in listed], _TOKENS_AT_ONCE)
    return [[listed[place] for place in batch] for batch in batches]


def _log_probabilities(model: nn.Module, rows: Sequence[_Row], of_pairs: bool) -> Tensor:
    """Return the answers' log-probabilities, in nats, (rows,), on the CPU in 64 bits."""
    device = next(model.parameters()).device
    names = ("ids", "segments", "position", "answer")
    ids, segments, positions, answers = (torch.tensor([getattr(r, n) for r in rows], device=device) for n in names)
    out = model(ids, None, segments, masked_positions=positions[:, None])
    logits = out.seq_relationship_logits if of_pairs else token_logits(out)[:, 0]
    return logits.float().log_softmax(-1).gather(1, answers[:, None])[:, 0].double().cpu()
