"""A model on a file of minimal pairs: the share of which it prefers the acceptable sentence, per phenomenon.

BLiMP (Warstadt et al. 2020) as Salazar et al. 2020 score masked language models: a sentence's score is its
pseudo-log-likelihood, with one token masked at a time. In 16 bits, where that is faster, a pair whose sentences score
nearly the same is scored again in 32 bits, so that rounding decides nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertviz_lab.data.probes import MinimalPair, Probes
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.targets import require_head
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.loop.hardware import choose_hardware
from bertviz_lab.training.pretraining.probe_scorer import PairScore, ProbeScorer, probe_accuracy

#: Pairs whose masked copies are in memory at a time: enough that most batches of one length are full.
_PAIRS_AT_ONCE = 500
#: Nats between two sentences from which on 16 bits tell which is likelier: twice the largest error that was measured
#: (0.22 nats on 150 pairs of sentences of 13 tokens).
_CLEAR = 0.5


@dataclass(frozen=True)
class MinimalPairReport:
    """The results of a model on a file of minimal pairs: `scores` has every pair, in the file's order."""

    scores: tuple[PairScore, ...]

    @property
    def accuracy(self) -> float:
        """Over all pairs; 0.5 is chance."""
        return sum(score.right for score in self.scores) / len(self.scores)

    @property
    def by_phenomenon(self) -> Mapping[str, float]:
        """Phenomenon -> accuracy on its pairs."""
        return probe_accuracy(self.scores)

    @property
    def counts(self) -> Mapping[str, int]:
        """Phenomenon -> the number of its pairs."""
        return Counter(score.pair.kind for score in self.scores)

    def to_dict(self) -> dict[str, Any]:
        """What `evaluate --json` prints."""
        counts = self.counts
        phenomena = {name: {"accuracy": share, "pairs": counts[name]} for name, share in self.by_phenomenon.items()}
        return {"accuracy": self.accuracy, "pairs": len(self.scores), "phenomena": phenomena}


def score_minimal_pairs(
    checkpoint: Checkpoint,
    pairs: Sequence[MinimalPair],
    *,
    max_length: int | None = None,
    precision: str = "auto",
    threads: int = 0,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> MinimalPairReport:
    """Score both sentences of every pair, on the GPU if there is one; equal scores count half.

    `precision` is that of training, "auto" the fastest; with "fp32" all scores are exact. `on_progress` gets the pairs
    that are done, and all. Sets the number of threads of this process: 0 are as many as there are cores. Raises
    `InputError` when the model has no masked-LM head, and without pairs.
    """
    if not pairs:
        raise InputError("There are no minimal pairs to score.")
    hardware = choose_hardware(precision, checkpoint.config, threads)
    model = hardware.borrow(require_head(checkpoint, "token"))
    length = min(max_length or checkpoint.max_length, checkpoint.max_length)

    def score(part: Sequence[MinimalPair]) -> tuple[PairScore, ...]:
        probes = Probes("minimal-pairs", "Minimal pairs", {}, lambda: tuple(part))
        return ProbeScorer(probes, checkpoint.tokenizer, length, mask_rest_of_word=False).score(model)

    scores: list[PairScore] = []
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        with hardware.autocast():
            part = score(pairs[start : start + _PAIRS_AT_ONCE])
        if hardware.precision != "fp32":
            again = iter(score([each.pair for each in part if _is_close(each)]))
            part = tuple(next(again) if _is_close(each) else each for each in part)
        scores += part
        on_progress(len(scores), len(pairs))
    return MinimalPairReport(tuple(scores))


def _is_close(score: PairScore) -> bool:
    return abs(score.good - score.bad) < _CLEAR
