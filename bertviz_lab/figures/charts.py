"""Payloads of charts: a Plotly figure, its numbers as a table, and its captions.

`picks` of a payload, if any, are what a click on a mark sends, in the order of the figure's marks. `texts` of bars are
their labels, for the table's cells. `csv` has the rows of that download where they are more than the table's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.plots import COLORS, bar_figure, column_figure, heatmap_figure, line_figure, scatter_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

_DIGITS = 6
#: Maximum number of labels in a chart; a person cannot read more, and a browser is slow to draw them.
MOST_LABELS = 40

#: Further columns of a chart's table: (name, one entry per row).
ExtraColumns = Sequence[tuple[str, Sequence[float | str | None]]]


class Captions(TypedDict, total=False):
    """The words around a chart: a sentence above it, a note below it, and the name of its downloads."""

    sentence: str
    note: str
    file: str


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A table of numbers drawn as a heat map.

    Attributes:
        values: the numbers, (rows, columns); NaN is left white.
        row_name, column_name: what a row and a column are, for tooltips; `unit` is that of the numbers.
        words: what cells show in place of the numbers, and before them in the table.
        texts: what cells show, where it is neither the numbers nor `words`.
        details: tooltips.
        shades: what the colors show, by default `values`; 0 is white and `peak`, by default the largest, full color.
        picks: for each row and for each column what a click on a cell sends; without it no cell can be selected.
        axis: the title of the column axis; only some of its many columns are then named.
    """

    values: NDArray[np.floating | np.integer]
    rows: Sequence[str]
    columns: Sequence[str]
    row_name: str = ""
    column_name: str = ""
    unit: str = ""
    words: Sequence[Sequence[str]] | None = None
    texts: Sequence[Sequence[str]] | None = None
    details: Sequence[Sequence[str]] | None = None
    shades: NDArray[np.floating] | None = None
    peak: float | None = None
    picks: tuple[Sequence[int], Sequence[int]] | None = None
    axis: str = ""


def matrix_payload(matrix: Matrix, *, title: str, **captions: Unpack[Captions]) -> Payload:
    """Return the heat map of a matrix. Raise `ValueError` if the shapes do not agree."""
    shades = matrix.values if matrix.shades is None else matrix.shades
    if not shades.shape == matrix.values.shape == (len(matrix.rows), len(matrix.columns)):
        raise ValueError(
            f"{len(matrix.rows)} rows and {len(matrix.columns)} columns for values of shape {matrix.values.shape}."
        )
    cells = [[value if np.isfinite(value) else None for value in row] for row in matrix.values.tolist()]
    numbers = [[_three_digits(value) for value in row] for row in cells]
    details = matrix.details or [
        [
            _cell_words((matrix.row_name, name, matrix.column_name, column, word), value, matrix.unit)
            for column, word, value in zip(matrix.columns, words, values, strict=True)
        ]
        for name, words, values in zip(
            matrix.rows, matrix.words or [[""] * len(matrix.columns)] * len(cells), cells, strict=True
        )
    ]
    finite = np.abs(shades[np.isfinite(shades)])
    peak = matrix.peak if matrix.peak is not None else float(finite.max(initial=0))
    figure = heatmap_figure(
        shades,
        matrix.rows,
        matrix.columns,
        matrix.texts or matrix.words or numbers,
        details,
        peak,
        most_names=8 if matrix.axis else 400,
        axis=matrix.axis,
    )
    rows: list[list[Any]] = [[name, *map(_rounded, line)] for name, line in zip(matrix.rows, cells, strict=True)]
    if matrix.words:
        rows = [
            [name, *(f"{word} {number}".strip() for word, number in zip(words, line, strict=True))]
            for name, words, line in zip(matrix.rows, matrix.words, numbers, strict=True)
        ]
    down, across = matrix.picks or ((), ())
    body = {"kind": "matrix", "picks": [[{"row": row, "column": column} for column in across] for row in down]}
    return _chart(body, title, [matrix.row_name, *matrix.columns], rows, captions, figure)


def bars_payload(
    groups: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    title: str,
    number_format: str = ".3g",
    missing: str = "",
    texts: Sequence[Sequence[str]] | None = None,
    peak: float | None = None,
    extra_columns: ExtraColumns = (),
    colors: Sequence[str] = COLORS,
    reference: tuple[float, str] | None = None,
    ranked: str = "",
    **captions: Unpack[Captions],
) -> Payload:
    """Return horizontal bars: a row for each group, and in it a bar for each (name, values) of `series`.

    Bars are labeled with their values in `number_format`, or with `missing`, or with `texts`, a list for each series.
    A full bar is `peak`, by default 100% for percentages and else the largest value. `extra_columns` extend the table.
    `colors` are those of the series; `reference` is a value with a dashed line and its name. If there are very many
    groups and they are `ranked`, such as "most frequent labels", the first are drawn and the table has all.
    """
    labels = texts or [[missing if v is None else f"{v:{number_format}}" for v in values] for _, values in series]
    sizes = [abs(v) for _, values in series for v in values if v is not None]
    if peak is None:
        peak = 1.0 if number_format.endswith("%") else max(sizes, default=0.0)
    table = [[group, *(_rounded(values[at]) for _, values in series)] for at, group in enumerate(groups)]
    body = {"kind": "bars", "texts": labels}
    if ranked and len(groups) > MOST_LABELS:
        drawn = f"The {MOST_LABELS} {ranked} of {len(groups):,} are drawn; the CSV has all."
        captions["sentence"] = f"{captions.get('sentence', '')} {drawn}".strip()
        groups, series = groups[:MOST_LABELS], [(name, values[:MOST_LABELS]) for name, values in series]
    figure = bar_figure(groups, series, [line[: len(groups)] for line in labels], peak, colors, reference)
    return _chart(body, title, ["", *(name or "value" for name, _ in series)], table, captions, figure, extra_columns)


def columns_payload(
    values: NDArray[np.floating],
    names: Sequence[str],
    details: Sequence[str],
    *,
    title: str,
    marked: Sequence[bool] = (),
    mark_names: Sequence[str] = (),
    **captions: Unpack[Captions],
) -> Payload:
    """Return vertical bars with `details` as tooltips; negative ones go down.

    Bars that are `marked` have another style; `mark_names` name both styles in the legend, the plain one first.
    """
    numbers = [float(v) for v in values]
    body = {"keys": [[name, color] for name, color in zip(mark_names, COLORS, strict=False)]}
    table = [[name, _rounded(v), detail] for name, v, detail in zip(names, numbers, details, strict=True)]
    figure = column_figure(numbers, names, details, [bool(flag) for flag in marked] or [False] * len(numbers))
    return _chart(body, title, ["", "value", "detail"], table, captions, figure)


def plane_payload(
    points: NDArray[np.floating],
    names: Sequence[str],
    *,
    title: str,
    groups: Sequence[int] | None = None,
    group_names: Sequence[str] = (),
    paths: Sequence[Sequence[int]] = (),
    details: Sequence[str] | None = None,
    **captions: Unpack[Captions],
) -> Payload:
    """Return a scatter plot of named points, (n, 2); `paths` are lists of points to join, in their group's color."""
    kinds = list(groups) if groups is not None else [0] * len(names)
    table = [[name, _rounded(float(x)), _rounded(float(y))] for name, (x, y) in zip(names, points, strict=True)]
    figure = scatter_figure(points, names, details or names, kinds, group_names, paths)
    return _chart({}, title, ["", "first direction", "second direction"], table, captions, figure)


def lines_payload(
    places: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None] | NDArray[np.floating]]],
    *,
    title: str,
    place_name: str,
    low: float | None = None,
    high: float | None = None,
    details: Sequence[Sequence[str]] | None = None,
    dashed: Sequence[str] = (),
    extra_columns: ExtraColumns = (),
    **captions: Unpack[Captions],
) -> Payload:
    """Return a line chart over named places; the y-axis covers at least `low` to `high`.

    `details`, a list for each series, are tooltips; `dashed` names reference lines; `extra_columns` extend the table.
    """
    plain = [(name, [None if v is None else float(v) for v in values]) for name, values in series]
    table = [[place, *(_rounded(values[at]) for _, values in plain)] for at, place in enumerate(places)]
    tooltips = details or [
        [f"{place_name} {place}, {name}: {_three_digits(v)}" for place, v in zip(places, values, strict=True)]
        for name, values in plain
    ]
    figure = line_figure(places, plain, tooltips, place_name, dashed, low, high)
    return _chart({}, title, [place_name, *(name for name, _ in plain)], table, captions, figure, extra_columns)


def _chart(
    body: dict[str, Any],
    title: str,
    header: list[str],
    rows: list[list[Any]],
    captions: Captions,
    figure: "go.Figure",
    extra_columns: ExtraColumns = (),
) -> Payload:
    table = {
        "header": [*header, *(name for name, _ in extra_columns)],
        "rows": [[*row, *(entries[at] for _, entries in extra_columns)] for at, row in enumerate(rows)],
    }
    defaults = {"title": title, "sentence": "", "note": "", "file": "chart"}
    return to_json(defaults | captions | body | {"table": table, "figure": figure.to_dict()})


def _cell_words(names: Sequence[str], value: float | None, unit: str) -> str:
    """Describe a cell by its row, its column, its word and its number."""
    number = "" if value is None else f": {value:.3f}{f' {unit}' if unit else ''}"
    return " ".join(name for name in names if name) + number


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _three_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
