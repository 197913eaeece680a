"""A question without an answer is one that another passage answers, asked of a near passage that does not."""

import random

import pytest

from benchmarks.training_data.unanswerable_questions import PassageIndex, around_answer, with_unanswerable

RIVERS = "The Elbe is a river of Bohemia. It flows to Hamburg."
OTHER_RIVERS = "The Danube is a river that flows to the sea."
CAKES = "A cake is made of flour and eggs."


def asked(passage: str, question: str, answer: str) -> dict:
    answers = [{"text": answer, "answer_start": passage.index(answer)}]
    return {"context": passage, "qas": [{"id": question, "question": question, "answers": answers}]}


def test_a_passage_that_holds_the_answer_is_passed_over() -> None:
    index = PassageIndex([RIVERS, "The river Elbe passes Hamburg.", OTHER_RIVERS])
    assert index.closest_without("To which city flows the river Elbe?", ["Hamburg"], own=0) == 2


def test_every_second_question_is_asked_again_elsewhere_without_an_answer() -> None:
    paragraphs = [
        asked(RIVERS, "To which city flows the river?", "Hamburg"),
        asked(OTHER_RIVERS, "Which river flows to the sea?", "The Danube"),
        asked(CAKES, "What is a cake made of?", "flour and eggs"),
    ]
    articles = with_unanswerable(paragraphs, "made up")
    without = [
        (a["paragraphs"][0]["context"], q["question"])
        for a in articles
        for q in a["paragraphs"][0]["qas"]
        if q["is_impossible"]
    ]
    assert without == [(RIVERS, "What is a cake made of?"), (OTHER_RIVERS, "To which city flows the river?")]
    assert all(not q["answers"] for a in articles for q in a["paragraphs"][0]["qas"] if q["is_impossible"])
    ids = [q["id"] for a in articles for q in a["paragraphs"][0]["qas"]]
    assert len(ids) == len(set(ids)) == 5


@pytest.mark.parametrize("words", [1, 20, 70, 71, 200])
def test_a_short_passage_holds_the_answer_where_it_says(words: int) -> None:
    passage = "  ".join(f"word{number}," for number in range(words))
    rng = random.Random(0)
    for number in {0, words // 2, words - 1}:
        answer = {"text": f"word{number}", "answer_start": passage.index(f"word{number},")}
        for _ in range(20):
            short = around_answer(passage, {"id": "1", "question": "?", "answers": [answer]}, rng)
            (moved,) = short["qas"][0]["answers"]
            assert short["context"][moved["answer_start"] :].startswith(f"word{number},")
            assert short["context"] in passage
            assert len(short["context"].split()) == min(words, 70)
