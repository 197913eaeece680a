"""Probing classifiers: which labels of words a linear classifier can read off the hidden states of each layer.

A probe may find what the model computes, or learn the task by itself: with enough dimensions it can memorize a label
for every word. A control task measures that (Hewitt and Liang 2019, "Designing and Interpreting Probes with Control
Tasks"): every word type has one label, drawn at random. Selectivity is the accuracy minus that on the control task.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.data.probes.probing_tasks import MASK, LabeledSentence
from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import OnProgress, check_passes, nothing, part_of, states_at
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

_MOST_WORDS = 3000  # that probes are trained and tested on
_TESTED = 4  # one in so many sentences
_LEAST = 20  # words to train on, and to test on
_ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class LayerProbes:
    """Accuracies of linear probes on held-out sentences, (layers + 1,), the embeddings first."""

    labels: tuple[str, ...]
    accuracy: NDArray[np.float64]
    control: NDArray[np.float64]  # on the control task
    majority: float  # the share of the most frequent label
    by_type: float  # of naming the label that a word type has most often in training
    trained: int  # words
    tested: int

    @property
    def selectivity(self) -> NDArray[np.float64]:
        """Accuracy minus accuracy on the control task, (layers + 1,)."""
        return self.accuracy - self.control


def probe_layers(
    checkpoint: Checkpoint,
    sentences: Sequence[LabeledSentence],
    *,
    most_words: int = _MOST_WORDS,
    seed: int = 0,
    on_progress: OnProgress = nothing,
) -> LayerProbes:
    """Train a linear probe on each layer's hidden states at the labeled words, and another on a control task.

    A word is read at its first token. One sentence in four is tested on, the same ones for every model. Raises
    `InputError` where there are too few words or a single label, or more than a question may take.
    """
    rng = np.random.default_rng(seed)
    order = [sentences[at] for at in rng.permutation(len(sentences))]
    groups = [sentence for place, sentence in enumerate(order) if place % _TESTED], order[::_TESTED]
    training, testing = (
        _up_to(group, most_words * part // _TESTED) for group, part in zip(groups, (3, 1), strict=True)
    )
    (labels, types), (held_out, held_out_types) = _words(training), _words(testing)
    if min(len(labels), len(held_out)) < _LEAST or len({*labels}) < 2:
        raise InputError(f"Probes need at least two labels, and {_LEAST} words to train on and as many to test on.")
    names = tuple(sorted({*labels}))
    drawn: defaultdict[str, str] = defaultdict(lambda: labels[int(rng.integers(len(labels)))])
    control, held_out_control = ([drawn[kind] for kind in kinds] for kinds in (types, held_out_types))
    encoded = [_encode(checkpoint.tokenizer, each, checkpoint.max_length) for each in (*training, *testing)]
    rows, places = zip(*encoded, strict=True)
    check_passes(checkpoint, max(map(len, rows)), len(rows), "Probing")
    states = states_at(checkpoint, rows, places, part_of(on_progress, 0.0, 0.4))
    accuracies = np.zeros((2, len(states)))
    for layer, states_ND in enumerate(map(Tensor.numpy, states)):
        for row, (known, wanted) in enumerate(((labels, held_out), (control, held_out_control))):
            accuracies[row, layer] = _probe(states_ND[: len(labels)], known, states_ND[len(labels) :], wanted)
        on_progress(0.4 + 0.6 * (layer + 1) / len(states))
    most_frequent = Counter(labels).most_common(1)[0][0]
    of_type: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind, label in zip(types, labels, strict=True):
        of_type[kind][label] += 1
    guesses = [of_type[kind].most_common(1)[0][0] if kind in of_type else most_frequent for kind in held_out_types]
    return LayerProbes(
        names,
        accuracy=accuracies[0],
        control=accuracies[1],
        majority=float(np.mean([label == most_frequent for label in held_out])),
        by_type=float(np.mean([label == guess for label, guess in zip(held_out, guesses, strict=True)])),
        trained=len(labels),
        tested=len(held_out),
    )


def probe_snapshots(
    open_snapshot: Callable[[int], Checkpoint],
    steps: Sequence[int],
    sentences: Sequence[LabeledSentence],
    *,
    most_words: int = _MOST_WORDS // 3,
    on_progress: OnProgress = nothing,
) -> tuple[LayerProbes, ...]:
    """Return the probes of each snapshot of a training run, trained on the same words. Raises as `probe_layers`."""
    return tuple(
        probe_layers(
            open_snapshot(step),
            sentences,
            most_words=most_words,
            on_progress=part_of(on_progress, at / len(steps), 1 / len(steps)),
        )
        for at, step in enumerate(steps)
    )


def _probe(
    states_ND: NDArray[np.float32], labels: Sequence[str], held_out_ND: NDArray[np.float32], wanted: Sequence[str]
) -> float:
    """Return the accuracy of a logistic regression on standardized states; a single label is always right or wrong."""
    from sklearn.linear_model import LogisticRegression  # imported here: it takes a second
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if len({*labels}) < 2:
        return float(np.mean([label == labels[0] for label in wanted]))
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=_ITERATIONS, tol=1e-3))
    return float(probe.fit(states_ND, labels).score(held_out_ND, wanted))


def _up_to(sentences: Sequence[LabeledSentence], most: int) -> list[LabeledSentence]:
    """Return the first sentences with at most so many labeled words together, one at least."""
    counts = np.cumsum([sum(label is not None for label in sentence.labels) for sentence in sentences])
    return [*sentences[: max(1, int(np.searchsorted(counts, most, side="right")))]]


def _words(sentences: Sequence[LabeledSentence]) -> tuple[list[str], list[str]]:
    """Return the labels and the types of all labeled words."""
    pairs = [
        (label, kind)
        for sentence in sentences
        for label, kind in zip(sentence.labels, sentence.types, strict=True)
        if label is not None
    ]
    return [label for label, _ in pairs], [kind for _, kind in pairs]


def _encode(tokenizer: Tokenizer, sentence: LabeledSentence, longest: int) -> tuple[list[int], list[int]]:
    """Return the ids of a sentence, and the places of its labeled words; of a word cut off that of the last token."""
    pieces = tokenizer.ids_of_words(sentence.words, MASK)
    firsts = 1 + np.cumsum([0, *map(len, pieces[:-1])])
    ids = [tokenizer.cls_id, *(token for piece in pieces for token in piece)][: longest - 1]
    places = [int(first) for first, label in zip(firsts, sentence.labels, strict=True) if label is not None]
    return [*ids, tokenizer.sep_id], [min(place, len(ids)) for place in places]
