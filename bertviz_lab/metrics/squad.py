"""Scores of extractive answers, by the rules of the official SQuAD 2.0 evaluation (Rajpurkar et al. 2018)."""

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Return an answer as it is compared: lower case, without ASCII punctuation and a/an/the, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, golds: str | Sequence[str]) -> float:
    """1 where the prediction is one of the true answers, or the one given as a string; else 0.

    Without true answers the question cannot be answered, and the empty prediction is right. True answers of which
    nothing is left to compare ("the") are set aside first.
    """
    normal = normalize_answer(prediction)
    return float(any(normal == gold for gold in _comparable(golds)))


def answer_f1(prediction: str, golds: str | Sequence[str]) -> float:
    """Return the words that prediction and true answer share, between 0 and 1; that of the best true answer.

    Where either is empty it is 1 if both are, else 0. True answers are set aside as in `exact_match`.
    """
    words = normalize_answer(prediction).split()
    return max(_overlap(words, gold.split()) for gold in _comparable(golds))


def _comparable(golds: str | Sequence[str]) -> list[str]:
    golds = [golds] if isinstance(golds, str) else golds
    return [normal for gold in golds if (normal := normalize_answer(gold))] or [""]


def _overlap(predicted: list[str], gold: list[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    shared = (Counter(predicted) & Counter(gold)).total()
    return 2 * shared / (len(predicted) + len(gold))


@dataclass(frozen=True)
class AnswerReport:
    """Exact match and F1 in the mean over questions, between 0 and 1: of all, and of those with and without answer.

    `best_exact` and `best_f1` are what could be scored if answers were withheld above `..._threshold` (that is a
    figure for the very questions it was chosen on). Without no-answer scores they are those of the predictions as
    they are, and the thresholds None.
    """

    exact_match: float
    f1: float
    total: int
    has_answer_exact: float
    has_answer_f1: float
    has_answer_total: int
    no_answer_exact: float  # F1 is the same here
    no_answer_total: int
    best_exact: float
    best_exact_threshold: float | None
    best_f1: float
    best_f1_threshold: float | None


def answer_report(
    predictions: Mapping[str, str],
    golds: Mapping[str, str | Sequence[str]],
    no_answer: Mapping[str, float] | None = None,
    *,
    threshold: float = math.inf,
) -> AnswerReport:
    """Score one prediction for each question; both mappings are by the question's id, no true answers: unanswerable.

    `no_answer` says how much the model would rather not answer: where it is above `threshold` the prediction is taken
    for empty. It is ignored where every question has an answer, as in SQuAD 1.1, whose script knows no threshold. For
    the best thresholds to mean anything, predictions are the best spans even of questions that the model would not
    answer.
    """
    keys = list(golds)
    answerable = [bool(golds[key]) for key in keys]
    exact = [exact_match(predictions[key], golds[key]) for key in keys]
    f1 = [answer_f1(predictions[key], golds[key]) for key in keys]
    # What a question is worth when its answer is withheld.
    withheld = [float(not yes) for yes in answerable]
    refusals = None if no_answer is None or all(answerable) else [no_answer[key] for key in keys]
    best_exact, exact_threshold = _best_threshold(exact, withheld, refusals)
    best_f1, f1_threshold = _best_threshold(f1, withheld, refusals)
    if refusals is not None:
        exact = [w if r > threshold else e for e, w, r in zip(exact, withheld, refusals, strict=True)]
        f1 = [w if r > threshold else f for f, w, r in zip(f1, withheld, refusals, strict=True)]
    has = [i for i, yes in enumerate(answerable) if yes]
    has_not = [i for i, yes in enumerate(answerable) if not yes]
    return AnswerReport(
        exact_match=_mean(exact),
        f1=_mean(f1),
        total=len(keys),
        has_answer_exact=_mean([exact[i] for i in has]),
        has_answer_f1=_mean([f1[i] for i in has]),
        has_answer_total=len(has),
        no_answer_exact=_mean([exact[i] for i in has_not]),
        no_answer_total=len(has_not),
        best_exact=best_exact,
        best_exact_threshold=exact_threshold,
        best_f1=best_f1,
        best_f1_threshold=f1_threshold,
    )


def _best_threshold(
    answered: Sequence[float], withheld: Sequence[float], refusals: Sequence[float] | None
) -> tuple[float, float | None]:
    """The best mean score when questions with a no-answer score above a threshold are not answered, and the threshold.

    As the official script's `find_best_thresh`, which raises the threshold past one question after another, but for
    two corners where its threshold does not give its score: equal no-answer scores pass together, and where it is
    best to answer nothing the threshold is just below all of them, not 0.
    """
    if refusals is None or not answered:
        return _mean(answered), None
    # A NaN is above no threshold, so such a question is always answered, and counts from the start.
    order = sorted(range(len(answered)), key=lambda i: (not math.isnan(refusals[i]), refusals[i]))
    numbers = [refusals[i] for i in order if not math.isnan(refusals[i])]
    score = sum(answered[i] if math.isnan(refusals[i]) else withheld[i] for i in order)
    best, threshold = score, math.nextafter(numbers[0], -math.inf) if numbers else 0.0
    order = order[len(order) - len(numbers) :]
    for index, i in enumerate(order):
        score += answered[i] - withheld[i]
        if index + 1 < len(order) and refusals[order[index + 1]] == refusals[i]:
            continue
        if score > best + 1e-9:  # not for a rounding error
            best, threshold = score, refusals[i]
    return best / len(answered), float(threshold)


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / max(1, len(scores))
