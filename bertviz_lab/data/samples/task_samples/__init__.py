"""Labelled examples that are always there, small sets for each kind of task, written for this project.

Nothing in them is taken from another data set. They are a few hundred examples each, many of them hard on purpose, to
see a fine-tuning work within minutes and to look at where it goes wrong; the questions about Tiny Town are more, and
plain, and written by a program. They share the project's licence (Apache 2.0). Scores on them say little about other
texts: for that, bring data of your own.

entities.conll marks names as BIO2: PER (a title belongs to the name: "Queen Victoria"), LOC (places on the map, named
buildings, planets), ORG (companies, clubs, schools, parties, offices; a town that stands for its team) and DATE (days,
months and years by name or number, without "on" or "in"; no durations and no times of day).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from bertviz_lab.errors import InputError


@dataclass(frozen=True)
class LabelledSample:
    """Labelled examples that a person can fine-tune on without having any.

    Attributes:
        name: how the command line calls it, as `sample:name`.
        title: how the page calls it.
        description: a sentence or two, for people.
        task: one of `config.finetune.TASKS`.
        file: in this folder.
        settings: options of a fine-tuning, by name, that suit a small model on a processor within minutes.
        start: the model that comes with the lab that suits it, where it is not any that reads English.
        held_out: a file with more of the same, `sample:name:held-out`; "" where there is none. No model was trained on
            it, but the ones that ship for this task were chosen by it.
    """

    name: str
    title: str
    description: str
    task: str
    file: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""
    held_out: str = ""


LABELLED: dict[str, LabelledSample] = {
    sample.name: sample
    for sample in (
        LabelledSample(
            "sentiment",
            "Good or bad?",
            "440 sentences in which somebody likes or dislikes a film, a meal, a school ... One in four is hard: it "
            "denies (“not bad at all”), changes its mind, compares, means the opposite or only hints.",
            "classification",
            "sentiment.tsv",
            {"epochs": 15, "batch_size": 16, "eval_share": 0.2},
        ),
        LabelledSample(
            "topics",
            "What is it about?",
            "400 sentences about sport, science, politics, music or food. Single words often give the topic away, "
            "so a small model does well with few examples.",
            "classification",
            "topics.tsv",
            {"epochs": 10, "batch_size": 16, "eval_share": 0.2},
        ),
        LabelledSample(
            "paraphrases",
            "Do they say the same?",
            "240 pairs of sentences. Many pairs with the same words differ in meaning (“the cat chased the mouse”, "
            "“the mouse chased the cat”), and many with other words do not: very hard for small models.",
            "classification",
            "paraphrases.tsv",
            {"epochs": 20, "batch_size": 16, "eval_share": 0.2},
        ),
        LabelledSample(
            "entities",
            "Names in a sentence",
            "400 sentences in which people, places, organisations and dates are marked word by word. Washington "
            "is a general in one, a city in another and a team in a third: only the words around it can tell.",
            "tokens",
            "entities.conll",
            {"epochs": 20, "batch_size": 16, "eval_share": 0.2},
            held_out="entities_held_out.conll",
        ),
        LabelledSample(
            "town-questions",
            "Questions about Tiny Town",
            "4,964 questions on 1,000 stories, written by this program, which knows the answers; one in four has "
            "none in its story. Few words and plain sentences: the task that a small model can learn to do well.",
            "qa",
            "town_questions.json",
            {"epochs": 10, "batch_size": 16, "eval_share": 0.1},
            "tiny-town",
            "town_questions_held_out.json",
        ),
        LabelledSample(
            "questions",
            "Find the answer",
            "367 questions about 70 short passages, most of them invented, so that no model knows the answers "
            "beforehand. One in four has no answer there. Too few for a tiny model: take a larger one.",
            "qa",
            "questions.json",
            {"epochs": 10, "batch_size": 16, "eval_share": 0.2},
        ),
    )
}


def path_of(name: str) -> Path:
    """The file with the labelled sample of this name.

    Raises:
        InputError: there is no such sample.
    """
    name, _, part = name.partition(":")
    if name not in LABELLED:
        raise InputError(f'There is no labelled sample "{name}"; choose one of {", ".join(LABELLED)}.')
    file = {"": LABELLED[name].file, "held-out": LABELLED[name].held_out}.get(part)
    if not file:
        raise InputError(f'The sample "{name}" has no part "{part}".')
    return Path(str(resources.files(__name__) / file))
