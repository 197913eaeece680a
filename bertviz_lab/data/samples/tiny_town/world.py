"""The people, things, places and plots of Tiny Town, and the draw of what is true in one story.

Everything a story may say follows from a `World`: who it is about, what they have, which color it is, where it lies,
which tool helps and where that tool is kept. The words, in world.json, are few and plain: each is one token.

A plot (plots.tsv) is a sequence of beats, each with one or two sentence templates and the share of the stories that
include it. In a template `{hero}` is filled from the world (see `stories.slots`), and of `[is/are]` the form is chosen
that agrees with the thing the story is about. The beat "scene" may come at any time.
"""

import csv
import json
import random
from collections import namedtuple
from dataclasses import dataclass
from importlib import resources
from itertools import groupby


@dataclass(frozen=True)
class Person:
    """Someone who can be named, with the pronouns that stand for them."""

    name: str
    he: str
    him: str
    himself: str

    def __str__(self) -> str:
        return self.name


#: Something to own: a noun and whether it is plural, what one does with it (singular and plural form of the verb), and
#: what mends it.
Thing = namedtuple("Thing", "noun plural uses use tool")
#: A place outdoors: who is there, what they do (base form of the verb), and what they stand near; nouns are pairs of
#: singular and plural.
Place = namedtuple("Place", "name animal animal_does keeper keeper_does landmark")
#: Where a thing gets stuck, why it cannot be reached, and the tool that helps.
Trouble = namedtuple("Trouble", "trap why tool")
#: An animal of one's own, the food that calls it, and its voice.
Pet = namedtuple("Pet", "animal food voice")
#: What spoils a day: the noun, what it does, how the sky announces it, and how people feel in it.
Weather = namedtuple("Weather", "noun does sky feel")
#: Something to bake, what goes on it, and how that tastes.
Dish = namedtuple("Dish", "name topping taste")

_TABLES = json.loads(resources.files(__package__).joinpath("world.json").read_text(encoding="utf-8"))


def _people(table: str) -> tuple[Person, ...]:
    named = ((name, kind) for kind, names in _TABLES[table].items() for name in names)
    return tuple(Person(name, *_TABLES["pronouns"][kind]) for name, kind in named)


PEOPLE, NEIGHBOURS = _people("people"), _people("neighbours")
COLOURS = ("red", "blue", "green", "yellow", "orange", "purple", "white", "black")
FUR = ("white", "black", "brown", "grey")

THINGS = tuple(Thing(**row) for row in _TABLES["things"])
CLOTHES = tuple(Thing(**row) for row in _TABLES["clothes"])
PLACES = tuple(Place(**row) for row in _TABLES["places"])
TROUBLES = tuple(Trouble(**row) for row in _TABLES["troubles"])
PETS = tuple(Pet(**row) for row in _TABLES["pets"])
STORMS = tuple(Weather(**row) for row in _TABLES["storms"])
DISHES = tuple(Dish(**row) for row in _TABLES["dishes"])
#: room -> where one looks in it, as (preposition, noun, the noun is plural)
ROOMS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    room: tuple(map(tuple, spots)) for room, spots in _TABLES["rooms"].items()
}
#: tool -> the place where it is kept
TOOL_HOMES: dict[str, str] = _TABLES["tool_homes"]
SIZES = (("big", "small"), ("small", "big"), ("long", "short"), ("short", "long"))
FLOWERS = (("rose", "roses"), ("tulip", "tulips"), ("daisy", "daisies"))
NIGHT_ANIMALS = ("owls", "mice", "cats", "foxes")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class World:
    """What is true in one story, whether or not the story comes to speak of it.

    `hero` and `friend` differ, and so do `colour` and `other_colour`, `room` and `other_room`. `number` and
    `other_number` are at least two, and their sum at most ten.
    """

    hero: Person
    friend: Person
    neighbour: Person
    thing: Thing
    colour: str
    other_colour: str
    clothes: Thing
    sizes: tuple[str, str]
    place: Place
    room: str
    other_room: str
    spot: tuple[str, str, bool]
    other_spot: tuple[str, str, bool]
    trouble: Trouble
    pet: Pet
    fur: str
    storm: Weather
    dish: Dish
    flower: tuple[str, str]
    night_animals: str
    number: int
    other_number: int
    scene_plural: bool
    landmark_plural: bool
    scene_keeper: bool


def draw(rng: random.Random) -> World:
    """Draw a world; every combination can occur, and the same `rng` state draws the same one."""
    hero, friend = rng.sample(PEOPLE, 2)
    colour, other_colour = rng.sample(COLOURS, 2)
    room, other_room = rng.sample(tuple(ROOMS), 2)
    scene_plural = rng.random() < 0.5
    return World(
        hero=hero,
        friend=friend,
        neighbour=rng.choice(NEIGHBOURS),
        thing=rng.choice(THINGS),
        colour=colour,
        other_colour=other_colour,
        clothes=rng.choice(CLOTHES),
        sizes=rng.choice(SIZES),
        place=rng.choice(PLACES),
        room=room,
        other_room=other_room,
        spot=rng.choice(ROOMS[room]),
        other_spot=rng.choice(ROOMS[other_room]),
        trouble=rng.choice(TROUBLES),
        pet=rng.choice(PETS),
        fur=rng.choice(FUR),
        storm=rng.choice(STORMS),
        dish=rng.choice(DISHES),
        flower=rng.choice(FLOWERS),
        night_animals=rng.choice(NIGHT_ANIMALS),
        number=rng.randint(2, 5),
        other_number=rng.randint(2, 5),
        scene_plural=scene_plural,
        landmark_plural=(rng.random() < 0.3) == scene_plural,  # seven times in ten the distractor disagrees
        scene_keeper=rng.random() < 0.5,
    )


@dataclass(frozen=True)
class Beat:
    """One sentence of a plot."""

    name: str  # what happens, one word; unique inside its plot
    templates: tuple[str, ...]  # one or two sentences with slots
    share: float  # the share of the stories that include it
    verb: str  # "beside" its subject, "across" another noun, which may differ from it in number, or "" elsewhere


@dataclass(frozen=True)
class Plot:
    """A kind of story: its beats in chronological order."""

    name: str
    beats: tuple[Beat, ...]
    wearable: bool  # the thing of the story is something to wear, drawn from the clothes
    gives_away: bool  # at the end the thing belongs to the friend


def _beat(row: dict[str, str]) -> Beat:
    templates = tuple(filter(None, (row["sentence"], row["alternative"])))
    return Beat(row["beat"], templates, float(row["share"]), row["verb"])


_PLOT_LINES = resources.files(__package__).joinpath("plots.tsv").read_text(encoding="utf-8").splitlines()
PLOTS = tuple(
    Plot(name, tuple(map(_beat, rows)), wearable=name in ("swap", "storm"), gives_away=name in ("swap", "gift"))
    for name, rows in groupby(csv.DictReader(_PLOT_LINES, delimiter="\t"), key=lambda row: row["plot"])
)
