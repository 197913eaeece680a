"""From a score for each token to be an answer's first or last, to answers: the best spans over all windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.tasks.examples import Question
from bertviz_lab.data.tasks.qa_windows import Window


@dataclass(frozen=True)
class SpanAnswer:
    """A span of the passage that may be the answer.

    Attributes:
        text: `passage[start:end]`.
        start: offset of its first character in the passage.
        end: offset after its last.
        score: start logit + end logit, in nats.
        probability: of this span among all spans that may be an answer and no answer.
    """

    text: str
    start: int
    end: int
    score: float
    probability: float


@dataclass(frozen=True)
class Answered:
    """What a model answers to one question.

    Attributes:
        id: the question's.
        best: different texts, best first; none where the passage has no words.
        null_score: how much it is for no answer, start + end logit at [CLS], in the window that is least for it.
        no_answer: `null_score` less the best span's score, in nats: above 0 no answer is likelier than that span;
            infinite without a span.
        no_answer_probability: of no answer, beside all the spans.
    """

    id: str
    best: tuple[SpanAnswer, ...]
    null_score: float
    no_answer: float
    no_answer_probability: float

    def text(self, threshold: float = 0.0) -> str:
        """The best answer, or "" where `no_answer` is above a threshold; with an infinite one never withheld."""
        return "" if not self.best or self.no_answer > threshold else self.best[0].text


def pick_answers(
    questions: Sequence[Question],
    windows: Sequence[Window],
    start_logits: Sequence[NDArray[np.floating]],
    end_logits: Sequence[NDArray[np.floating]],
    *,
    n_best: int = 20,
    max_answer_length: int = 30,
) -> list[Answered]:
    """The best answers to each question that has windows, in their order.

    Every span of at most `max_answer_length` tokens counts that begins where its window shows most context. Texts that
    occur twice in a passage are given once, at their better place. As in google-research/bert, run_squad.py, but that
    one looks at the `n_best` starts and ends alone, and its probabilities are among the `n_best` only.

    Args:
        questions: What was asked.
        windows: From `make_windows`; those of one question stand together.
        start_logits: For each window (tokens,); what lies beyond its own tokens is padding.
        end_logits: Likewise.
        n_best: Answers to give at most.
        max_answer_length: In tokens.
    """
    rows = zip(windows, start_logits, end_logits, strict=True)
    return [
        _pick(questions[index], list(group), n_best, max_answer_length)
        for index, group in groupby(rows, key=lambda row: row[0].question)
    ]


_Row = tuple[Window, NDArray[np.floating], NDArray[np.floating]]


def _pick(question: Question, rows: list[_Row], n_best: int, longest: int) -> Answered:
    null_score = float(min(float(start[0]) + float(end[0]) for _, start, end in rows))
    found: list[tuple[float, int, int]] = []  # score, characters
    most, total = null_score, 1.0  # the sum of exp(score - most) over all spans and no answer
    for window, start, end in rows:
        scores = _span_scores(window, start, end, longest)
        if not scores.size or not np.isfinite(peak := float(scores.max())):
            continue
        raised = max(most, peak)
        total = total * np.exp(most - raised) + float(np.exp(scores - raised).sum())
        most = raised
        found += _best_of(question.passage, window, scores, n_best)
    found.sort(key=lambda one: (-one[0], one[1:]))
    best: dict[str, SpanAnswer] = {}
    for score, first_char, end_char in found:
        text = question.passage[first_char:end_char]
        if len(best) < n_best and text not in best:
            best[text] = SpanAnswer(text, first_char, end_char, score, float(np.exp(score - most) / total))
    spans = tuple(best.values())
    return Answered(
        question.id,
        spans,
        null_score,
        no_answer=null_score - spans[0].score if spans else np.inf,
        no_answer_probability=float(np.exp(null_score - most) / total),
    )


def _best_of(passage: str, window: Window, scores: NDArray[np.float64], n_best: int) -> list[tuple[float, int, int]]:
    """(score, characters) of a window's best spans: as many as make `n_best` different texts, if it has so many."""
    flat, longest = scores.ravel(), scores.shape[1]
    keep = n_best
    while True:
        keep = min(flat.size, 2 * keep)
        spans = []
        for place in np.argpartition(-flat, keep - 1)[:keep].tolist():
            if np.isfinite(flat[place]):
                first = window.own[0] + place // longest
                spans.append((float(flat[place]), *window.span(first, first + place % longest)))
        if keep == flat.size or len({passage[start:end] for _, start, end in spans}) >= n_best:
            return spans


def _span_scores(
    window: Window, start: NDArray[np.floating], end: NDArray[np.floating], longest: int
) -> NDArray[np.float64]:
    """(starts, lengths): the score of each span that begins in the window's own part; -inf beyond the passage."""
    first, after = window.own
    # What is no number is no answer.
    starts = np.nan_to_num(np.asarray(start[first:after], dtype=np.float64), nan=-np.inf)
    ends = np.full(after - first + longest - 1, -np.inf)
    shown = np.asarray(end[first : min(window.passage_end, first + len(ends))], dtype=np.float64)
    ends[: len(shown)] = np.nan_to_num(shown, nan=-np.inf)
    if not len(starts):
        return np.empty((0, longest))
    return starts[:, None] + np.lib.stride_tricks.sliding_window_view(ends, longest)
