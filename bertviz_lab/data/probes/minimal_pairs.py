"""Minimal pairs: two sentences that differ in one place, of which one is acceptable; here those of Tiny Town.

A model passes a pair when it gives the good sentence the higher probability; chance is 50%. Every good sentence is from
a held-out story, so no training story contains it in its context.
"""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise

from bertviz_lab.data.samples.tiny_town.stories import Story, imagine, third_person
from bertviz_lab.data.samples.tiny_town.world import COLOURS, FUR, PLACES


@dataclass(frozen=True)
class MinimalPair:
    """Two texts that differ in one place only."""

    kind: str  # what the difference tests, a key of `KINDS`
    context: str  # sentences said before both, in the same story; empty where the sentence speaks for itself
    good: str  # the sentence that stands in the story after the context
    bad: str  # the sentence that can not stand there
    # index in `words(good)` of the word that differs; the first of two that change places; None where the whole
    # sentence differs
    position: int | None


_WORD = re.compile(r"\w+|[^\w\s]")

#: Name of a set of pairs -> kind of pair -> the phenomenon that it tests.
PHENOMENA: dict[str, dict[str, str]] = json.loads(
    resources.files(__package__).joinpath("phenomena.json").read_text(encoding="utf-8")
)
KINDS = PHENOMENA["tiny-town"]


def words(text: str) -> list[str]:
    """Return words and punctuation marks, as BERT's pre-tokenizer separates them in these texts."""
    return _WORD.findall(text)


def minimal_pairs(seed: int = 0, count: int = 20) -> tuple[MinimalPair, ...]:
    """`count` different pairs of every kind, drawn from held-out stories, kind after kind."""
    rng = random.Random(seed)
    chosen: dict[str, dict[MinimalPair, None]] = {kind: {} for kind in KINDS}
    for story in imagine(seed, held_out=True):
        for kind, candidates in _FINDERS.items():
            options = list(candidates(story, rng)) if len(chosen[kind]) < count else []
            if options:
                chosen[kind][rng.choice(options)] = None
        if all(len(pairs) >= count for pairs in chosen.values()):
            break
    return tuple(pair for pairs in chosen.values() for pair in pairs)


def _changed(kind: str, context: str, good: str, position: int, word: str) -> MinimalPair:
    """Return the pair whose bad sentence has another word in one position."""
    spans = [match.span() for match in _WORD.finditer(good)]
    start, end = spans[position]
    return MinimalPair(kind, context, good, good[:start] + word + good[end:], position)


_BASES = (
    *("belong", "bring", "buy", "call", "cost", "get", "give", "go", "keep", "look", "make", "mend", "need", "pick"),
    *("plant", "put", "run", "see", "show", "take", "visit", "want"),
    *(verb for place in PLACES for verb in (place.animal_does, place.keeper_does)),
)
_NUMBER = {"is": "are", "has": "have"} | {third_person(base): base for base in _BASES}
_OTHER_NUMBER = _NUMBER | {plural: singular for singular, plural in _NUMBER.items()}


def _by_verb(story: Story, verb: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of the beats with this `Beat.verb`, with their places."""
    beats = {beat.name for beat in story.plot.beats if beat.verb == verb}
    for index, (beat, sentence) in enumerate(zip(story.beats, story.sentences, strict=True)):
        if beat in beats:
            yield index, sentence


def _agreement(story: Story, rng: random.Random) -> Iterator[MinimalPair]:
    for _, sentence in _by_verb(story, "beside"):
        position, word = next(((n, word) for n, word in enumerate(words(sentence)) if word in _OTHER_NUMBER), (0, ""))
        if word:
            yield _changed("agreement", "", sentence, position, _OTHER_NUMBER[word])


def _agreement_distractor(story: Story, rng: random.Random) -> Iterator[MinimalPair]:
    for index, sentence in _by_verb(story, "across"):
        tokens = words(sentence)
        # "The NOUN near the OTHER verb": the verb is the first form after the second "the" and its noun.
        for position in range(4, len(tokens)):
            if tokens[position] in _OTHER_NUMBER and _disagrees(story, story.beats[index]):
                yield _changed("agreement_distractor", "", sentence, position, _OTHER_NUMBER[tokens[position]])
                break


def _disagrees(story: Story, beat: str) -> bool:
    """Return whether the noun beside the verb has another number than the subject."""
    world = story.world
    if beat == "scene":
        return world.scene_plural != world.landmark_plural
    if beat == "state":
        return world.thing.plural != world.other_spot[2]
    if beat == "cost":
        return world.thing.plural  # "at the market"
    return True  # one dish, several fruits


def _pronoun(story: Story, rng: random.Random) -> Iterator[MinimalPair]:
    names = {story.world.hero.name, story.world.friend.name, story.world.neighbour.name}
    for sentence in story.sentences:
        tokens = words(sentence)
        for position, word in enumerate(tokens):
            if word in ("he", "she") and names & set(tokens[:position]):  # its antecedent comes before it
                yield _changed("pronoun", "", sentence, position, "she" if word == "he" else "he")


def _reflexive(story: Story, rng: random.Random) -> Iterator[MinimalPair]:
    other = {"himself": "herself", "herself": "himself", "themselves": story.world.hero.himself}
    for sentence in story.sentences:
        for position, word in enumerate(words(sentence)):
            if word in other:
                yield _changed("reflexive", "", sentence, position, other[word])


def _colour_copy(story: Story, rng: random.Random) -> Iterator[MinimalPair]:
    world = story.world
    if story.plot.name in ("swap", "race"):  # two colours, told apart by their owners
        return
    colour, palette = (world.fur, FUR) if story.plot.name == "pet" else (world.colour, COLOURS)
    wrong_colour = rng.choice([other for other in palette if other != colour])
    coloured = [sentence for sentence in story.sentences if colour in words(sentence)]
    for before, sentence in pairwise(coloured):
        yield _changed("colour_copy", before, sentence, words(sentence).index(colour), wrong_colour)


def _owner_copy(story: Story, rng: random.Random) -> Iterator[MinimalPair]:
    world = story.world
    if not story.plot.gives_away or "now" not in story.beats:
        return
    index = story.beats.index("now")
    sentence = story.sentences[index]
    tokens = words(sentence)
    owner, other = world.friend.name, world.hero.name
    if owner not in tokens:
        owner, other = other, owner
    yield _changed("owner_copy", " ".join(story.sentences[index - 2 : index]), sentence, tokens.index(owner), other)


def _word_order(story: Story, rng: random.Random) -> Iterator[MinimalPair]:
    world = story.world
    for sentence in story.sentences:
        tokens = words(sentence)
        for position in range(1, len(tokens) - 2):
            first, second = tokens[position : position + 2]
            if first in ("the", world.colour, world.fur):
                bad = sentence.replace(f" {first} {second}", f" {second} {first}", 1)
                yield MinimalPair("word_order", "", sentence, bad, position)


def _plot_order(story: Story, rng: random.Random) -> Iterator[MinimalPair]:
    for index in range(1, len(story.sentences) - 1):
        if "scene" not in story.beats[index - 1 : index + 2]:
            before, context, after = story.sentences[index - 1 : index + 2]
            yield MinimalPair("plot_order", context, after, before, None)


_FINDERS = dict(zip(
    KINDS,
    (_agreement, _agreement_distractor, _pronoun, _reflexive, _colour_copy, _owner_copy, _word_order, _plot_order),
    strict=True,
))  # fmt: skip
