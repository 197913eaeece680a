import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertviz_lab.data.tasks.answer_spans import extract_answers
from bertviz_lab.data.tasks.examples import Question
from bertviz_lab.data.tasks.qa_windows import make_windows
from tests.little import little_checkpoint

TOKENIZER = little_checkpoint().tokenizer
PASSAGE = "the red cat sat on the mat"


def asked(passage: str = PASSAGE, name: str = "q") -> Question:
    return Question(name, "who", passage, (), row=1)


def windows_of(questions, **options):
    return make_windows(questions, TOKENIZER, **options)


def logits(windows, seed: int = 0, padding: int = 0):
    rng = np.random.default_rng(seed)
    return tuple([rng.normal(size=len(w) + padding).round(2) for w in windows] for _ in "se")


def every_span(question, windows, starts, ends, longest):
    """(score, start, end) of all that may be an answer, by trying every pair of tokens."""
    for window, start, end in zip(windows, starts, ends, strict=True):
        for i in range(len(window)):
            for j in range(i, min(i + longest, len(window))):
                if window.max_context[i] and window.offsets[j]:
                    yield float(start[i] + end[j]), window.offsets[i][0], window.offsets[j][1]


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(10, 30), st.integers(1, 8), st.integers(1, 6), st.integers(0, 999))
def test_the_best_spans_equal_those_of_an_exhaustive_search(words, length, longest, n_best, seed) -> None:
    rng = np.random.default_rng(seed)
    question = asked(" ".join(rng.choice(PASSAGE.split(), words)))
    windows = windows_of([question], max_length=length, stride=length // 3)
    starts, ends = logits(windows, seed, padding=3)
    (found,) = extract_answers([question], windows, starts, ends, n_best=n_best, max_answer_length=longest)

    spans = list(every_span(question, windows, starts, ends, longest))
    null = min(float(s[0] + e[0]) for s, e in zip(starts, ends, strict=True))
    total = math.exp(null) + sum(math.exp(score) for score, *_ in spans)
    assert found.null_score == pytest.approx(null)
    assert found.no_answer_probability == pytest.approx(math.exp(null) / total)
    texts = {}
    for score, start, end in sorted(spans, reverse=True):
        texts.setdefault(question.passage[start:end], score)
    wanted = list(texts.values())[:n_best]
    assert [one.score for one in found.best] == pytest.approx(wanted)
    for one in found.best:
        assert one.text == question.passage[one.start : one.end]
        assert texts[one.text] == pytest.approx(one.score)
        assert one.probability == pytest.approx(math.exp(one.score) / total)
    assert found.no_answer == pytest.approx(null - wanted[0]) if wanted else found.no_answer == math.inf


def peaked(window, start: int, end: int, height: float = 9.0, null: float = 0.0):
    """Logits for one span, by the numbers of the passage's tokens."""
    pair = np.zeros(len(window)), np.zeros(len(window))
    pair[0][window.passage_start + start], pair[1][window.passage_start + end] = height, height
    pair[0][0] = null
    return [pair[0]], [pair[1]]


def test_the_span_from_the_likeliest_start_to_the_likeliest_end_is_the_answer() -> None:
    windows = windows_of([asked()])
    (found,) = extract_answers([asked()], windows, *peaked(windows[0], 1, 2))
    assert found.text() == found.best[0].text == "red cat"
    assert (found.best[0].start, found.best[0].end) == (4, 11)
    assert found.best[0].score == 18
    assert found.no_answer == -18


def test_an_answer_neither_ends_before_it_starts_nor_exceeds_the_max_length() -> None:
    windows = windows_of([asked()])
    for options, start, end in (({}, 3, 1), ({"max_answer_length": 2}, 0, 2)):
        (found,) = extract_answers([asked()], windows, *peaked(windows[0], start, end), **options)
        assert found.best[0].score == 9
        assert all(one.start < one.end for one in found.best)


def test_an_answer_is_not_in_the_question() -> None:
    windows = windows_of([asked()])
    starts, ends = peaked(windows[0], 0, 0)
    starts[0][1], ends[0][1], ends[0][-1] = 99, 99, 99  # "who", and the last [SEP]
    (found,) = extract_answers([asked()], windows, starts, ends)
    assert found.text() == "the"
    assert found.best[0].score == 18


def test_spans_with_the_same_text_count_once_with_their_best_score() -> None:
    windows = windows_of([asked()])
    starts, ends = peaked(windows[0], 5, 5)
    starts[0][windows[0].passage_start], ends[0][windows[0].passage_start] = 5, 5
    (found,) = extract_answers([asked()], windows, starts, ends)
    assert [one.start for one in found.best if one.text == "the"] == [PASSAGE.rindex("the")]
    assert len({one.text for one in found.best}) == len(found.best)


def test_an_answer_begins_in_the_window_with_most_context() -> None:
    question = asked(" ".join("abcdefghijklmnop"))
    windows = windows_of([question], max_length=12 + 2, stride=4)
    starts, ends = [np.zeros(len(w)) for w in windows], [np.zeros(len(w)) for w in windows]
    edge = windows[0].passage_end - 1  # shown better by the second window
    assert not windows[0].max_context[edge]
    starts[0][edge] = ends[0][edge] = 50
    (found,) = extract_answers([question], windows, starts, ends)
    assert found.best[0].score <= 50


def test_above_the_threshold_there_is_no_answer() -> None:
    windows = windows_of([asked()])
    (found,) = extract_answers([asked()], windows, *peaked(windows[0], 2, 2, null=20.0))
    assert found.no_answer == 2
    assert (found.text(), found.text(1.9), found.text(2.0), found.text(math.inf)) == ("", "", "cat", "cat")
    assert found.no_answer_probability > found.best[0].probability


def test_the_null_score_is_the_minimum_over_the_windows() -> None:
    question = asked(" ".join("abcdefghijklmnop"))
    windows = windows_of([question], max_length=14, stride=4)
    starts, ends = [np.zeros(len(w)) for w in windows], [np.zeros(len(w)) for w in windows]
    for start in starts:
        start[0] = 7
    starts[1][0] = 3
    assert extract_answers([question], windows, starts, ends)[0].null_score == 3


def test_a_passage_without_words_has_no_answer() -> None:
    windows = windows_of([asked("")])
    (found,) = extract_answers([asked("")], windows, *logits(windows))
    assert (found.best, found.no_answer, found.text(), found.text(math.inf)) == ((), math.inf, "", "")
    assert found.no_answer_probability == 1


def test_nan_logits_give_no_answer() -> None:
    windows = windows_of([asked()])
    starts, ends = peaked(windows[0], 1, 1)
    starts[0][windows[0].passage_start + 2] = np.nan
    (found,) = extract_answers([asked()], windows, starts, ends)
    assert found.text() == "red"
    assert not any(one.text.startswith("cat") for one in found.best)
    (broken,) = extract_answers([asked()], windows, [np.full(99, np.nan)], [np.full(99, np.nan)])
    assert broken.best == ()


def test_huge_logits_do_not_overflow() -> None:
    windows = windows_of([asked()])
    (found,) = extract_answers([asked()], windows, *peaked(windows[0], 1, 2, height=1e4))
    assert found.best[0].probability == pytest.approx(1)


def test_a_huge_null_score_does_not_overflow() -> None:
    windows = windows_of([asked()])
    (found,) = extract_answers([asked()], windows, *peaked(windows[0], 1, 2, null=1e4))
    assert found.no_answer_probability == pytest.approx(1)
    assert found.best[0].probability == 0


def test_many_occurrences_of_one_text_leave_room_for_others() -> None:
    question = asked("cat " * 40 + "mat")
    windows = windows_of([question])
    starts, ends = [np.arange(len(w), 0.0, -1) for w in windows], [np.zeros(len(w)) for w in windows]
    (found,) = extract_answers([question], windows, starts, ends, n_best=2, max_answer_length=1)
    assert [one.text for one in found.best] == ["cat", "mat"]


def test_each_question_that_has_windows_is_answered_in_order() -> None:
    questions = [asked(name="0"), asked("a dog ran", name="1"), asked(PASSAGE * 9, name="2")]
    windows = [w for w in windows_of(questions, max_length=20, stride=5) if w.question != 1]
    found = extract_answers(questions, windows, *logits(windows))
    assert [one.id for one in found] == ["0", "2"]


def test_tokens_of_one_character_are_one_text() -> None:
    question = asked("😀 is a 😀")
    windows = windows_of([question])
    (found,) = extract_answers([question], windows, *logits(windows))
    assert len({one.text for one in found.best}) == len(found.best)
    assert all(question.passage[one.start : one.end] == one.text for one in found.best)
