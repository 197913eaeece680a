"""The plots of Tiny Town (plots.tsv): each a sequence of beats, each beat with one or two sentence templates.

A template is a sentence with slots: `{hero}` is filled from the story's world (see `stories.slots`), and of `[is/are]`
the form is chosen that agrees with the thing the story is about. The table has one line per beat, in chronological
order, with the share of the stories that include it and its usual template first. The beat "scene" may come at any
time; its subject and the noun beside its verb often differ in number.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from itertools import groupby


@dataclass(frozen=True)
class Beat:
    """One sentence of a plot.

    Attributes:
        name: what happens, one word; unique inside its plot.
        templates: one or two sentences with slots.
        share: the share of the stories that include it.
        verb: "beside" its subject, "across" another noun, which may differ from it in number, or "" elsewhere.
    """

    name: str
    templates: tuple[str, ...]
    share: float
    verb: str


@dataclass(frozen=True)
class Plot:
    """A kind of story: its beats in chronological order.

    Attributes:
        wearable: the thing of the story is something to wear, drawn from the clothes.
        gives_away: at the end the thing belongs to the friend.
    """

    name: str
    beats: tuple[Beat, ...]
    wearable: bool
    gives_away: bool


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a table in this folder, by the names of its columns."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def _beat(row: dict[str, str]) -> Beat:
    return Beat(
        row["beat"], tuple(filter(None, (row["sentence"], row["alternative"]))), float(row["share"]), row["verb"]
    )


PLOTS = tuple(
    Plot(name, tuple(map(_beat, rows)), wearable=name in ("swap", "storm"), gives_away=name in ("swap", "gift"))
    for name, rows in groupby(read_table("plots.tsv"), key=lambda row: row["plot"])
)
