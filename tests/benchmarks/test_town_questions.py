"""Questions about Tiny Town: answers stand where they are said to, and are true in the world of the story."""

import re
from collections import Counter
from itertools import islice

import pytest

from benchmarks.training_data.town_questions import TELLS, lines_of, questions, text_of, write_questions
from bertviz_lab.data.examples import Question
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.data.samples.tiny_town import imagine
from bertviz_lab.data.samples.tiny_town.world import PLOTS
from bertviz_lab.errors import InputError

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
