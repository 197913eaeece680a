"""A part held out: the right share of everything, the same part every time, and nothing on both sides."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.examples import LabelledText, Question, TaskData
from bertviz_lab.data.tasks.split import split_examples
from bertviz_lab.errors import InputError


def classes(labels: list[str], texts: list[str] | None = None) -> TaskData:
    texts = texts or [f"text number {n}" for n in range(len(labels))]
    examples = tuple(
        LabelledText(text, None, label, n) for n, (text, label) in enumerate(zip(texts, labels, strict=True), 1)
    )
    return TaskData("classification", examples, tuple(sorted(set(labels))))


def questions(passages: int, each: int, titles: int) -> TaskData:
    found = [
        Question(f"{p}-{q}", "What?", f"passage {p}", (), p * each + q, f"title {p % titles}" if titles else "")
        for p in range(passages)
        for q in range(each)
    ]
    return TaskData("qa", tuple(found))


def test_labels_and_numbers_are_stratified_and_a_single_example_of_a_class_is_trained_on():
    data = classes(["a"] * 700 + ["b"] * 250 + ["c"] * 50)
    train, held = split_examples(data, 0.1)
    assert Counter(e.label for e in held) == {"a": 70, "b": 25, "c": 5}
    assert len(train) == 900
    train, _ = split_examples(classes(["a"] * 50 + ["rare"]), 0.5)
    assert "rare" in {e.label for e in train}
    examples = tuple(LabelledText(f"text {n}", None, n / 10, n) for n in range(1000))
    _, held = split_examples(TaskData("regression", examples), 0.1)
    assert Counter(int(e.label) // 10 for e in held) == dict.fromkeys(range(10), 10)


def test_the_seed_alone_decides_and_the_order_of_the_rows_does_not():
    data = classes(list("aab") * 50)
    turned = TaskData("classification", data.examples[::-1], data.labels)
    held = {e.row for e in split_examples(data, 0.2, seed=1)[1]}
    assert held == {e.row for e in split_examples(turned, 0.2, seed=1)[1]}
    assert held != {e.row for e in split_examples(data, 0.2, seed=2)[1]}


def test_examples_with_the_same_text_stay_on_one_side():
    texts = [f"text {n % 40}" if n % 2 else f"TEXT   {n % 40}" for n in range(200)]
    train, held = split_examples(classes(list("ab") * 100, texts), 0.2)
    assert not {e.text_a.lower().split()[1] for e in train} & {e.text_a.lower().split()[1] for e in held}
    assert 20 <= len(held) <= 60


def test_questions_of_an_article_stay_on_one_side():
    train, held = split_examples(questions(100, 3, titles=25), 0.2)
    assert not {e.title for e in train} & {e.title for e in held}
    assert 45 <= len(held) <= 75


@pytest.mark.parametrize("titles", [0, 1, 2])
def test_with_few_articles_questions_of_a_passage_stay_on_one_side(titles):
    train, held = split_examples(questions(100, 3, titles), 0.1)
    assert not {e.passage for e in train} & {e.passage for e in held}
    assert 15 <= len(held) <= 45


def test_what_cannot_be_split_is_refused():
    with pytest.raises(InputError, match="one passage"):
        split_examples(questions(1, 50, 1))
    with pytest.raises(InputError, match="too few"):
        split_examples(classes(["a", "b"], ["same", "same"]))


@pytest.mark.parametrize("share", [0, 1, -0.5, 2])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(InputError, match="between 0 and 1"):
        split_examples(classes(list("ab") * 10), share)


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=200), st.floats(0.05, 0.9), st.integers(0, 9))
def test_every_example_is_on_one_side_in_the_order_of_the_data(labels, share, seed):
    data = classes(labels)
    sides = split_examples(data, share, seed)
    assert sorted([*sides[0], *sides[1]], key=lambda e: e.row) == list(data.examples)
    for side in sides:
        assert side
        assert [e.row for e in side] == sorted(e.row for e in side)
