"""What holds of one prediction, measured by every method at once, and the same with random weights as the control."""

import contextlib
from dataclasses import dataclass

import numpy as np

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.causes.attribution import Attribution, attribute
from bertviz_lab.interpret.causes.decomposition import LogitDecomposition, decompose_logit
from bertviz_lab.interpret.causes.patching import ActivationPatching, patch_activations
from bertviz_lab.interpret.comparison import untrained
from bertviz_lab.interpret.corpora.corpus_index import CorpusIndex
from bertviz_lab.interpret.corpora.corpus_search import HeadSearch, find_heads, head_roles
from bertviz_lab.interpret.corpora.tuned_lens import TunedLens
from bertviz_lab.interpret.inputs import OnProgress, nothing
from bertviz_lab.interpret.layers import LogitLens, logit_lens
from bertviz_lab.interpret.targets import Target, class_scores, inputs_and_target
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True)
class Sizes:
    """The largest effects of a model on one prediction, in nats: what random weights reach too is no finding."""

    token: float  # of hiding one token (occlusion)
    change: float  # of replacing one token by the substitute that changes the score most
    component: float  # of one embedding, head or feed-forward layer, added to the logit


@dataclass(frozen=True, eq=False)
class Findings:
    """The results of all methods on one prediction."""

    target: Target
    score: float  # the probability of the target's class, or the number of a regression
    classes: int
    lens: LogitLens | None  # of a token
    occlusion: Attribution
    gradients: Attribution  # integrated gradients
    patching: ActivationPatching
    parts: LogitDecomposition | None  # None for a classifier that reads the mean of all tokens
    sizes: Sizes
    random: Sizes  # of the same architecture with random weights
    index: CorpusIndex | None
    role: str  # on the corpus, of the head with the largest effect when it is patched; "" without one
    search: (
        HeadSearch | None
    )  # heads that link the prediction to the changed token; None where no corpus has such pairs

    @property
    def head(self) -> tuple[int, int]:
        """Layer and number of the head whose patch has the largest effect."""
        return self.patching.strongest_head


def measure_findings(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    target: Target | None = None,
    patching: ActivationPatching | None = None,
    index: CorpusIndex | None = None,
    tuned: TunedLens | None = None,
    on_progress: OnProgress = nothing,
) -> Findings:
    """Explain one prediction by attribution, patching, decomposition, the logit lens and, with an `index`, the corpus.

    With `tuned` the lens is that one. `patching` may be what `patch_activations` returned for the target.

    Raises `InputError` as these methods do.
    """
    inputs, target = inputs_and_target(checkpoint, text_a, text_b, target)
    patching = patching or patch_activations(checkpoint, text_a, text_b, target=target)
    on_progress(0.3)
    gradients = attribute(checkpoint, text_a, text_b, target=target)
    sizes, occlusion, parts = _sizes(checkpoint, text_a, text_b, target, patching)
    on_progress(0.5)
    control = untrained(checkpoint)
    random, _, _ = _sizes(control, text_a, text_b, target, patch_activations(control, text_a, text_b, target=target))
    on_progress(0.8)
    scores = class_scores(checkpoint, inputs, target)
    layer, head = patching.strongest_head
    search = None
    if index is not None:
        with contextlib.suppress(InputError):  # no such pair in the corpus
            search = find_heads(
                checkpoint, index, text_a, text_b, query=target.position, key=patching.corruption.positions[0]
            )
    on_progress(1.0)
    return Findings(
        target,
        float(scores[target.index]),
        len(scores),
        logit_lens(checkpoint, text_a, text_b, target=target, tuned=tuned) if target.kind == "token" else None,
        occlusion,
        gradients,
        patching,
        parts,
        sizes,
        random,
        index,
        head_roles(index)[layer][head] if index else "",
        search,
    )


def _sizes(
    checkpoint: Checkpoint, text_a: str, text_b: str | None, target: Target, patching: ActivationPatching
) -> tuple[Sizes, Attribution, LogitDecomposition | None]:
    occlusion = attribute(checkpoint, text_a, text_b, method="occlusion", target=target)
    parts = None if target.reads_all else decompose_logit(checkpoint, text_a, text_b, target=target)
    added = [0.0] if parts is None else [*parts.embeddings.values(), *parts.heads.ravel(), *parts.feed_forward]
    largest = max(map(abs, added))
    return Sizes(float(np.abs(occlusion.scores).max()), abs(patching.total), float(largest)), occlusion, parts
