"""From a world and a plot to a story: slots filled, verbs inflected, articles and capitals corrected."""

import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bertviz_lab.data.documents import Document
from bertviz_lab.data.samples.tiny_town.world import NUMBERS, PLOTS, TOOL_HOMES, Plot, World, draw

#: One in this many casts (a plot and its two people) is held out.
HELD_OUT_PARTS = 8


@dataclass(frozen=True)
class Story:
    """A story together with its truth."""

    plot: Plot  # the kind of story
    world: World  # what is true in it
    beats: tuple[str, ...]  # for each sentence, the name of its beat
    templates: tuple[str, ...]  # for each sentence, the template that it was filled from
    sentences: tuple[str, ...]  # the text, one sentence each


_CHOICE = re.compile(r"\[([^/\]]*)/([^\]]*)\]")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")


def third_person(verb: str) -> str:
    """Return the third person of a regular English verb: work -> works, carry -> carries, push -> pushes."""
    first, _, rest = verb.partition(" ")
    if first.endswith(("s", "sh", "ch", "x", "o")):
        first += "es"
    elif first.endswith("y") and first[-2] not in "aeiou":
        first = first[:-1] + "ies"
    else:
        first += "s"
    return f"{first} {rest}" if rest else first


def slots(plot: Plot, world: World) -> dict[str, Any]:
    """Return the values of the `{slots}` in the plot's sentences: the world itself, and what follows from it."""
    thing = world.clothes if plot.wearable else world.thing
    size, other_size = world.sizes
    article = "" if thing.plural else "a "
    resident = world.place.keeper if world.scene_keeper else world.place.animal
    does = world.place.keeper_does if world.scene_keeper else world.place.animal_does
    left = world.number - 1
    flowers_left = f"{world.colour} {world.flower[left > 1]} {'are' if left > 1 else 'is'}"
    return vars(world) | {
        "noun": thing.noun,
        "thing": f"{world.colour} {thing.noun}",
        "other_thing": f"{world.other_colour} {thing.noun}",
        "a_thing": f"{article}{world.colour} {thing.noun}",
        "a_sized_thing": f"{article}{size} {world.colour} {thing.noun}",
        "an_other_sized_thing": f"{article}{other_size} {world.other_colour} {thing.noun}",
        "size": size,
        "other_size": other_size,
        "uses": thing.uses,
        "use": thing.use,
        "mend_tool": thing.tool,
        "mend_home": TOOL_HOMES[thing.tool],
        "resident": resident[world.scene_plural],
        "resident_does": does if world.scene_plural else third_person(does),
        "landmark": world.place.landmark[world.landmark_plural],
        "spot": "{} the {}".format(*world.spot),
        "other_spot": "{} the {}".format(*world.other_spot),
        "tool_home": TOOL_HOMES[world.trouble.tool],
        "flower": world.flower[0],
        "flowers": world.flower[1],
        "flowers_left": f"{NUMBERS[left]} {flowers_left}",
        "number": NUMBERS[world.number],
        "other_number": NUMBERS[world.other_number],
        "sum": NUMBERS[world.number + world.other_number],
    }


def tell(rng: random.Random, plot: Plot, world: World) -> Story:
    """Tell the plot in this world; `rng` decides only which optional beats are included, and their templates."""
    beats, templates, sentences = [], [], []
    for beat in plot.beats:
        if rng.random() >= beat.share:
            continue
        # Of two templates the first is used in two of three stories: variety that costs little to predict.
        template = beat.templates[0] if len(beat.templates) == 1 or rng.random() < 2 / 3 else beat.templates[1]
        text = fill(template, plot, world)
        beats.append(beat.name)
        templates.append(template)
        sentences.append(text[0].upper() + text[1:])
    return Story(plot, world, tuple(beats), tuple(templates), tuple(sentences))


def fill(template: str, plot: Plot, world: World) -> str:
    """Return a template with its slots filled from this world, and forms and articles chosen."""
    plural = (world.clothes if plot.wearable else world.thing).plural
    text = _CHOICE.sub(r"\2" if plural else r"\1", template).format_map(slots(plot, world))
    return _ARTICLE.sub(r"\1n ", text)


def imagine(seed: int, *, held_out: bool = False) -> Iterator[Story]:
    """Yield stories with their truth, without end, in the stream of this seed.

    The split is by plot and its two people, so that no seed of the training stories tells a held-out story, and
    held-out stories are about people who never appear together in that plot in training.
    """
    rng = random.Random(seed)
    while True:
        plot, world = rng.choice(PLOTS), draw(rng)
        names = f"{plot.name} {world.hero.name} {world.friend.name}"
        if (zlib.crc32(names.encode()) % HELD_OUT_PARTS == 0) == held_out:
            yield tell(rng, plot, world)


def stories(seed: int = 0, count: int = 4000) -> Iterator[Document]:
    """`count` different stories of Tiny Town to train on, deterministic for a seed."""
    return _documents(imagine(seed), count)


def held_out(seed: int = 0, count: int = 500) -> Iterator[Document]:
    """`count` held-out stories, which `stories` tells under no seed."""
    return _documents(imagine(seed, held_out=True), count)


def _documents(stream: Iterator[Story], count: int) -> Iterator[Document]:
    seen: set[tuple[str, ...]] = set()
    while len(seen) < count:
        story = next(stream)
        if story.sentences not in seen:
            seen.add(story.sentences)
            yield Document(f"{story.plot.name} {len(seen)}", story.sentences)
