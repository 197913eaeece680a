"""Questions about stories of Tiny Town, each with its answer in the story, or without one.

questions.tsv has, beside sentences of the plots, the questions that they answer; a general question is one that plots
without it might answer too, in words of their own. An answer is a stretch of the sentence that tells it; who is only
called he or she there is to be looked up where the name stands last before it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

from bertviz_lab.data.samples.tiny_town.plots import PLOTS, Plot, read_table
from bertviz_lab.data.samples.tiny_town.stories import Story, fill, imagine
from bertviz_lab.data.samples.tiny_town.world import CLOTHES, PEOPLE, THINGS

_TABLE = read_table("questions.tsv")
#: A way to say a beat -> what it answers: (question, answer).
TELLS = {
    way: tuple((row["question"], row["answer"]) for row in rows)
    for way, rows in groupby(_TABLE, key=lambda row: row["sentence"])
}
_GENERAL = {row["question"] for row in _TABLE if row["general"]}
_PER_STORY, _IMPOSSIBLE = 5, 0.25  # questions, and the share of them that the story does not answer


@dataclass(frozen=True)
class Question:
    """A question about a story. `answer` stands at `start` of the story's text; both are empty where none does."""

    text: str
    answer: str = ""
    start: int | None = None


def text_of(story: Story) -> str:
    """The story as a passage."""
    return " ".join(story.sentences)


def questions(story: Story) -> Iterator[Question]:
    """All that may be asked of a story, in its order."""
    start = 0
    for way, sentence in zip(story.ways, story.sentences, strict=True):
        for asked, answer in TELLS.get(way, ()):
            found = fill(answer, story.plot, story.world)
            where = _last(found, text_of(story)[: start + len(sentence)], start)
            if where is not None:
                yield Question(_question(asked, story), text_of(story)[where : where + len(found)], where)
        start += len(sentence) + 1


def impossible(story: Story, rng: random.Random) -> Question:
    """A question that the story does not answer: of somebody or something not in it, or of what does not happen."""
    candidates = [_of_strangers(story, rng), _of_another_thing(story, rng), _of_another_plot(story)]
    return Question(rng.choice(sorted(rng.choice([found for found in candidates if found]))))


def _of_strangers(story: Story, rng: random.Random) -> set[str]:
    """The story's own questions, asked of people who are not in it."""
    world = story.world
    hero, friend = rng.sample([person for person in PEOPLE if person not in (world.hero, world.friend)], 2)
    strange = replace(story, world=replace(world, hero=hero, friend=friend))
    return {_question(asked, strange) for asked in _asked(story.plot) if "{hero}" in asked or "{friend}" in asked}


def _of_another_thing(story: Story, rng: random.Random) -> set[str]:
    """The story's own questions, asked of a thing that is not in it; none where it is about no thing."""
    text, world = text_of(story), story.world
    thing, clothes = (
        rng.choice([thing for thing in things if not re.search(rf"\b{thing.noun}\b", text)])
        for things in (THINGS, CLOTHES)
    )
    strange = replace(story, world=replace(world, thing=thing, clothes=clothes))
    return {_question(asked, strange) for asked in _asked(story.plot) if "{noun}" in asked or "{thing}" in asked}


def _of_another_plot(story: Story) -> set[str]:
    """What other kinds of story tell, asked of the people in this one."""
    named = {asked for plot in PLOTS for asked in _asked(plot) if "{hero}" in asked or "{friend}" in asked}
    own = {_question(asked, story) for asked in _asked(story.plot)}
    return {_question(asked, story) for asked in named - _GENERAL} - own


def _asked(plot: Plot) -> set[str]:
    return {asked for beat in plot.beats for way in beat.ways for asked, _ in TELLS.get(way, ())}


def _question(asked: str, story: Story) -> str:
    text = fill(asked, story.plot, story.world)
    return text[0].upper() + text[1:]


def write_questions(seed: int = 0, count: int = 1000, *, held_out: bool = False) -> dict[str, Any]:
    """`count` stories, each with a few questions, as a file of SQuAD 2.0; the same for the same seed."""
    rng = random.Random(seed)
    passages = []
    for number, story in enumerate(islice(imagine(seed, held_out=held_out), count), 1):
        asked = list({question.text: question for question in questions(story)}.values())
        chosen = rng.sample(asked, min(_PER_STORY, len(asked)))
        chosen = [impossible(story, rng) if rng.random() < _IMPOSSIBLE else question for question in chosen]
        rows = [
            {
                "id": f"town-{number:04d}-{place}",
                "question": question.text,
                "answers": []
                if question.start is None
                else [{"text": question.answer, "answer_start": question.start}],
                "is_impossible": question.start is None,
            }
            for place, question in enumerate({question.text: question for question in chosen}.values(), 1)
        ]
        title = f"{story.plot.name} {number}"
        passages.append({"title": title, "paragraphs": [{"context": text_of(story), "qas": rows}]})
    return {"version": "v2.0", "data": passages}


def _last(answer: str, text: str, start: int) -> int | None:
    """Where an answer stands first in the sentence that begins at `start`, else last before it."""
    pattern = re.compile(rf"\b{re.escape(answer)}\b", re.IGNORECASE)
    inside = pattern.search(text, start)
    before = [match.start() for match in pattern.finditer(text, 0, start)]
    return inside.start() if inside else before[-1] if before else None


def lines_of(body: dict[str, Any]) -> str:
    """A SQuAD file with a passage a line, as the two that ship."""
    passages = ",\n".join(json.dumps(passage) for passage in body["data"])
    return f'{{"version": "{body["version"]}", "data": [\n{passages}\n]}}\n'
