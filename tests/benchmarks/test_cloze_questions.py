"""A cloze question asks for words that stand in its passage, and its passage is none that is scored on later."""

import random
import re

import pytest

from benchmarks.task_datasets import folder as data_folder
from benchmarks.training_data.cloze_questions import ask, cloze_questions
from benchmarks.training_data.embedding_pairs import normal

SENTENCES = (
    "The old bridge of the small town was finished by masons from Prague in 1357.",
    "In that year the emperor himself laid the first stone, as every child of Prague still learns at school.",
    "A flood took three of its 16 arches, and carpenters closed the gap with beams of oak.",
)


def questions(sentences: tuple[str, ...] = SENTENCES, count: int = 300) -> list[tuple[str, str, str, int]]:
    rng = random.Random(0)
    return [asked for _ in range(count) if (asked := ask(sentences, rng)) is not None]


def test_every_answer_stands_where_it_is_said_to_stand() -> None:
    asked = questions()
    assert len(asked) > 200
    assert all(passage[start:].startswith(answer) for passage, _, answer, start in asked)
    assert {"1357", "16"} < {answer for _, _, answer, _ in asked}, "numbers are asked for"


def test_the_answer_has_left_the_question_and_a_question_word_is_there() -> None:
    for _, question, answer, _ in questions():
        assert question.endswith("?")
        assert re.search(r"\b(who|what|which|where|when|how many|how much)\b", question)
        assert answer not in question or answer in "the emperor himself", question


def test_a_question_keeps_words_of_its_sentence_alone() -> None:
    asking = {"who", "what", "which", "where", "when", "year", "in", "how", "many", "number", "much"}
    of_sentences = [set(re.findall(r"\w+", sentence)) for sentence in SENTENCES]
    for _, question, _, _ in questions():
        words = set(re.findall(r"\w+", question)) - asking
        assert any(words <= known for known in of_sentences), question


def test_a_sentence_may_leave_the_passage_where_its_answer_stands_elsewhere_too() -> None:
    by_prague = [passage for passage, _, answer, _ in questions() if answer == "Prague"]
    shortened = [passage for passage in by_prague if passage != " ".join(SENTENCES)]
    assert 0.2 < len(shortened) / len(by_prague) < 0.8
    others = [passage for passage, _, answer, _ in questions() if answer == "1357"]
    assert set(others) == {" ".join(SENTENCES)}, "here the sentence is the only one with the answer"


def test_passages_that_are_scored_on_later_are_passed_over() -> None:
    paragraph = " ".join(SENTENCES)
    assert list(cloze_questions([paragraph] * 5))
    tested = normal(f"Something before. {SENTENCES[1]} Something after.")
    assert not list(cloze_questions([paragraph] * 5, {tested}))


@pytest.mark.parametrize("paragraph", ["", "One sentence.", "No. No. No.", "\u202e ∂ 😀. ? !"])
def test_a_paragraph_without_anything_to_ask_gives_no_question(paragraph: str) -> None:
    assert not list(cloze_questions([paragraph]))


def test_the_same_seed_gives_the_same_questions() -> None:
    if not (data_folder() / "wiki_en" / "valid.txt").is_file():
        pytest.skip("the published text is not on this machine")
    paragraphs = (data_folder() / "wiki_en" / "valid.txt").read_text(encoding="utf-8").splitlines()[:400]
    first = list(cloze_questions(paragraphs, seed=1))
    assert first == list(cloze_questions(paragraphs, seed=1)) != list(cloze_questions(paragraphs, seed=2))
    assert len(first) > 50
    ids = [question["qas"][0]["id"] for question in first]
    assert len(ids) == len(set(ids))
