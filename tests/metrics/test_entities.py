import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.metrics.entities import entity_report, entity_spans, marks_entities

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


def test_labels_in_a_wrong_order_are_made_the_best_of() -> None:
    assert entity_spans(["O", "I-PER", "I-PER", "I-LOC"]) == (("PER", 1, 3), ("LOC", 3, 4))
    assert entity_spans(["B-PER", "B-PER", "I-PER"]) == (("PER", 0, 1), ("PER", 1, 3))


def test_a_tag_without_a_prefix_is_a_type() -> None:
    assert entity_spans(["INTJ", "INTJ", "", "Bird", "Ox"]) == (("INTJ", 0, 2), ("Bird", 3, 4), ("Ox", 4, 5))


def test_tags_of_entities_are_told_from_parts_of_speech_that_have_hyphens() -> None:
    assert marks_entities(("O", "B-PER", "I-PER"))
    assert not marks_entities(("NN", "VB", "-LRB-"))
