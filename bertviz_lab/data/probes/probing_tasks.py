"""Words with labels for probing classifiers: what can be read off a word's hidden state?

Labels are known because the sentences were generated: part of speech and number by the table town_words.tsv, which has
every word of Tiny Town, the number of a masked verb's subject and the gender of a masked pronoun by the story. Named
entities are those of the sample that was written for this project.
"""

import csv
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import cast

from bertviz_lab.data.examples import LabelledWords
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.probes.minimal_pairs import minimal_pairs, words
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.data.samples.tiny_town.stories import imagine
from bertviz_lab.data.samples.tiny_town.world import NEIGHBOURS, PEOPLE

#: Stands for the mask token in the words of a sentence.
MASK = "[MASK]"
_STORIES, _PAIRS = 120, 240  # held-out stories whose words are labeled; sentences of each number or gender
_SEED = 3


@dataclass(frozen=True)
class LabeledSentence:
    """A sentence, with labels for some of its words."""

    words: tuple[str, ...]
    labels: tuple[str | None, ...]  # None for a word that is not asked about
    #: What a control task draws its labels for (Hewitt and Liang 2019): the word, or what decides about a masked one.
    types: tuple[str, ...]


@dataclass(frozen=True)
class ProbingTask:
    """What a probe is trained to predict."""

    name: str
    title: str
    read: Callable[[], tuple[LabeledSentence, ...]]


def sentences_of_file(path: Path | str) -> tuple[LabeledSentence, ...]:
    """Return the sentences of a file with a label for each word, such as CoNLL; spans have the label of their type.

    Raises `InputError` for a file of another kind.
    """
    sentences = cast(Sequence[LabelledWords], read_task([path], "tokens").examples)
    return tuple(_labeled(s.words, (label.partition("-")[2] or label for label in s.labels)) for s in sentences)


def _labeled(found: Sequence[str], labels: Iterable[str | None]) -> LabeledSentence:
    return LabeledSentence(tuple(found), tuple(labels), tuple(map(str.lower, found)))


@functools.cache
def _table() -> Mapping[str, tuple[str, str]]:
    """Return the tag and the number, "" without one, of each word of Tiny Town."""
    text = resources.files(__package__).joinpath("town_words.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t")
    return {word: (row["tag"], row["number"]) for row in rows for word in row["words"].split()}


def _town_words(label: Callable[[str, str], str | None]) -> tuple[LabeledSentence, ...]:
    """Return held-out sentences whose words have the `label` of their tag and number."""
    sentences = (sentence for story in imagine(_SEED, held_out=True) for sentence in story.sentences)
    split = (words(sentence) for sentence in dict.fromkeys(islice(sentences, 9 * _STORIES)))
    return tuple(_labeled(found, (label(*_table()[word.lower()]) for word in found)) for found in split)


def _masked(sentence: Sequence[str], position: int, label: str, cue: str) -> LabeledSentence:
    """Return a sentence with one word masked, which has a label; `cue` is what decides it."""
    rest = len(sentence) - position - 1
    return LabeledSentence(
        (*sentence[:position], MASK, *sentence[position + 1 :]),
        (*[None] * position, label, *[None] * rest),
        (*sentence[:position], cue, *sentence[position + 1 :]),
    )


def _subject_number() -> tuple[LabeledSentence, ...]:
    """Return sentences whose masked verb agrees with a noun, as many of each number."""
    by_number: dict[str, dict[LabeledSentence, None]] = {"Sing": {}, "Plur": {}}
    for story in imagine(_SEED, held_out=True):
        with_verb = {beat.name for beat in story.plot.beats if beat.verb}
        for beat, sentence in zip(story.beats, story.sentences, strict=True):
            found = words(sentence)
            tags = [_table()[word.lower()] for word in found]
            noun = next((at for at, (tag, _) in enumerate(tags) if tag == "NOUN"), len(tags))
            verb = next((at for at, (tag, _) in enumerate(tags) if tag == "VERB"), 0)
            if beat in with_verb and noun < verb and not any(tag in ("PROPN", "PRON") for tag, _ in tags[:verb]):
                by_number[tags[noun][1]][_masked(found, verb, tags[noun][1], found[noun])] = None
        fewest = min(map(len, by_number.values()))
        if fewest >= _PAIRS:
            break
    return tuple(sentence for several in by_number.values() for sentence in islice(several, _PAIRS))


def _gender() -> Iterator[LabeledSentence]:
    """Yield sentences with a masked pronoun after the one name that it refers to."""
    names = {person.name for person in (*PEOPLE, *NEIGHBOURS)}
    for pair in minimal_pairs(_SEED, _PAIRS):
        good = words(pair.good)
        named = [word for word in good[: pair.position] if word in names]
        if pair.kind == "pronoun" and pair.position is not None and len(named) == 1:
            yield _masked(good, pair.position, good[pair.position], named[0])


#: Every task by its name.
PROBING_TASKS: Mapping[str, ProbingTask] = {
    task.name: task
    for task in (
        ProbingTask("pos", "Part of speech", lambda: _town_words(lambda tag, number: tag)),
        ProbingTask("number", "Number of nouns", lambda: _town_words(lambda tag, n: n if tag == "NOUN" else None)),
        ProbingTask("subject", "Number of the subject, at its masked verb", _subject_number),
        ProbingTask("gender", "Gender of a person, at the masked pronoun", lambda: tuple(_gender())),
        ProbingTask("entities", "Named entities", lambda: sentences_of_file(sample_path("entities"))),
    )
}
