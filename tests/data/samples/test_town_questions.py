"""Questions about Tiny Town: answers stand where they are said to, and are true in the world of the story."""

import random
import re
from itertools import islice

import pytest

from bertviz_lab.data.samples.labelled import path_of
from bertviz_lab.data.samples.tiny_town import imagine
from bertviz_lab.data.samples.tiny_town.plots import PLOTS
from bertviz_lab.data.samples.tiny_town.questions import (
    _TELLS,
    impossible,
    lines_of,
    questions,
    text_of,
    write_questions,
)
from bertviz_lab.data.samples.tiny_town.world import COLOURS, FUR, NEIGHBOURS, NUMBERS, PEOPLE
from bertviz_lab.data.tasks.examples import Question
from bertviz_lab.data.tasks.reading import read_task
from bertviz_lab.errors import InputError

TOLD = list(islice(imagine(5), 600))
NAMES = {person.name for person in (*PEOPLE, *NEIGHBOURS)}


def test_the_files_that_ship_are_what_the_program_writes() -> None:
    assert path_of("town-questions").read_text(encoding="ascii") == lines_of(write_questions())
    held = path_of("town-questions:held-out").read_text(encoding="ascii")
    assert held == lines_of(write_questions(count=100, held_out=True))
    with pytest.raises(InputError, match='has no part "held-out"'):
        path_of("topics:held-out")


def test_every_sentence_that_is_asked_about_is_told_in_some_plot() -> None:
    assert _TELLS.keys() <= {way for plot in PLOTS for beat in plot.beats for way in beat.ways}
    assert all(list(questions(story)) for story in TOLD)


def test_an_answer_stands_where_it_is_said_to() -> None:
    for story in TOLD:
        for asked in questions(story):
            assert asked.start is not None
            assert text_of(story)[asked.start :].startswith(asked.answer)
            assert asked.text[0].isupper()
            assert asked.text.endswith("?")
            assert not re.search(r"[{}\[\]/]", asked.text + asked.answer)


def test_answers_are_true_in_the_world_of_the_story() -> None:
    checked = 0
    for story in TOLD:
        world = story.world
        for asked in questions(story):
            answer = asked.answer.lower()
            first, *_ = asked.text.split()
            if asked.text.startswith("What colour"):
                assert answer in {*COLOURS, *FUR, world.storm.sky}
                if "bike of" in asked.text:
                    owner = world.hero if world.hero.name in asked.text else world.friend
                    assert answer == (world.colour if owner == world.hero else world.other_colour)
            elif first in ("Whom", "Whose", "To", "For"):
                assert asked.answer in NAMES
                assert asked.answer in (world.hero.name, world.friend.name, world.neighbour.name)
            elif asked.text.startswith("How many"):
                number = NUMBERS.index(answer)
                assert number in (world.number, world.other_number, world.number + world.other_number)
            elif asked.text.startswith("Who gets"):
                assert asked.answer == world.friend.name
            else:
                continue
            checked += 1
    assert checked > 1000


def test_a_name_behind_a_pronoun_is_found_where_it_stands_last() -> None:
    found = [
        (story, asked)
        for story in TOLD
        for asked in questions(story)
        if "{he} buys {a_thing}" in " ".join(story.ways) and asked.text.startswith("Who buys")
    ]
    assert found
    for story, asked in found:
        assert asked.answer == story.world.hero.name
        assert asked.start is not None
        told = text_of(story)[asked.start + len(asked.answer) :].split(" buys ")[0]
        assert story.world.hero.name not in told


def test_what_cannot_be_answered_is_asked_of_no_sentence_of_the_story() -> None:
    rng = random.Random(0)
    for story in TOLD:
        asked = impossible(story, rng)
        assert (asked.answer, asked.start) == ("", None)
        assert asked.text not in {question.text for question in questions(story)}
        assert story.world.hero.name in asked.text or story.world.friend.name in asked.text


def test_a_quarter_has_no_answer_and_no_held_out_story_is_trained_on() -> None:
    train, held = (read_task([path_of(name)], "qa").examples for name in ("town-questions", "town-questions:held-out"))
    for part in (train, held):
        asked = [example for example in part if isinstance(example, Question)]
        assert len(asked) == len(part)
        assert 0.2 < sum(not example.answers for example in asked) / len(asked) < 0.3
    passages = [{example.passage for example in part if isinstance(example, Question)} for part in (train, held)]
    assert len(passages[0]) > 450
    assert not passages[0] & passages[1]
