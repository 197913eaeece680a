"""A cloze question asks for words that stand in its passage, and its passage is none that is scored on later."""

import random
import re
from collections import Counter
from itertools import islice

import pytest

from benchmarks.training_data.cloze_questions import ask, cloze_questions
from benchmarks.training_data.embedding_pairs import normal
from benchmarks.training_data.town_questions import lines_of, questions, text_of, write_questions
from benchmarks.training_data.unanswerable_questions import around_answer
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.data.samples.tiny_town import imagine
from bertviz_lab.errors import InputError

SENTENCES = (
    "The old bridge of the small town was finished by masons from Prague in 1357.",
    "In that year the emperor himself laid the first stone, as every child of Prague still learns at school.",
    "A flood took three of its 16 arches, and carpenters closed the gap with beams of oak.",
)


def cloze(sentences: tuple[str, ...] = SENTENCES, count: int = 300) -> list[tuple[str, str, str, int]]:
    rng = random.Random(0)
    return [asked for _ in range(count) if (asked := ask(sentences, rng)) is not None]


def test_passages_that_are_scored_on_later_are_passed_over() -> None:
    paragraph = " ".join(SENTENCES)
    assert list(cloze_questions([paragraph] * 5))
    tested = normal(f"Something before. {SENTENCES[1]} Something after.")
    assert not list(cloze_questions([paragraph] * 5, {tested}))


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
