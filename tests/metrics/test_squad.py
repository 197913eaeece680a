import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.metrics import answer_f1, answer_report, exact_match, normalize_answer

words = st.sampled_from(["the", "a", "An", "cat", "Cat,", "dog", "dogs", "U.S.", "-", "…", "café", "  ", "is", "this"])
texts = st.lists(words, max_size=6).map(" ".join)
golds = st.lists(texts, max_size=3)
scores = st.floats(-5, 5).map(lambda x: round(x, 1))  # often equal
quizzes = st.lists(st.tuples(texts, golds, scores), min_size=1, max_size=12)


def as_mappings(quiz):
    keyed = {f"q{i}": one for i, one in enumerate(quiz)}
    return tuple({key: one[part] for key, one in keyed.items()} for part in range(3))


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Eiffel-Tower!", "eiffeltower"),
        ("An apple a day", "apple day"),
        ("U.S.", "us"),
        ("theatre another", "theatre another"),
        ("“quoted” …", "“quoted” …"),  # punctuation is ASCII's only
        ("ÉCOLE\tDu\n Nord", "école du nord"),
        ("the", ""),
        ("", ""),
    ],
)
def test_answers_are_compared_without_case_punctuation_and_articles(text, normal) -> None:
    assert normalize_answer(text) == normal


@given(texts)
def test_what_is_normal_stays_so_but_for_articles_that_come_to_stand_alone(text) -> None:
    normal = normalize_answer(text)
    assert normal == " ".join(normal.split())
    assert not set(normal) & set(string.punctuation)
    assert not {"a", "an", "the"} & set(normal.split())
    assert normalize_answer(normal) == normal


def test_an_answer_is_right_when_it_is_one_of_the_true_ones() -> None:
    assert exact_match("the Cat!", ["dog", "cat"]) == 1
    assert exact_match("cats", ["dog", "cat"]) == 0


def test_f1_counts_the_words_that_are_shared() -> None:
    assert answer_f1("the big black cat", ["black cat"]) == pytest.approx(0.8)  # 2 of 3, 2 of 2
    assert answer_f1("cat cat", ["cat dog", "dog"]) == pytest.approx(0.5)  # a word counts as often as in both
    assert answer_f1("bird", ["cat"]) == 0


def test_without_a_true_answer_only_silence_is_right() -> None:
    for none in ([], ["the"], ["...", ""]):
        assert (exact_match("", none), answer_f1("", none)) == (1, 1)
        assert (exact_match("cat", none), answer_f1("cat", none)) == (0, 0)
        assert (exact_match("The", none), answer_f1("The", none)) == (1, 1)  # nothing is left of it
    assert (exact_match("", ["cat", "the"]), answer_f1("", ["cat", "the"])) == (0, 0)


@given(texts, golds)
def test_f1_is_at_least_exact_match_and_whole_where_that_is(prediction, some) -> None:
    exact, f1 = exact_match(prediction, some), answer_f1(prediction, some)
    assert 0 <= exact <= f1 <= 1
    assert f1 == 1 if exact else True
    assert answer_f1(prediction, [*some, prediction]) == 1 or not normalize_answer(prediction)


@given(quizzes)
def test_the_report_is_the_mean_of_its_parts(quiz) -> None:
    predictions, truths, _ = as_mappings(quiz)
    report = answer_report(predictions, truths)
    f1 = [answer_f1(p, g) for p, g, _ in quiz]
    assert report.f1 == pytest.approx(sum(f1) / len(f1))
    assert report.total == len(quiz) == report.has_answer_total + report.no_answer_total
    parts = report.has_answer_exact * report.has_answer_total + report.no_answer_exact * report.no_answer_total
    assert report.exact_match * report.total == pytest.approx(parts)
    assert (report.best_exact, report.best_f1) == (report.exact_match, report.f1)
    assert report.best_exact_threshold is report.best_f1_threshold is None


@given(quizzes)
def test_no_threshold_scores_better_than_the_best_and_the_best_is_scored_at_its_own(quiz) -> None:
    mappings = as_mappings(quiz)
    report = answer_report(*mappings)
    tried = [-math.inf, *mappings[2].values(), math.inf]
    reports = [answer_report(*mappings, threshold=threshold) for threshold in tried]
    assert report.best_exact == pytest.approx(max(r.exact_match for r in reports))
    assert report.best_f1 == pytest.approx(max(r.f1 for r in reports))
    at_exact = answer_report(*mappings, threshold=report.best_exact_threshold)
    at_f1 = answer_report(*mappings, threshold=report.best_f1_threshold)
    assert at_exact.exact_match == pytest.approx(report.best_exact)
    assert at_f1.f1 == pytest.approx(report.best_f1)


def test_above_the_threshold_an_answer_is_withheld() -> None:
    predictions, truths = {"1": "cat", "2": "dog"}, {"1": ["cat"], "2": []}
    refusals = {"1": -1.0, "2": 0.5}
    always = answer_report(predictions, truths, refusals)
    assert (always.exact_match, always.best_exact, always.best_exact_threshold) == (0.5, 1, -1)
    assert answer_report(predictions, truths, refusals, threshold=0.0).exact_match == 1
    assert answer_report(predictions, truths, refusals, threshold=0.5).exact_match == 0.5


def test_a_refusal_that_is_not_a_number_withholds_nothing() -> None:
    predictions, truths = {"1": "cat", "2": "dog"}, {"1": ["cat"], "2": []}
    report = answer_report(predictions, truths, {"1": math.nan, "2": 3.0})
    assert report.best_exact == 1
    assert report.best_exact_threshold < 3
    assert answer_report(predictions, truths, dict.fromkeys(truths, math.nan)).best_exact == 0.5


def test_no_questions_score_nothing() -> None:
    for refusals in (None, {}):
        report = answer_report({}, {}, refusals)
        assert (report.total, report.exact_match, report.f1, report.best_f1, report.best_f1_threshold) == (
            0,
            0,
            0,
            0,
            None,
        )


def test_where_every_question_has_an_answer_none_is_withheld_as_in_squad_1() -> None:
    predictions, truths = {"1": "cat", "2": "dog"}, {"1": ["cat"], "2": ["dog"]}
    report = answer_report(predictions, truths, {"1": 9.0, "2": -9.0}, threshold=0.0)
    assert (report.exact_match, report.f1, report.best_f1_threshold) == (1, 1, None)


def test_a_single_true_answer_may_be_a_string() -> None:
    assert (exact_match("the Cat!", "cat"), exact_match("c", "cat"), exact_match("", "")) == (1, 0, 1)
    assert answer_f1("the big black cat", "black cat") == pytest.approx(0.8)
    report = answer_report({"1": "Paris", "2": ""}, {"1": "Paris", "2": ""})
    assert (report.exact_match, report.f1, report.has_answer_total, report.no_answer_total) == (1, 1, 1, 1)
