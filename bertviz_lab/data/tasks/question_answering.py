"""Question answering: a passage too long for the model is read in overlapping windows, and logits become answers.

A passage is tokenized once, and its windows are slices of it. A token in an overlap is in two windows; an answer may
begin only in the one that shows more context around the token, Google's "max context" (google-research/bert,
run_squad.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.config import SHORTEST_SEQUENCE
from bertviz_lab.data.examples import Question
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

#: Each question about a long passage has windows of its own; training on SQuAD 2.0 takes about 132,000.
MAX_WINDOWS = 1_000_000


@dataclass(frozen=True, eq=False)
class Window:
    """`[CLS] question [SEP] part of the passage [SEP]`."""

    question: int  # its index among the questions
    ids: NDArray[np.int32]  # (tokens,) token ids
    passage_start: int  # position of the first token of the passage; segment 1 begins there
    # (tokens, 2): start and end in characters of every token of the whole passage; shared by all windows of a passage
    spans: NDArray[np.int32]
    first_token: int  # index in the passage of the token at `passage_start`
    # positions (first, after the last) of the tokens for which this window shows most context
    max_context_range: tuple[int, int]
    # position of the answer's first token; 0, which is [CLS], if the window does not contain a whole answer
    start: int = 0
    end: int = 0  # position of the answer's last token, or 0 likewise

    @property
    def passage_end(self) -> int:
        """The position after the last token of the passage: that of the last [SEP]."""
        return len(self.ids) - 1

    @property
    def shown_spans(self) -> NDArray[np.int32]:
        """The spans of the window's own tokens of the passage, (tokens, 2)."""
        return self.spans[self.first_token : self.first_token + self.passage_end - self.passage_start]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """(start, end) in characters of the passage, from the token at position `start` through that at `end`."""
        shift = self.first_token - self.passage_start
        return int(self.spans[start + shift, 0]), int(self.spans[end + shift, 1])


def make_windows(
    questions: Sequence[Question],
    tokenizer: Tokenizer,
    *,
    max_length: int = 384,
    stride: int = 128,
    max_question_length: int = 64,
    training: bool = False,
) -> list[Window]:
    """Return the windows of each question in turn, at least one; the target is the first of its answers.

    Windows are as long as `max_length` allows until one reaches the end of the passage. In training a question is left
    out if no window contains its whole answer: it would be learned as unanswerable.

    Args:
        questions: with their passages.
        tokenizer: the model's.
        max_length: tokens of a window at most, special tokens included.
        stride: tokens of the passage that consecutive windows share, as in Hugging Face's tokenizers; half a window at
            most. Google's `doc_stride` is the distance between windows, which is the rest.
        max_question_length: tokens of a question at most, and half a window at most; the rest is truncated.
        training: whether the windows are training examples.

    Raises `InputError` for a length without room for a question and a passage, and for more than `MAX_WINDOWS`.
    """
    if max_length < SHORTEST_SEQUENCE:
        raise InputError(
            f"A length of {max_length} is too short for a question and a passage: choose at least {SHORTEST_SEQUENCE}."
        )
    max_question_length = min(max_question_length, (max_length - 3) // 2)
    separators = [tokenizer.sep_id] * tokenizer.pair_separators
    encoded_questions = tokenizer.ids_and_spans([question.question for question in questions])
    passages = list(dict.fromkeys(question.passage for question in questions))
    encoded_passages = dict(zip(passages, tokenizer.ids_and_spans(passages), strict=True))
    ranges_of = cache(window_ranges)  # passages of one length have the same
    windows: list[Window] = []
    for index, (question, (question_ids, _)) in enumerate(zip(questions, encoded_questions, strict=True)):
        passage_ids, spans = encoded_passages[question.passage]
        prefix = [tokenizer.cls_id, *question_ids[:max_question_length], *separators]
        capacity = max_length - len(prefix) - 1
        answer = _answer_tokens(question, spans)
        of_question = []
        for window_range in ranges_of(len(spans), capacity, min(stride, capacity // 2)):
            shift = len(prefix) - window_range.first
            start = end = 0
            if answer is not None and window_range.first <= answer[0] and answer[1] < window_range.end:
                start, end = answer[0] + shift, answer[1] + shift
            shown = passage_ids[window_range.first : window_range.end]
            first, after = window_range.max_context
            window = Window(
                question=index,
                ids=np.concatenate([prefix, shown, [tokenizer.sep_id]]).astype(np.int32),
                passage_start=len(prefix),
                spans=spans,
                first_token=window_range.first,
                max_context_range=(first + shift, after + shift),
                start=start,
                end=end,
            )
            of_question.append(window)
        if not (training and question.answers and not any(window.start for window in of_question)):
            windows += of_question
        if len(windows) > MAX_WINDOWS:
            raise InputError(
                f"The passages of {len(questions):,} questions need more than {MAX_WINDOWS:,} windows of {max_length} "
                "tokens; give shorter passages or fewer questions."
            )
    return windows


class WindowRange(NamedTuple):
    """The tokens from `first` to before `end` of a long text, which a window shows; most context for `max_context`."""

    first: int
    end: int
    max_context: tuple[int, int]


def window_ranges(count: int, capacity: int, stride: int) -> list[WindowRange]:
    """Return windows over `count` tokens, `capacity` at a time, that share `stride`: half the capacity at most."""
    if not count:
        return [WindowRange(0, 0, (0, 0))]
    firsts = [0]
    while firsts[-1] + capacity < count:
        firsts.append(firsts[-1] + capacity - stride)
    ends = [min(first + capacity, count) for first in firsts]
    # Google's score of a token in a window: the context on its shorter side, and a little for longer windows. A token
    # is in two windows at most, and the later one wins from some token of the overlap on.
    first, end = np.array(firsts)[:, None], np.array(ends)[:, None]
    token = first[1:] + np.arange(stride)
    length_bonus = 0.01 * (end - first)
    in_earlier = np.minimum(token - first[:-1], end[:-1] - 1 - token) + length_bonus[:-1]
    in_later = np.minimum(token - first[1:], end[1:] - 1 - token) + length_bonus[1:]
    edges = [0, *(first[1:, 0] + (in_earlier >= in_later).sum(axis=1)).tolist(), count]
    return [WindowRange(firsts[i], ends[i], (edges[i], edges[i + 1])) for i in range(len(firsts))]


def _answer_tokens(question: Question, spans: NDArray[np.int32]) -> tuple[int, int] | None:
    """Return the first and the last token of the passage that overlap the first answer; None without any."""
    if not question.answers:
        return None
    answer = question.answers[0]
    start, end = answer.start, answer.start + len(answer.text)
    first = int(np.searchsorted(spans[:, 1], start, side="right"))
    last = int(np.searchsorted(spans[:, 0], end)) - 1
    return (first, last) if first <= last else None


def shares_of_tokens(
    windows: Sequence[Window], theirs: Sequence[Window], their_shares: Sequence[NDArray[np.floating]]
) -> Iterator[NDArray[np.float32]]:
    """Yield for each window, (2, tokens), where an answer begins and ends by a model with other tokens.

    Of the windows that it read the question in, the one that shows most of the same passage counts. A share goes to the
    token that has the same first or last character; to [CLS], no answer, where the window does not show it.

    Args:
        windows: those of one tokenizer.
        theirs: those of the same questions by another.
        their_shares: (2, tokens) of each of `theirs`: the probability that the answer begins and ends at each token.
    """
    of_question: dict[int, list[int]] = {}
    for place, other in enumerate(theirs):
        of_question.setdefault(other.question, []).append(place)
    for window in windows:
        place = max(of_question[window.question], key=lambda place: _shared_characters(window, theirs[place]))
        other, shares = theirs[place], np.zeros((2, len(window.ids)), dtype=np.float32)
        for side, characters in enumerate((other.shown_spans[:, 0], other.shown_spans[:, 1] - 1)):
            tokens = np.searchsorted(window.spans[:, 0], characters, side="right") - 1 - window.first_token
            is_shown = (tokens >= 0) & (tokens < len(window.shown_spans))
            of_passage = their_shares[place][side, other.passage_start : other.passage_end]
            np.add.at(shares[side], tokens[is_shown] + window.passage_start, of_passage[is_shown])
            shares[side, 0] = 1 - shares[side].sum()
        yield shares


def _shared_characters(one: Window, other: Window) -> int:
    """Return how many characters of the passage both windows show, about."""
    if not len(one.shown_spans) or not len(other.shown_spans):
        return 0
    return min(one.shown_spans[-1, 1], other.shown_spans[-1, 1]) - max(one.shown_spans[0, 0], other.shown_spans[0, 0])


@dataclass(frozen=True)
class SpanAnswer:
    """A span of the passage that may be the answer."""

    text: str  # `passage[start:end]`
    start: int  # offset of its first character in the passage
    end: int  # offset after its last
    score: float  # start logit + end logit, in nats
    probability: float  # of this span, in a softmax over all candidate spans and no answer


@dataclass(frozen=True)
class AnswerPrediction:
    """What a model answers to one question."""

    id: str  # the question's
    best: tuple[SpanAnswer, ...]  # distinct texts, best first; empty where the passage has no words
    # the score of no answer (start logit + end logit at [CLS], the minimum over the windows) minus the best span's, in
    # nats: above 0 it is likelier than that span; infinite without a span
    no_answer: float
    no_answer_probability: float  # in the softmax over all candidate spans and no answer

    def text(self, threshold: float = 0.0) -> str:
        """Return the best answer, "" where `no_answer` is above the threshold; an infinite threshold always answers."""
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
    """Return the best answers to each question that has windows, in their order.

    Candidates are all spans of at most `max_answer_length` tokens that begin where their window shows most context; of
    spans with the same text the best counts. This follows google-research/bert, run_squad.py, which considers only the
    `n_best` starts and ends, and normalizes probabilities over the `n_best` answers.

    `windows` are those of `make_windows`, which are adjacent for a question; logits are (tokens,) for each of them, or
    longer with padding. `n_best` answers are returned at most.
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
    no_answer = null_score - spans[0].score if spans else np.inf
    return AnswerPrediction(question.id, spans, no_answer, float(np.exp(null_score - peak) / total))


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
