"""Label check: training examples whose labels the evidence doubts, near-duplicates, and leakage between splits.

Three kinds of evidence, from what has not seen the label of an example when it judges it, or hardly:

- Logistic regression on tokens and pairs of tokens (TF-IDF), trained on the other folds.
- The labels of similar texts in the other folds, each with the cube of its cosine as weight.
- Training dynamics: the mean probabilities of the fine-tuned model over the epochs (Swayamdipta et al. 2020). A wrong
  label is learned late, because the other examples speak against it.

Their geometric mean ranks the examples, and confident learning (Northcutt et al. 2021) counts wrong labels. A text with
one label is one decision among the classes (D = 1); of several labels each is a decision of its own, which is 0 or 1.
Shapes: N examples, D decisions, C classes.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from bertviz_lab.data.examples import Example, Label, LabelledText
from bertviz_lab.data.tasks.batches import multi_hot
from bertviz_lab.data.tasks.near_duplicates import near_duplicates
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.finetuning.example_dynamics import DYNAMICS_FILE, DataMap
from bertviz_lab.training.finetuning.task_data import read_task_splits
from bertviz_lab.training.finetuning.tasks import TASKS

Shares = NDArray[np.floating]
SPLITS = ("training", "held-out", "test")

_FILE = "label_check.json"
_FOLDS = 20  # each model sees nearly all other labels
_INVERSE_STRENGTH = 3.0  # of the regularization of the logistic regression
_TOLERANCE = 1e-3  # of its gradient: closer fits rank no better and take four times as long
_FEW = 100  # texts
_PRIOR = 0.1  # weight of the shares of the classes among the votes of similar texts
_MOST_COSINES = 10_000_000  # in memory at a time
_LEAST = 1e-3  # probability: no evidence is taken for certain
_MOST_LISTED = 1000  # doubts, conflicts and leaks that are kept
_MOST_PLACES = 6  # of nearly the same examples


@dataclass(frozen=True)
class Doubt:
    """A training example whose label the evidence doubts."""

    place: int  # of the example among those that are trained on
    suggested: Label
    given_share: float  # the probability of the given label; of several labels that of the doubted one
    suggested_share: float
    unseen_share: float  # of the suggestion, by a model that was trained on other examples
    right_epochs: int  # in which the given label was predicted


@dataclass(frozen=True)
class Duplicates:
    """Examples that are nearly the same."""

    share: float  # the Jaccard index of their words
    places: tuple[tuple[int, int], ...]  # of the first few: the number of the split, and the place in it


@dataclass(frozen=True)
class LabelCheck:
    """What was found out about the labels of a run's training examples."""

    epochs: int  # that the training dynamics are of
    estimated: int  # number of wrong labels, by confident learning
    doubts: tuple[Doubt, ...]  # the most doubtful first
    conflicts: tuple[Duplicates, ...]  # training examples with different labels
    leaks: tuple[Duplicates, ...]  # examples in several splits
    leaked: int  # held-out and test examples that are nearly the same as one that is trained on


_CHECK = TypeAdapter(LabelCheck)


def check_labels(folder: Path, tokenizer: Tokenizer) -> LabelCheck:
    """Check the labels of a fine-tuning's training examples, and keep the result in its folder.

    Raises `InputError` where the task has no labels to check, or the training dynamics were not recorded.
    """
    splits = read_task_splits(folder)
    if reason := TASKS[splits.task].unchecked:
        raise InputError(f"The labels of this task are not checked. {reason}")
    dynamics, texts = DataMap.read(folder), cast(Sequence[LabelledText], splits.train)
    if isinstance(texts[0].label, tuple):
        targets_ND = multi_hot(texts, splits.labels).astype(np.int64)
        learned_NDC = np.stack([1 - dynamics.probabilities, dynamics.probabilities], axis=-1)
    else:
        index = {label: number for number, label in enumerate(splits.labels)}
        targets_ND = np.array([[index[cast(str, text.label)]] for text in texts])
        learned_NDC = dynamics.probabilities[:, None]
    linear_NDC, near_NDC = out_of_fold(texts, targets_ND, learned_NDC.shape[-1], tokenizer)
    unseen_NDC = geometric_mean(linear_NDC, near_NDC)
    shares_NDC = geometric_mean(linear_NDC, near_NDC, learned_NDC)
    conflicts, leaks, leaked = _duplicates(splits.train, splits.held_out, splits.test)
    doubts = _doubts(texts, splits.labels, targets_ND, shares_NDC, unseen_NDC, dynamics)
    check = LabelCheck(
        epochs=dynamics.epochs,
        estimated=int(suspected(targets_ND, shares_NDC).sum()),
        doubts=tuple(islice(doubts, _MOST_LISTED)),
        conflicts=conflicts,
        leaks=leaks,
        leaked=leaked,
    )
    write_json(folder / _FILE, asdict(check))
    return check


def label_check_of(folder: Path) -> LabelCheck:
    """Return the label check of a run, made the first time. Raises `InputError` as `check_labels`."""
    return read_label_check(folder) or check_labels(folder, Tokenizer.load(folder / "model"))


def read_label_check(folder: Path) -> LabelCheck | None:
    """Return the label check of a run; None where there is none yet, or the run has had a better trial since."""
    try:
        if (folder / _FILE).stat().st_mtime_ns < (folder / DYNAMICS_FILE).stat().st_mtime_ns:
            return None
        return _CHECK.validate_json((folder / _FILE).read_bytes())
    except (OSError, ValueError):
        return None


def out_of_fold(
    texts: Sequence[LabelledText], targets_ND: NDArray[np.integer], classes: int, tokenizer: Tokenizer
) -> tuple[Shares, Shares]:
    """Return probabilities of the classes, (N, D, C), by logistic regression on other texts, and by similar ones.

    The fold of a text depends on its tokens: texts that are the same are in one fold, or a copy would tell the label.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    firsts = tokenizer.ids([text.text_a for text in texts])
    seconds = tokenizer.ids([text.text_b or "" for text in texts])
    rows = [list(map(str, [*a, *(-1 - token for token in b)])) for a, b in zip(firsts, seconds, strict=True)]
    rarest = 2 if len(rows) > _FEW else 1  # what is in one text only links it to no other
    terms = TfidfVectorizer(
        analyzer=lambda row: [*row, *map(" ".join, pairwise(row))], min_df=rarest, sublinear_tf=True
    )
    vectors = terms.fit_transform(rows)
    folds_N = np.array([zlib.crc32(" ".join(row).encode()) % _FOLDS for row in rows])
    linear_NDC, near_NDC = (np.zeros((*targets_ND.shape, classes)) for _ in range(2))
    for fold in np.unique(folds_N):
        known, judged = np.flatnonzero(folds_N != fold), np.flatnonzero(folds_N == fold)
        given_NDC = np.eye(classes)[targets_ND[known]]
        votes = _PRIOR * given_NDC.mean(axis=0) + _votes(vectors[judged], vectors[known], given_NDC)
        near_NDC[judged] = votes / votes.sum(axis=-1, keepdims=True)
        for decision, targets_N in enumerate(targets_ND[known].T):
            present = np.unique(targets_N)
            shares = 1.0
            if len(present) > 1:
                model = LogisticRegression(C=_INVERSE_STRENGTH, tol=_TOLERANCE).fit(vectors[known], targets_N)
                shares = model.predict_proba(vectors[judged])
            linear_NDC[judged[:, None], decision, present] = shares
    return linear_NDC, near_NDC


def _votes(vectors: Any, others: Any, given_NDC: Shares) -> Shares:
    """Return the sum of what was given to other texts, each with the cube of its cosine as weight."""
    size = max(1, _MOST_COSINES // others.shape[0])
    parts = (vectors[start : start + size] @ others.T for start in range(0, vectors.shape[0], size))
    return np.concatenate([np.tensordot(part.toarray() ** 3, given_NDC, axes=1) for part in parts])


def geometric_mean(*several: Shares) -> Shares:
    """Return the geometric mean of probabilities, normalized; none of them is taken for certain."""
    mean = np.exp(np.mean([np.log(np.clip(shares, _LEAST, 1.0)) for shares in several], axis=0))
    return mean / mean.sum(axis=-1, keepdims=True)


def confident_classes(targets_ND: NDArray[np.integer], shares_NDC: Shares) -> NDArray[np.int64]:
    """Return the class that each example confidently belongs to, -1 for none (Northcutt et al. 2021, equation 1).

    Of the classes whose probability reaches its mean over the examples that have the class as their label, it is the
    most probable one.
    """
    counts_DC = (targets_ND[..., None] == np.arange(shares_NDC.shape[-1])).astype(float)
    means_DC = (counts_DC * shares_NDC).sum(0) / counts_DC.sum(0).clip(1e-9)
    means_DC[counts_DC.sum(0) == 0] = np.inf
    above_NDC = shares_NDC >= means_DC - 1e-6
    return np.where(above_NDC.any(-1), np.where(above_NDC, shares_NDC, -1.0).argmax(-1), -1)


def suspected(targets_ND: NDArray[np.integer], shares_NDC: Shares) -> NDArray[np.bool_]:
    """Return whether a label of each example is off the diagonal of the confident joint and not the most probable."""
    confident_ND = confident_classes(targets_ND, shares_NDC)
    wrong_ND = (confident_ND >= 0) & (confident_ND != targets_ND) & (shares_NDC.argmax(-1) != targets_ND)
    return wrong_ND.any(axis=1)


def _doubts(
    texts: Sequence[LabelledText],
    labels: Sequence[str],
    targets_ND: NDArray[np.integer],
    shares_NDC: Shares,
    unseen_NDC: Shares,
    dynamics: DataMap,
) -> Iterator[Doubt]:
    """Yield the examples for which another label is more probable, the most doubtful first.

    A decision is the more doubtful the lower the probability of what was given is.
    """
    given_ND = np.take_along_axis(shares_NDC, targets_ND[..., None], axis=-1)[..., 0]
    for place in np.argsort(given_ND.min(axis=1), kind="stable").tolist():
        decision = given_ND[place].argmin()
        given, shares_C = targets_ND[place, decision], shares_NDC[place, decision]
        better = int(shares_C.argmax())
        if better == given:
            continue
        label: Label = labels[better]
        if isinstance(before := texts[place].label, tuple):
            label = tuple(sorted({*before} ^ {labels[decision]}))
        yield Doubt(
            place,
            label,
            given_share=float(shares_C[given]),
            suggested_share=float(shares_C[better]),
            unseen_share=float(unseen_NDC[place, decision, better]),
            right_epochs=round(dynamics.correctness[place] * dynamics.epochs),
        )


def _duplicates(*splits: Sequence[Example]) -> tuple[tuple[Duplicates, ...], tuple[Duplicates, ...], int]:
    """Return training examples that are nearly the same with different labels, those in several splits, and how many
    held-out and test examples are nearly the same as one that is trained on."""
    owners = [(number, place) for number, split in enumerate(splits) for place in range(len(split))]
    examples = [example for split in splits for example in split]
    conflicts, leaks, leaked = [], [], set[int]()
    for share, places in sorted(near_duplicates(examples), key=lambda alike: (-alike.share, alike.places)):
        trained = [place for place in places if owners[place][0] == 0]
        others = [place for place in places if owners[place][0] > 0]
        labels = {cast(LabelledText, examples[place]).label: place for place in reversed(trained)}
        if len(labels) > 1:
            shown = sorted(dict.fromkeys([*labels.values(), *trained[:_MOST_PLACES]]))[:_MOST_PLACES]
            conflicts.append(Duplicates(share, tuple(owners[place] for place in shown)))
        if trained and others:
            leaked.update(others)
            shown = [*trained[: _MOST_PLACES // 2], *others[: _MOST_PLACES // 2]]
            leaks.append(Duplicates(share, tuple(owners[place] for place in shown)))
    return tuple(conflicts[:_MOST_LISTED]), tuple(leaks[:_MOST_LISTED]), len(leaked)
