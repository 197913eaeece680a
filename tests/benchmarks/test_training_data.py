"""A cloze question asks for words that stand in its passage, and its passage is none that is scored on later."""

import random
import re
from collections import Counter
from itertools import islice

import pytest

from benchmarks.training_data.cloze_questions import ask, cloze_questions
from benchmarks.training_data.embedding_pairs import normal
from benchmarks.training_data.held_out_sentences import whole, without_parts
from benchmarks.training_data.town_questions import TELLS, lines_of, questions, text_of, write_questions
from benchmarks.training_data.unanswerable_questions import PassageIndex, around_answer, with_unanswerable
from bertviz_lab.data.examples import Question
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.data.samples.tiny_town import imagine
from bertviz_lab.data.samples.tiny_town.world import PLOTS
from bertviz_lab.errors import InputError

SENTENCES = (
    "The old bridge of the small town was finished by masons from Prague in 1357.",
    "In that year the emperor himself laid the first stone, as every child of Prague still learns at school.",
    "A flood took three of its 16 arches, and carpenters closed the gap with beams of oak.",
)


def cloze(sentences: tuple[str, ...] = SENTENCES, count: int = 300) -> list[tuple[str, str, str, int]]:
    rng = random.Random(0)
    return [asked for _ in range(count) if (asked := ask(sentences, rng)) is not None]


def test_every_answer_stands_where_it_is_said_to_stand() -> None:
    asked = cloze()
    assert len(asked) > 200
    assert all(passage[start:].startswith(answer) for passage, _, answer, start in asked)
    assert {"1357", "16"} < {answer for _, _, answer, _ in asked}, "numbers are asked for"


def test_the_answer_has_left_the_question_and_a_question_word_is_there() -> None:
    for _, question, answer, _ in cloze():
        assert question.endswith("?")
        assert re.search(r"\b(who|what|which|where|when|how many|how much)\b", question)
        assert answer not in question or answer in "the emperor himself", question


def test_passages_that_are_scored_on_later_are_passed_over() -> None:
    paragraph = " ".join(SENTENCES)
    assert list(cloze_questions([paragraph] * 5))
    tested = normal(f"Something before. {SENTENCES[1]} Something after.")
    assert not list(cloze_questions([paragraph] * 5, {tested}))


WHOLE = ["a film that is never dull , and often moving .", "dull , and often dull ."]
PARTS = ["a film", "that is never dull", "never dull , and often moving", "dull , and often", "and often dull ."]


def test_whole_sentences_are_no_part_of_others():
    assert sorted(whole([*PARTS, *WHOLE])) == sorted(WHOLE)
    assert whole(["dull", "dullness", "a dullness"]) == ["a dullness", "dull"], "words, not letters"


def test_what_is_trained_on_shares_no_phrase_with_them_but_a_word_or_two():
    rows = [[text, "0"] for text in [*PARTS, *WHOLE]]
    kept = [text for text, _ in without_parts(rows, WHOLE[1:])]
    assert kept == ["a film", "that is never dull", "never dull , and often moving", WHOLE[0]]


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


TOLD = list(islice(imagine(5), 600))


@pytest.mark.slow
def test_the_files_that_ship_are_what_the_program_writes() -> None:
    assert sample_path("town-questions").read_text(encoding="ascii") == lines_of(write_questions())
    held = sample_path("town-questions:held-out").read_text(encoding="ascii")
    assert held == lines_of(write_questions(count=100, held_out=True))
    with pytest.raises(InputError, match='has no part "held-out"'):
        sample_path("topics:held-out")


def test_every_sentence_that_is_asked_about_is_told_in_some_plot() -> None:
    assert TELLS.keys() <= {text for plot in PLOTS for beat in plot.beats for text in beat.templates}
    assert all(list(questions(story)) for story in TOLD)


def test_an_answer_stands_where_it_is_said_to() -> None:
    for story in TOLD:
        for asked in questions(story):
            assert asked.start is not None
            assert text_of(story)[asked.start :].startswith(asked.answer)
            assert asked.text[0].isupper()
            assert asked.text.endswith("?")
            assert not re.search(r"[{}\[\]/]", asked.text + asked.answer)


#: A question, and the sentence that the story must hold where `{}` is its answer.
SAID = {
    r"What colour is the bike of (\w+)\?": r"\1 has an? {} bike\.",
    r"What colour (?:is|are) the (\w+)\?": r"{} \1\b",
    r"How is the sky at noon\?": r"the sky is {}\.",
    r"Whom does (\w+) visit\?": r"\1 visits {}\.",
    r"Whom does (\w+) ask for help\?": r"\1 asks {} for help",
    r"To whom does (\w+) say sorry\?": r"\1 says sorry to {}\.",
    r"Whose (\w+) (?:is|are) broken\?": r"\1 of {} (?:is|are) broken",
    r"Whose birthday is it\?": r"birthday of {}\.",
    r"Who is ill\?": r"{} is ill today",
    r"Who gets the (\w+)\?": r"{} gets the \1 from",
    r"Who gives the (\w+ \w+) to (\w+)\?": r"{} gives the \1 to \2\.",
    r"Who could win\?": r"{} could win",
    r"For whom does (\w+) stop\?": r"\1 could win, but s?he stops for {}\.",
    r"How many coins does (\w+) have\?": r"\1 has (?:only )?{} coins",
    r"How many coins do(?:es)? the (\w+) cost\?": r"\1 at the market costs? {} coins",
    r"How many (\w+) does (\w+) plant\?": r"\2 plants {} \w+ \1",
    r"Where does (\w+) find the (\w+)\?": r"\1 finds the \w+ \2 {}\.",
    r"Where (?:is|are) the (\w+) stuck\?": r"\1 (?:is|are) stuck {}\.",
    r"What does (\w+) have at first\?": r"^.*?\1 has {}\.",
}


def with_groups(pattern: str, found: re.Match[str]) -> str:
    """A pattern with what another has found in place of \\1 and \\2."""
    return re.sub(r"\\([12])", lambda number: re.escape(found[int(number[1])]), pattern)


def test_answers_are_what_the_story_says() -> None:
    checked = Counter[str]()
    for story in TOLD:
        text = text_of(story)
        for asked in questions(story):
            for pattern, said in SAID.items():
                if found := re.fullmatch(pattern, asked.text):
                    expected = with_groups(said, found).replace("{}", re.escape(asked.answer))
                    assert re.search(expected, text), (asked, text)
                    checked[pattern] += 1
    assert checked.keys() == SAID.keys()


def test_a_quarter_has_no_answer_and_no_held_out_story_is_trained_on() -> None:
    train, held = (
        read_task([sample_path(name)], "qa").examples for name in ("town-questions", "town-questions:held-out")
    )
    for part in (train, held):
        asked = [example for example in part if isinstance(example, Question)]
        assert len(asked) == len(part)
        assert 0.2 < sum(not example.answers for example in asked) / len(asked) < 0.3
    passages = [{example.passage for example in part if isinstance(example, Question)} for part in (train, held)]
    assert len(passages[0]) > 900
    assert not passages[0] & passages[1]
