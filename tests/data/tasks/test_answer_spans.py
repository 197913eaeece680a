import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertviz_lab.data.examples import Question
from bertviz_lab.data.tasks.question_answering import extract_answers, make_windows
from tests.data.support import max_context_of, offsets_of
from tests.little import little_checkpoint

TOKENIZER = little_checkpoint().tokenizer
PASSAGE = "the red cat sat on the mat"


def question_on(passage: str = PASSAGE, name: str = "q") -> Question:
    return Question(name, "who", passage, (), row=1)


def windows_of(questions, **options):
    return make_windows(questions, TOKENIZER, **options)


def logits(windows, seed: int = 0, padding: int = 0):
    rng = np.random.default_rng(seed)
    return tuple([rng.normal(size=len(w.ids) + padding).round(2) for w in windows] for _ in "se")


def every_span(question, windows, starts, ends, longest):
    """(score, start, end) of all that may be an answer, by trying every pair of tokens."""
    for window, start, end in zip(windows, starts, ends, strict=True):
        for i in range(len(window.ids)):
            for j in range(i, min(i + longest, len(window.ids))):
                if max_context_of(window)[i] and offsets_of(window)[j]:
                    yield float(start[i] + end[j]), offsets_of(window)[i][0], offsets_of(window)[j][1]


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(10, 30), st.integers(1, 8), st.integers(1, 6), st.integers(0, 999))
def test_the_best_spans_equal_those_of_an_exhaustive_search(words, length, longest, n_best, seed) -> None:
    rng = np.random.default_rng(seed)
    question = question_on(" ".join(rng.choice(PASSAGE.split(), words)))
    windows = windows_of([question], max_length=length, stride=length // 3)
    starts, ends = logits(windows, seed, padding=3)
    (prediction,) = extract_answers([question], windows, starts, ends, n_best=n_best, max_answer_length=longest)

    spans = list(every_span(question, windows, starts, ends, longest))
    null = min(float(s[0] + e[0]) for s, e in zip(starts, ends, strict=True))
    total = math.exp(null) + sum(math.exp(score) for score, *_ in spans)
    assert prediction.no_answer_probability == pytest.approx(math.exp(null) / total)
    texts = {}
    for score, start, end in sorted(spans, reverse=True):
        texts.setdefault(question.passage[start:end], score)
    best_scores = list(texts.values())[:n_best]
    assert [answer.score for answer in prediction.best] == pytest.approx(best_scores)
    for answer in prediction.best:
        assert answer.text == question.passage[answer.start : answer.end]
        assert texts[answer.text] == pytest.approx(answer.score)
        assert answer.probability == pytest.approx(math.exp(answer.score) / total)
    assert prediction.no_answer == (pytest.approx(null - best_scores[0]) if best_scores else math.inf)


def peaked(window, start: int, end: int, height: float = 9.0, null: float = 0.0):
    """Logits for one span, by the numbers of the passage's tokens."""
    pair = np.zeros(len(window.ids)), np.zeros(len(window.ids))
    pair[0][window.passage_start + start], pair[1][window.passage_start + end] = height, height
    pair[0][0] = null
    return [pair[0]], [pair[1]]


def test_the_likeliest_span_is_the_answer_below_the_threshold() -> None:
    windows = windows_of([question_on()])
    (prediction,) = extract_answers([question_on()], windows, *peaked(windows[0], 1, 2))
    assert prediction.text() == prediction.best[0].text == "red cat"
    assert (prediction.best[0].start, prediction.best[0].end) == (4, 11)
    assert prediction.best[0].score == 18
    assert prediction.no_answer == -18
    windows = windows_of([question_on()])
    (prediction,) = extract_answers([question_on()], windows, *peaked(windows[0], 2, 2, null=20.0))
    assert prediction.no_answer == 2
    assert [prediction.text(threshold) for threshold in (0.0, 1.9, 2.0, math.inf)] == ["", "", "cat", "cat"]
    assert prediction.no_answer_probability > prediction.best[0].probability


def test_a_passage_without_words_has_no_answer() -> None:
    windows = windows_of([question_on("")])
    (prediction,) = extract_answers([question_on("")], windows, *logits(windows))
    assert (prediction.best, prediction.no_answer, prediction.no_answer_probability) == ((), math.inf, 1)
    assert prediction.text() == prediction.text(math.inf) == ""


def test_nan_logits_give_no_answer() -> None:
    windows = windows_of([question_on()])
    starts, ends = peaked(windows[0], 1, 1)
    starts[0][windows[0].passage_start + 2] = np.nan
    (prediction,) = extract_answers([question_on()], windows, starts, ends)
    assert prediction.text() == "red"
    assert not any(answer.text.startswith("cat") for answer in prediction.best)
    (broken,) = extract_answers([question_on()], windows, [np.full(99, np.nan)], [np.full(99, np.nan)])
    assert broken.best == ()


@pytest.mark.parametrize(("height", "null"), [(1e4, 0.0), (9.0, 1e4)])
def test_huge_logits_do_not_overflow(height, null) -> None:
    windows = windows_of([question_on()])
    (prediction,) = extract_answers([question_on()], windows, *peaked(windows[0], 1, 2, height, null))
    assert prediction.best[0].probability == pytest.approx(float(height > null))
    assert prediction.no_answer_probability == pytest.approx(float(null > height))


def test_many_occurrences_of_one_text_leave_room_for_others() -> None:
    question = question_on("cat " * 40 + "mat")
    windows = windows_of([question])
    starts, ends = [np.arange(len(w.ids), 0.0, -1) for w in windows], [np.zeros(len(w.ids)) for w in windows]
    (prediction,) = extract_answers([question], windows, starts, ends, n_best=2, max_answer_length=1)
    assert [answer.text for answer in prediction.best] == ["cat", "mat"]
