"""Pseudo-log-likelihood (Salazar et al. 2020) of each token of a text, and of the two sentences of minimal pairs."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.data.probes import PROBES, MinimalPair, Probes, probes_that_fit
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import OnProgress, analysis, check_passes, encode_inputs, nothing, variants_per_batch
from bertviz_lab.interpret.predictions import Candidate, candidates_of
from bertviz_lab.interpret.targets import final_vectors, head_scores, require_head
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.loop.hardware import choose_hardware
from bertviz_lab.training.pretraining.probe_scorer import PairScore, ProbeScorer, probe_accuracy


@dataclass(frozen=True, eq=False)
class PseudoLogLikelihood:
    """The log-probability of each token of a text given all others.

    `log_probabilities` (tokens,) are in nats, NaN at special tokens and where the text itself has [MASK];
    `expected` has the most probable token at each position, None where there is no score.
    """

    encoding: Encoding
    log_probabilities: NDArray[np.float64]
    expected: tuple[Candidate | None, ...]

    @property
    def total(self) -> float:
        """The pseudo-log-likelihood of the text, in nats (Salazar et al. 2020)."""
        return float(np.nansum(self.log_probabilities))

    @property
    def perplexity(self) -> float:
        """Pseudo-perplexity: the number of equally likely tokens with the same uncertainty per position."""
        return float(np.exp(-np.nanmean(self.log_probabilities)))


@analysis
def pseudo_log_likelihood(
    checkpoint: Checkpoint, text_a: str, text_b: str | None = None, *, on_progress: OnProgress = nothing
) -> PseudoLogLikelihood:
    """Mask each token in turn and take the log-probability of the original.

    The later pieces of a word are masked together with the one that is scored, because they would reveal it (Kauf and
    Ivanova 2023). A [MASK] in the text remains masked and is not scored. Raises `InputError` when there is no text or
    nothing but [MASK] in it, or the model has no masked-LM head.
    """
    require_head(checkpoint, "token")
    inputs = encode_inputs(checkpoint, text_a, text_b)
    encoding, tokenizer = inputs.encoding, checkpoint.tokenizer
    positions = encoding.unmasked_positions(tokenizer.mask_id)
    if not positions:
        raise InputError("Every token of this text is masked: leave at least one word unmasked.")
    check_passes(checkpoint, len(encoding), len(positions), "Surprisal")
    scores = np.full(len(encoding), np.nan)
    expected: list[Candidate | None] = [None] * len(encoding)
    batch_size = variants_per_batch(len(encoding))
    for start in range(0, len(positions), batch_size):
        batch = positions[start : start + batch_size]
        ids_BL = inputs.input_ids.repeat(len(batch), 1)
        for row, position in enumerate(batch):
            ids_BL[row, [at for at in encoding.word_at(position) if at >= position]] = tokenizer.mask_id
        vectors = final_vectors(checkpoint, torch.tensor(batch), inputs.variants(ids_BL))
        probabilities = head_scores(checkpoint, "token", vectors)
        for position, row in zip(batch, probabilities, strict=True):
            scores[position] = float(row[encoding.ids[position]].log())
            (expected[position],) = candidates_of(tokenizer, row, 1)
        on_progress(min(1.0, (start + batch_size) / len(positions)))
    return PseudoLogLikelihood(encoding, scores, tuple(expected))


AUTO = "auto"


@dataclass(frozen=True)
class ProbeReport:
    """The results of a model on a set of probes.

    `right` has kind -> accuracy on its pairs, where 0.5 is chance; `kinds` has kind -> the name of the phenomenon;
    `scores` has every pair with the log-probabilities, in nats, of both its texts.
    """

    probes: Probes
    right: Mapping[str, float]
    scores: tuple[PairScore, ...]

    @property
    def kinds(self) -> Mapping[str, str]:
        return {kind: self.probes.kinds[kind] for kind in self.right}


def probe(checkpoint: Checkpoint, name: str = AUTO) -> ProbeReport:
    """Evaluate a model on one of the sets in `data.probes.PROBES`; "auto" takes the one that fits its vocabulary best.

    Pairs whose differing words are not single tokens are left out, as are those for the next-sentence head where there
    is none. Raises `InputError` when no set fits, or the model has no masked-LM head.
    """
    model = require_head(checkpoint, "token")
    if name not in (AUTO, *PROBES):
        raise InputError(f"There are no probes {name!r}; there are {', '.join(PROBES)}.")
    names = PROBES if name == AUTO else (name,)
    fitting = [probes for each in names if (probes := probes_that_fit(each, checkpoint.tokenizer))]
    if not fitting:
        lacks = f"{checkpoint.name or 'This model'} has too few"
        if name == AUTO:
            raise InputError(f"{lacks} words of any of the probes, which are English, in its vocabulary.")
        raise InputError(
            f"{lacks} of the words of the {PROBES[name].title} probes in its vocabulary: choose other probes, or "
            "another model."
        )
    probes = max(fitting, key=lambda probes: len(probes.pairs) / len(PROBES[probes.name].pairs))
    scores = ProbeScorer(probes, checkpoint.tokenizer, checkpoint.max_length).score(model)
    return ProbeReport(probes, probe_accuracy(scores), scores)


#: Pairs whose masked copies are in memory at a time: enough that most batches of one length are full.
_PAIRS_AT_ONCE = 500
#: Smallest difference of two sentences, in nats, that 16 bits resolve: twice the largest error that was measured
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
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the accuracy (Wilson 1927): what so few pairs leave open."""
        z, pairs, share = 1.959964, len(self.scores), self.accuracy
        center = share + z**2 / (2 * pairs)
        margin = z * math.sqrt(share * (1 - share) / pairs + (z / (2 * pairs)) ** 2)
        scale = 1 + z**2 / pairs
        return (center - margin) / scale, (center + margin) / scale

    @property
    def by_phenomenon(self) -> Mapping[str, float]:
        """Phenomenon -> accuracy on its pairs."""
        return probe_accuracy(self.scores)

    @property
    def counts(self) -> Mapping[str, int]:
        """Phenomenon -> the number of its pairs."""
        return Counter(score.pair.kind for score in self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Return what `evaluate --json` prints."""
        counts = self.counts
        phenomena = {name: {"accuracy": share, "pairs": counts[name]} for name, share in self.by_phenomenon.items()}
        overall = {"accuracy": self.accuracy, "interval": list(self.interval), "pairs": len(self.scores)}
        return overall | {"phenomena": phenomena}


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
    hardware = choose_hardware(precision, threads)
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
