"""A cloze question asks for words that stand in its passage, and its passage is none that is scored on later."""

import random
import re

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


def test_passages_that_are_scored_on_later_are_passed_over() -> None:
    paragraph = " ".join(SENTENCES)
    assert list(cloze_questions([paragraph] * 5))
    tested = normal(f"Something before. {SENTENCES[1]} Something after.")
    assert not list(cloze_questions([paragraph] * 5, {tested}))
