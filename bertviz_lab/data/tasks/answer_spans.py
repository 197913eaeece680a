"""Start and end logits to answers: the best spans over all windows of a passage."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.examples import Question
from bertviz_lab.data.tasks.qa_windows import Window


@dataclass(frozen=True)
class SpanAnswer:
    """A span of the passage that may be the answer.

    Attributes:
        text: `passage[start:end]`.
        start: offset of its first character in the passage.
        end: offset after its last.
        score: start logit + end logit, in nats.
        probability: of this span, in a softmax over all candidate spans and no answer.
    """

    text: str
    start: int
    end: int
    score: float
    probability: float


@dataclass(frozen=True)
class AnswerPrediction:
    """What a model answers to one question.

    Attributes:
        id: the question's.
        best: distinct texts, best first; empty where the passage has no words.
        null_score: start logit + end logit at [CLS], the minimum over the windows.
        no_answer: `null_score` minus the best span's score, in nats: above 0 no answer is likelier than that span;
            infinite without a span.
        no_answer_probability: in the softmax over all candidate spans and no answer.
    """

    id: str
    best: tuple[SpanAnswer, ...]
    null_score: float
    no_answer: float
    no_answer_probability: float

    def text(self, threshold: float = 0.0) -> str:
        """The best answer, or "" where `no_answer` is above the threshold; an infinite threshold always answers."""
        return "" if not self.best or self.no_answer > threshold else self.best[0].text


def extract_answers(
    questions: Sequence[Question],
    windows: Sequence[Window],
    start_logits: Sequence[NDArray[np.floating]],
    end_logits: Sequence[NDArray[np.floating]],
    *,
    n_best: int = 20,
    max_answer_length: int = 30,
) -> list[AnswerPrediction]:
    """The best answers to each question that has windows, in their order.

    Candidates are all spans of at most `max_answer_length` tokens that begin where their window shows most context; of
    spans with the same text the best counts. This follows google-research/bert, run_squad.py, which considers only the
    `n_best` starts and ends, and normalises probabilities over the `n_best` answers.

    Args:
        questions: those that the windows are of.
        windows: from `make_windows`; windows of a question are adjacent.
        start_logits: for each window (tokens,), or longer with padding.
        end_logits: likewise.
        n_best: answers to return at most.
        max_answer_length: in tokens.
    """
    rows = zip(windows, start_logits, end_logits, strict=True)
    return [
        _best_answers(questions[index], list(group), n_best, max_answer_length)
        for index, group in groupby(rows, key=lambda row: row[0].question)
    ]


_Row = tuple[Window, NDArray[np.floating], NDArray[np.floating]]


def _best_answers(question: Question, rows: list[_Row], n_best: int, longest: int) -> AnswerPrediction:
    null_score = float(min(float(start[0]) + float(end[0]) for _, start, end in rows))
    candidates: list[tuple[float, int, int]] = []  # score, start and end in characters
    peak, total = null_score, 1.0  # the softmax's largest score so far, and the sum of exp(score - peak)
    for window, start, end in rows:
        scores = _span_scores(window, start, end, longest)
        if not scores.size or not np.isfinite(highest := float(scores.max())):
            continue
        new_peak = max(peak, highest)
        total = total * np.exp(peak - new_peak) + float(np.exp(scores - new_peak).sum())
        peak = new_peak
        candidates += _best_of(question.passage, window, scores, n_best)
    candidates.sort(key=lambda candidate: (-candidate[0], candidate[1:]))
    best: dict[str, SpanAnswer] = {}
    for score, first_char, end_char in candidates:
        text = question.passage[first_char:end_char]
        if len(best) < n_best and text not in best:
            best[text] = SpanAnswer(text, first_char, end_char, score, float(np.exp(score - peak) / total))
    spans = tuple(best.values())
    return AnswerPrediction(
        question.id,
        spans,
        null_score,
        no_answer=null_score - spans[0].score if spans else np.inf,
        no_answer_probability=float(np.exp(null_score - peak) / total),
    )


def _best_of(passage: str, window: Window, scores: NDArray[np.float64], n_best: int) -> list[tuple[float, int, int]]:
    """(score, start, end) of a window's best spans: enough for `n_best` distinct texts, if it has so many."""
    flat, longest = scores.ravel(), scores.shape[1]
    keep = n_best
    while True:
        keep = min(flat.size, 2 * keep)
        spans = []
        for index in np.argpartition(-flat, keep - 1)[:keep].tolist():
            if np.isfinite(flat[index]):
                first = window.max_context_range[0] + index // longest
                spans.append((float(flat[index]), *window.span(first, first + index % longest)))
        if keep == flat.size or len({passage[start:end] for _, start, end in spans}) >= n_best:
            return spans


def _span_scores(
    window: Window, start: NDArray[np.floating], end: NDArray[np.floating], longest: int
) -> NDArray[np.float64]:
    """(starts, lengths): the score of each span that begins in `max_context_range`; -inf beyond the passage."""
    first, after = window.max_context_range
    # NaN is no answer.
    starts = np.nan_to_num(np.asarray(start[first:after], dtype=np.float64), nan=-np.inf)
    ends = np.full(after - first + longest - 1, -np.inf)
    end_scores = np.asarray(end[first : min(window.passage_end, first + len(ends))], dtype=np.float64)
    ends[: len(end_scores)] = np.nan_to_num(end_scores, nan=-np.inf)
    if not len(starts):
        return np.empty((0, longest))
    return starts[:, None] + np.lib.stride_tricks.sliding_window_view(ends, longest)
