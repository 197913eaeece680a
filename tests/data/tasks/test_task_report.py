"""What is said of labelled examples before they are trained on, near-duplicates among them."""

import itertools
import random
import time
from dataclasses import replace

import pytest

from bertviz_lab.data.examples import Answer, LabelledText, LabelledWords, Question, TaskData
from bertviz_lab.data.tasks.near_duplicates import near_duplicates
from bertviz_lab.data.tasks.task_report import ClassCount, examine_task
from bertviz_lab.tokenization import Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["the film was good and the film was bad indeed"] * 20, vocab_size=200)


def texts(*pairs: tuple[str, str]) -> TaskData:
    examples = tuple(LabelledText(text, None, label, n) for n, (text, label) in enumerate(pairs, 1))
    return TaskData("classification", examples, tuple(sorted({label for _, label in pairs})))


def test_classes_repeats_contradictions_and_overlap_are_counted(tokenizer):
    train = texts(("good", "pos"), ("bad", "neg"), ("the film", "pos"))
    report = examine_task(train, texts(("film", "pos"), ("was", "new")).examples, tokenizer, 16)
    assert report.classes == (ClassCount("neg", 1, 0), ClassCount("pos", 2, 1), ClassCount("new", 0, 1))
    assert (report.train_count, report.held_count) == (3, 2)
    assert any('"new": it cannot be learned' in note for note in report.notes)
    train = texts(("good film", "pos"), ("Good  film", "pos"), ("good film", "neg"), ("bad", "neg"), ("bad", "neg"))
    report = examine_task(train, texts(("BAD", "neg"), ("other", "pos")).examples, tokenizer, 16)
    assert (report.duplicates, report.contradictions, report.overlap) == (2, 1, 1)
    assert len([n for n in report.notes if "repeat" in n or "more than one label" in n or "trained on" in n]) == 3


def test_time_grows_linearly_where_many_questions_share_a_long_passage(tokenizer):
    def seconds(count: int) -> float:
        passage = "the film was good and " * 20 * count
        questions = tuple(Question(str(n), f"was it {n}", passage, (), n) for n in range(count))
        begin = time.process_time()
        examine_task(TaskData("qa", questions), (), tokenizer, 16)
        return time.process_time() - begin

    assert min(seconds(1_000) for _ in range(2)) < 20 * min(seconds(200) for _ in range(3))


def test_lengths_are_those_that_the_model_reads(tokenizer):
    pair = LabelledText("the film", "was good indeed", "a", 1)
    train = replace(texts(("good", "a"), ("bad", "b")), examples=(*texts(("good", "a"), ("bad", "b")).examples, pair))
    lengths = examine_task(train, (), tokenizer, 5).lengths
    expected = [len(tokenizer.encode(e.text_a, e.text_b)) for e in train.examples]
    assert lengths.longest == max(expected)
    assert lengths.median == sorted(expected)[1]
    assert lengths.cut == sum(n > 5 for n in expected) > 0
    assert sum(lengths.counts) == lengths.measured == 3
    assert len(lengths.edges) == len(lengths.counts) + 1


def test_rare_characters_and_unbalanced_classes_are_told(tokenizer):
    report = examine_task(texts(("good ☃", "a"), ("☃ ☃", "b")), (), tokenizer, 16)
    assert report.unknown_share == 0.75
    assert any("unknown to the vocabulary" in note for note in report.notes)
    train = texts(*[(f"good film {n}", "many") for n in range(30)], ("bad", "few"))
    assert any("right in 96.8% of all" in note for note in examine_task(train, (), tokenizer, 16).notes)


def test_words_and_questions_are_examined_too(tokenizer):
    words = TaskData("tokens", (LabelledWords(("the", "film"), ("O", "B-X"), 1),), ("B-X", "O"))
    report = examine_task(words, (), tokenizer, 16)
    assert report.classes == (ClassCount("B-X", 1, 0), ClassCount("O", 1, 0))
    assert (report.counted, report.train_counted, report.train_count) == ("words", 2, 1)
    asked = Question("1", "was it good", "the film was good", (Answer("good", 13),), 1)
    report = examine_task(TaskData("qa", (asked, replace(asked, id="2", answers=()))), (asked,), tokenizer, 6)
    assert report.classes == (ClassCount("answer", 1, 1), ClassCount("no answer", 1, 0))
    assert (report.counted, report.train_counted, report.held_counted) == ("examples", 2, 1)
    assert report.lengths.cut == 2
    assert any("several windows" in note for note in report.notes)
    numbers = TaskData("regression", (LabelledText("good", None, 1.5, 1), LabelledText("good", None, 2.5, 2)))
    report = examine_task(numbers, (), tokenizer, 16)
    assert (report.classes, report.contradictions) == ((), 1)


def lines_of(*lines: str) -> list[LabelledText]:
    return [LabelledText(line, None, "a", row) for row, line in enumerate(lines, 1)]


TEN = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (("The cat sat.", "a dog", "Sat: the CAT"), (1.0, (0, 2))),  # case, signs and order make no difference
        ((TEN.removesuffix(" ten"), TEN, "one two three"), (0.9, (0, 1))),  # nor nearly does one word of ten
        (("我喜欢这部电影", "我喜欢这部电影了"), (7 / 8, (0, 1))),  # Han characters are compared one by one
    ],
)
def test_texts_of_nearly_the_same_words_are_found_and_the_sides_of_a_pair_not_mixed_up(lines, found) -> None:
    assert list(near_duplicates(lines_of(*lines))) == [found]
    pairs = [LabelledText("a b", "c d", "x", 1), LabelledText("c d", "a b", "x", 2)]
    assert list(near_duplicates(pairs)) == []


def test_all_pairs_that_comparing_each_with_each_finds_are_found() -> None:
    rng = random.Random(0)
    lines = [" ".join(rng.sample("abcdefghijkl", rng.randint(4, 8))) for _ in range(120)]
    sets = list(dict.fromkeys(frozenset(line.split()) for line in lines))
    for least in (0.5, 0.75, 0.8):
        expected = {
            frozenset(p) for p in itertools.combinations(sets, 2) if len(p[0] & p[1]) >= least * len(p[0] | p[1])
        }
        found = [a for a in near_duplicates(lines_of(*lines), least) if a.share < 1]
        assert {frozenset(frozenset(lines[n].split()) for n in a.places) for a in found} == expected
        assert len(found) == len(expected)
