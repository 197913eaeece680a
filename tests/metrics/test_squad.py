"""Scores of answers as SQuAD has them, and of entities as seqeval has them."""

import math
import string
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.metrics.entities import entity_report, entity_spans, marks_entities
from bertviz_lab.metrics.squad import answer_f1, answer_scores, exact_match, normalize_answer, threshold_for_recall

words = st.sampled_from(["the", "a", "An", "cat", "Cat,", "dog", "dogs", "U.S.", "-", "…", "café", "  ", "is", "this"])
texts = st.lists(words, max_size=6).map(" ".join)
golds = st.lists(texts, max_size=3)
scores = st.floats(-5, 5).map(lambda x: round(x, 1))  # often equal
quizzes = st.lists(st.tuples(texts, golds, scores), min_size=1, max_size=12)


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
def test_scores_are_means_and_no_threshold_is_better_than_the_best(quiz) -> None:
    said, truths, refusals = zip(*quiz, strict=True)
    plain = answer_scores(said, truths)
    assert plain["f1"] == pytest.approx(sum(answer_f1(p, g) for p, g, _ in quiz) / len(quiz))
    assert plain["exact_match"] == pytest.approx(sum(exact_match(p, g) for p, g, _ in quiz) / len(quiz))
    unanswerable = [not g for g in truths]
    if not any(unanswerable):  # none is withheld, as in SQuAD 1
        assert answer_scores(said, truths, refusals, threshold=0.0) == plain
        return
    right = [exact_match(p, g) for p, g, none in zip(said, truths, unanswerable, strict=True) if none]
    assert plain["no_answer_accuracy"] == pytest.approx(sum(right) / len(right))
    found = [answer_scores(said, truths, refusals, threshold=t)["f1"] for t in (-math.inf, *refusals, math.inf)]
    best = answer_scores(said, truths, refusals)
    assert best["best_f1"] == pytest.approx(max(found))
    assert answer_scores(said, truths, refusals, threshold=best["best_f1_threshold"])["f1"] == pytest.approx(max(found))


def test_above_the_threshold_an_answer_is_withheld() -> None:
    said, truths, refusals = ("cat", "dog"), (["cat"], []), (-1.0, 0.5)
    always = answer_scores(said, truths, refusals)
    assert (always["exact_match"], always["best_f1"], always["best_f1_threshold"]) == (0.5, 1, -1)
    assert answer_scores(said, truths, refusals, threshold=0.0)["exact_match"] == 1
    assert answer_scores(said, truths, refusals, threshold=0.5)["exact_match"] == 0.5


def test_a_refusal_that_is_not_a_number_withholds_nothing() -> None:
    said, truths = ("cat", "dog"), (["cat"], [])
    scores = answer_scores(said, truths, (math.nan, 3.0))
    assert scores["best_f1"] == 1
    assert scores["best_f1_threshold"] < 3
    assert answer_scores(said, truths, (math.nan, math.nan))["best_f1"] == 0.5


def test_no_questions_score_nothing() -> None:
    assert answer_scores([], []) == answer_scores([], [], []) == {"exact_match": 0, "f1": 0}


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from seqeval.metrics import sequence_labeling

# Every prefix, types that are told apart by their ends only, a type with a hyphen, a prefix alone.
PREFIXES, TYPES = "BIES", ("PER", "LOC", "LO-C", "P")
tags = st.one_of(
    st.just("O"),
    st.sampled_from([*PREFIXES]),
    st.tuples(st.sampled_from(PREFIXES), st.sampled_from(TYPES)).map("-".join),
)
plain = st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])


def sentences(tag):
    pair = st.lists(st.tuples(tag, tag), max_size=12)
    return st.lists(pair, min_size=1, max_size=6).map(
        lambda some: ([[a for a, _ in one] for one in some], [[b for _, b in one] for one in some])
    )


def by_seqeval(truth, predicted, average):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about types that never occur
        found = sequence_labeling.precision_recall_fscore_support(truth, predicted, average=average)
    return found


@given(st.lists(tags, max_size=15))
def test_spans_are_those_of_seqeval(some) -> None:
    assert list(entity_spans(some)) == [
        (kind, start, last + 1) for kind, start, last in sequence_labeling.get_entities(some)
    ]


@pytest.mark.parametrize("tag", [tags, plain])
def test_scores_are_those_of_seqeval(tag) -> None:
    @given(sentences(tag))
    def check(pair) -> None:
        truth, predicted = pair
        report = entity_report(truth, predicted)
        if not report.per_type:  # seqeval makes a mean of nothing
            assert (report.precision, report.recall, report.f1) == (0, 0, 0)
            return
        found = (report.precision, report.recall, report.f1)
        assert found == pytest.approx(tuple(by_seqeval(truth, predicted, "micro"))[:3])
        each = zip(*by_seqeval(truth, predicted, None), strict=True)
        for scores, wanted in zip(report.per_type, each, strict=True):
            assert (scores.precision, scores.recall, scores.f1, scores.support) == pytest.approx(wanted)
        if any(truth):
            assert report.token_accuracy == pytest.approx(sequence_labeling.accuracy_score(truth, predicted))

    check()


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.floats(0.01, 1.0))
def test_a_threshold_for_a_recall_is_the_highest_that_reaches_it(refusals: list[int], recall: float) -> None:
    def reached(threshold: float) -> float:
        return sum(refusal > threshold for refusal in refusals) / len(refusals)

    threshold = threshold_for_recall(refusals, recall)
    assert reached(threshold) >= recall - 1e-9
    assert all(reached(refusal) < recall for refusal in refusals if refusal > threshold)


def test_a_threshold_for_a_recall_knows_no_nan() -> None:
    assert threshold_for_recall((math.nan, 1.0, 3.0), 0.3) == 2.0
    assert threshold_for_recall((math.nan,), 0.5) == 0.0


def test_labels_in_a_wrong_order_are_made_the_best_of() -> None:
    assert entity_spans(["O", "I-PER", "I-PER", "I-LOC"]) == (("PER", 1, 3), ("LOC", 3, 4))
    assert entity_spans(["B-PER", "B-PER", "I-PER"]) == (("PER", 0, 1), ("PER", 1, 3))


def test_a_tag_without_a_prefix_is_a_type() -> None:
    assert entity_spans(["INTJ", "INTJ", "", "Bird", "Ox"]) == (("INTJ", 0, 2), ("Bird", 3, 4), ("Ox", 4, 5))


def test_tags_of_entities_are_told_from_parts_of_speech_that_have_hyphens() -> None:
    assert marks_entities(("O", "B-PER", "I-PER"))
    assert not marks_entities(("NN", "VB", "-LRB-"))
