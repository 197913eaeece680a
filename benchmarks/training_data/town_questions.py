"""Questions about stories of Tiny Town, each with its answer in the story, or without one.

town_questions.tsv lists the questions that each sentence of the plots answers; a general question is one that plots
without it might answer too, in other words. An answer is a span of its sentence; where that has only "he" or "she", the
answer is the last mention of the name before it.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from bertviz_lab.data.samples.tiny_town.stories import Story, fill, imagine
from bertviz_lab.data.samples.tiny_town.world import CLOTHES, PEOPLE, PLOTS, THINGS, Plot

_LINES = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
_TABLE = list(csv.DictReader(_LINES, delimiter="\t"))
#: Template of a sentence -> what it answers: (question, answer).
TELLS = {
    template: tuple((row["question"], row["answer"]) for row in rows)
    for template, rows in groupby(_TABLE, key=lambda row: row["sentence"])
}
_GENERAL = {row["question"] for row in _TABLE if row["general"]}
_PER_STORY, _IMPOSSIBLE = 5, 0.25  # questions, and the share of them that the story does not answer


@dataclass(frozen=True)
class Question:
    """A question about a story. `answer` begins at `start` in the story's text; both are empty without an answer."""

    text: str
    answer: str = ""
    start: int | None = None


def text_of(story: Story) -> str:
    """The story as a passage."""
    return " ".join(story.sentences)


def questions(story: Story) -> Iterator[Question]:
    """Every question that the story answers, in its order."""
    start = 0
    for template, sentence in zip(story.templates, story.sentences, strict=True):
        for question, answer in TELLS.get(template, ()):
            expected = fill(answer, story.plot, story.world)
            position = _last(expected, text_of(story)[: start + len(sentence)], start)
            if position is not None:
                end = position + len(expected)
                yield Question(_question(question, story), text_of(story)[position:end], position)
        start += len(sentence) + 1


def impossible(story: Story, rng: random.Random) -> Question:
    """A question that the story does not answer: about someone, something or an event that is not in it."""
    candidates = [_about_strangers(story, rng), _about_another_thing(story, rng), _about_another_plot(story)]
    return Question(rng.choice(sorted(rng.choice([options for options in candidates if options]))))


def _about_strangers(story: Story, rng: random.Random) -> set[str]:
    """The story's own questions, about people who are not in it."""
    world = story.world
    hero, friend = rng.sample([person for person in PEOPLE if person not in (world.hero, world.friend)], 2)
    strange = replace(story, world=replace(world, hero=hero, friend=friend))
    return {_question(t, strange) for t in _question_templates(story.plot) if "{hero}" in t or "{friend}" in t}


def _about_another_thing(story: Story, rng: random.Random) -> set[str]:
    """The story's own questions, about a thing that is not in it; none where it is about no thing."""
    text, world = text_of(story), story.world
    thing, clothes = (
        rng.choice([thing for thing in things if not re.search(rf"\b{thing.noun}\b", text)])
        for things in (THINGS, CLOTHES)
    )
    strange = replace(story, world=replace(world, thing=thing, clothes=clothes))
    return {_question(t, strange) for t in _question_templates(story.plot) if "{noun}" in t or "{thing}" in t}


def _about_another_plot(story: Story) -> set[str]:
    """Questions of other plots, about the people in this story."""
    templates = {t for plot in PLOTS for t in _question_templates(plot) if "{hero}" in t or "{friend}" in t}
    own = {_question(template, story) for template in _question_templates(story.plot)}
    return {_question(template, story) for template in templates - _GENERAL} - own


def _question_templates(plot: Plot) -> set[str]:
    return {question for beat in plot.beats for template in beat.templates for question, _ in TELLS.get(template, ())}


def _question(template: str, story: Story) -> str:
    text = fill(template, story.plot, story.world)
    return text[0].upper() + text[1:]


def write_questions(seed: int = 0, count: int = 1000, *, held_out: bool = False) -> dict[str, Any]:
    """`count` stories, each with a few questions, in the SQuAD 2.0 format; deterministic for a seed."""
    rng = random.Random(seed)
    passages = []
    for number, story in enumerate(islice(imagine(seed, held_out=held_out), count), 1):
        possible = list({question.text: question for question in questions(story)}.values())
        chosen = rng.sample(possible, min(_PER_STORY, len(possible)))
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
    """The first position of an answer in the sentence that begins at `start`, else the last before it."""
    pattern = re.compile(rf"\b{re.escape(answer)}\b", re.IGNORECASE)
    inside = pattern.search(text, start)
    before = [match.start() for match in pattern.finditer(text, 0, start)]
    return inside.start() if inside else before[-1] if before else None


def lines_of(body: dict[str, Any]) -> str:
    """A SQuAD file with one passage per line, like the two that ship."""
    passages = ",\n".join(json.dumps(passage) for passage in body["data"])
    return f'{{"version": "{body["version"]}", "data": [\n{passages}\n]}}\n'
