"""Scores of extractive answers, by the rules of the official SQuAD 2.0 evaluation (Rajpurkar et al. 2018)."""

import math
import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Return an answer as it is compared: lower case, without ASCII punctuation and a/an/the, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """Return 1 where the prediction is one of the true answers, else 0.

    Without true answers the question cannot be answered, and the empty prediction is right. True answers of which
    nothing is left to compare ("the") are set aside first.
    """
    normal = normalize_answer(prediction)
    return float(any(normal == gold for gold in _comparable(golds)))


def answer_f1(prediction: str, golds: Sequence[str]) -> float:
    """Return the words that prediction and true answer share, between 0 and 1; that of the best true answer.

    Where either is empty it is 1 if both are, else 0. True answers are set aside as in `exact_match`.
    """
    words = normalize_answer(prediction).split()
    return max(_overlap(words, gold.split()) for gold in _comparable(golds))


def _comparable(golds: Sequence[str]) -> list[str]:
    return [normal for gold in golds if (normal := normalize_answer(gold))] or [""]


def _overlap(predicted: list[str], gold: list[str]) -> float:
    if not predicted or not gold:
        return float(predicted == gold)
    shared = (Counter(predicted) & Counter(gold)).total()
    return 2 * shared / (len(predicted) + len(gold))


def answer_scores(
    predictions: Sequence[str],
    golds: Sequence[Sequence[str]],
    no_answer: Sequence[float] | None = None,
    *,
    threshold: float = math.inf,
) -> dict[str, float]:
    """Return `exact_match` and `f1` in the mean over questions, between 0 and 1; no true answers: unanswerable.

    `no_answer` says how much the model would rather not answer: where it is above `threshold` the prediction is taken
    for empty. It is ignored where every question has an answer, as in SQuAD 1.1, whose script knows no threshold.
    Otherwise there are also `has_answer_f1`, `no_answer_accuracy`, and with `no_answer` `best_f1`, what could be scored
    if answers were withheld above `best_f1_threshold` (a figure for the very questions it was chosen on). For these
    predictions are the best spans even of questions that the model would not answer.
    """
    exact = [exact_match(prediction, gold) for prediction, gold in zip(predictions, golds, strict=True)]
    f1 = [answer_f1(prediction, gold) for prediction, gold in zip(predictions, golds, strict=True)]
    withheld = [float(not gold) for gold in golds]  # what a question is worth when its answer is withheld
    if not any(withheld):
        return {"exact_match": _mean(exact), "f1": _mean(f1)}
    best = _best_threshold(f1, withheld, no_answer) if no_answer else {}
    for index, refusal in enumerate(no_answer or ()):
        if refusal > threshold:
            exact[index] = f1[index] = withheld[index]
    return {
        "exact_match": _mean(exact),
        "f1": _mean(f1),
        "has_answer_f1": _mean([score for score, none in zip(f1, withheld, strict=True) if not none]),
        "no_answer_accuracy": _mean([score for score, none in zip(exact, withheld, strict=True) if none]),
        **best,
    }


def threshold_for_recall(no_answer: Sequence[float], recall: float) -> float:
    """Return the highest threshold that leaves this share of unanswerable questions, above 0, without an answer.

    `no_answer` are their scores of no answer; the threshold is midway between the last that is above it and the next.
    """
    numbers = sorted((number for number in no_answer if not math.isnan(number)), reverse=True)
    if not numbers:
        return 0.0
    last = numbers[min(len(numbers), math.ceil(recall * len(no_answer) - 1e-9)) - 1]
    return (last + max((number for number in numbers if number < last), default=last - 1.0)) / 2


def _best_threshold(
    answered: Sequence[float], withheld: Sequence[float], refusals: Sequence[float]
) -> dict[str, float]:
    """Return the best mean F1 when questions with a no-answer score above a threshold are not answered, and which.

    As the official script's `find_best_thresh`, which raises the threshold past one question after another, but for
    two corners where its threshold does not give its score: equal no-answer scores pass together, and where it is
    best to answer nothing the threshold is just below all of them, not 0.
    """
    # A NaN is above no threshold, so such a question is always answered, and counts from the start.
    is_always_answered, gains = np.isnan(refusals), np.subtract(answered, withheld)
    numbers, places = np.unique(np.asarray(refusals)[~is_always_answered], return_inverse=True)
    start = sum(withheld) + gains[is_always_answered].sum()
    scores = np.append(start, start + np.bincount(places, gains[~is_always_answered]).cumsum())
    thresholds = [math.nextafter(numbers[0], -math.inf), *numbers] if len(numbers) else [0.0]
    best = scores.round(9).argmax()  # the first, whatever the rounding errors
    return {"best_f1": float(scores[best]) / len(answered), "best_f1_threshold": float(thresholds[best])}


def _mean(scores: Sequence[float]) -> float:
    return sum(scores) / max(1, len(scores))
