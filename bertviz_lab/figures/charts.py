"""Payloads of charts, which `ui/components/figures/charts.js` makes Plotly figures, tables and captions of.

`picks` of a payload, if any, are what a click on a mark sends, in the order of the figure's marks. `csv` has the rows
of that download where they are more than the table's.
"""

from collections.abc import Sequence
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload, figure

#: Maximum number of labels in a chart; a person cannot read more, and a browser is slow to draw them.
MOST_LABELS = 40

#: Further columns of a chart's table: (name, one entry per row).
ExtraColumns = Sequence[tuple[str, Sequence[float | str | None]]]


class Captions(TypedDict, total=False):
    """The words around a chart: a title and a sentence above it, a note below it, and the name of its downloads."""

    title: str
    sentence: str
    note: str
    file: str


class MatrixOptions(Captions, total=False):
    """How a heat map is drawn."""

    row_name: str  # what a row is, for tooltips
    column_name: str
    unit: str  # of the numbers
    words: Sequence[Sequence[str]]  # in the cells, and before the numbers in the table too
    texts: Sequence[Sequence[str]]  # in the cells, in place of words or numbers
    details: Sequence[Sequence[str]]  # tooltips
    shades: NDArray[np.floating]  # what the colors show, by default the values
    peak: float  # of full color, by default the largest; 0 is white
    picks: tuple[Sequence[int], Sequence[int]]  # for each row and column what a click on a cell sends
    axis: str  # the title of the column axis; only some of its many columns are then named


def matrix_payload(
    values: NDArray[np.floating | np.integer],
    rows: Sequence[str],
    columns: Sequence[str],
    **options: Unpack[MatrixOptions],
) -> Payload:
    """Return a heat map of numbers, (rows, columns); NaN is left white. Without `picks` no cell can be selected."""
    return figure("matrix", values=values, rows=rows, columns=columns, **options)


class BarsOptions(Captions, total=False):
    """How bars are drawn."""

    number_format: str  # of their labels: such as ".1%", ".2f", "+.2f"
    missing: str  # the label where there is no value
    texts: Sequence[Sequence[str]]  # labels in the place of the values, a list for each series
    peak: float  # the value of a full bar: by default 100% for percentages and else the largest value
    extra_columns: ExtraColumns  # of the table
    colors: Sequence[str]  # of the series
    reference: tuple[float, str]  # a value with a dashed line and its name
    ranked: str  # what very many groups are, "most frequent labels": the first are drawn, and the table has all


def bars_payload(
    groups: Sequence[str], series: Sequence[tuple[str, Sequence[float | None]]], **options: Unpack[BarsOptions]
) -> Payload:
    """Return horizontal bars: a row for each group, and in it a bar for each (name, values) of `series`."""
    return figure("bars", groups=groups, series=series, **options)


def columns_payload(
    values: NDArray[np.floating | np.integer],
    names: Sequence[str],
    details: Sequence[str],
    *,
    marked: Sequence[bool] = (),
    mark_names: Sequence[str] = (),
    **captions: Unpack[Captions],
) -> Payload:
    """Return vertical bars with `details` as tooltips; negative ones go down.

    Bars that are `marked` have another style; `mark_names` name both styles in the legend, the plain one first.
    """
    given = {"values": values, "names": names, "details": details, "marked": marked, "mark_names": mark_names}
    return figure("columns", **given, **captions)


class PointsOptions(Captions):
    """What the points of a scatter plot are."""

    axes: tuple[str, str]  # names of the axes
    extra_columns: ExtraColumns  # of the table
    groups: Sequence[int]  # of each point; groups have colors
    group_names: Sequence[str]
    marked: Sequence[bool]  # points that are crosses
    picks: Sequence[int]  # a click on a point, or on its first number in the table, sends {"index": its entry here}


def points_payload(points: NDArray[np.floating], names: Sequence[str], **options: Unpack[PointsOptions]) -> Payload:
    """Return a scatter plot of points, (n, 2), on two axes with names."""
    return figure("points", points=points, names=names, **options)


class LinesOptions(Captions, total=False):
    """How lines are drawn."""

    place_name: str  # what the places are
    low: float  # the y-axis covers at least `low` to `high`
    high: float
    details: Sequence[Sequence[str]]  # tooltips, a list for each series
    dashed: Sequence[str]  # names of reference lines
    extra_columns: ExtraColumns  # of the table


def lines_payload(
    places: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None] | NDArray[np.floating]]],
    **options: Unpack[LinesOptions],
) -> Payload:
    """Return a line chart over named places, a line for each (name, values) of `series`."""
    return figure("lines", places=places, series=series, **options)
