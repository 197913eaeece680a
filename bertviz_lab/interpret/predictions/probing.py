"""Minimal-pair probes: a model passes a pair if it gives the good sentence a higher probability than the bad one."""

from collections.abc import Mapping
from dataclasses import dataclass

from bertviz_lab.data.probes import PROBES, Probes, probes_that_fit
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.targets import require_head
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.pretraining.probe_scorer import PairScore, ProbeScorer, probe_accuracy

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
    probes = _best_fitting(checkpoint) if name == AUTO else _named(checkpoint, name)
    scores = ProbeScorer(probes, checkpoint.tokenizer, checkpoint.max_length).score(model)
    return ProbeReport(probes, probe_accuracy(scores), scores)


def _named(checkpoint: Checkpoint, name: str) -> Probes:
    if name not in PROBES:
        raise InputError(f"There are no probes {name!r}; there are {', '.join(PROBES)}.")
    probes = probes_that_fit(name, checkpoint.tokenizer)
    if probes is None:
        raise InputError(
            f"{checkpoint.name or 'This model'} has too few of the words of the {PROBES[name].title} probes in its "
            "vocabulary: choose other probes, or another model."
        )
    return probes


def _best_fitting(checkpoint: Checkpoint) -> Probes:
    """The set with the largest share of pairs that fit the vocabulary."""
    fitting = [probes for name in PROBES if (probes := probes_that_fit(name, checkpoint.tokenizer))]
    if not fitting:
        raise InputError(
            f"{checkpoint.name or 'This model'} knows too few words of any probes, which are English: there is nothing "
            "to ask it."
        )
    return max(fitting, key=lambda probes: len(probes.pairs) / len(PROBES[probes.name].pairs))
