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
from bertviz_lab.figures.plots import (
    COLORS,
    QUIET,
    blank_figure,
    escaped,
    heatmap_figure,
    named_axis,
    named_rows,
    row_height,
    short_name,
)

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
    import plotly.graph_objects as go

    labels = texts or [[missing if v is None else f"{v:{number_format}}" for v in values] for _, values in series]
    sizes = [abs(v) for _, values in series for v in values if v is not None]
    if peak is None:
        peak = 1.0 if number_format.endswith("%") else max(sizes, default=0.0)
    table = [[group, *(_rounded(values[at]) for _, values in series)] for at, group in enumerate(groups)]
    body = {"kind": "bars", "texts": labels}
    if ranked and len(groups) > MOST_LABELS:
        hint = f"The {MOST_LABELS} {ranked} of {len(groups):,} are drawn; the CSV has all."
        captions["sentence"] = f"{captions.get('sentence', '')} {hint}".strip()
        groups, series = groups[:MOST_LABELS], [(name, values[:MOST_LABELS]) for name, values in series]
    drawn = [line[: len(groups)] for line in labels]
    places = list(range(len(groups)))
    traces = [
        go.Bar(
            x=[0.0 if value is None else value for value in values],
            y=places,
            orientation="h",
            name=escaped(name),
            text=[escaped(text) for text in written],
            textposition="outside",
            cliponaxis=False,
            customdata=[
                escaped(f"{group}{f', {name}' if name else ''}: {text}")
                for group, text in zip(groups, written, strict=True)
            ],
            hovertemplate="%{customdata}<extra></extra>",
            marker={"color": colors[place % len(colors)], "opacity": 0.8},
        )
        for place, ((name, values), written) in enumerate(zip(series, drawn, strict=True))
    ]
    height = max(16 * len(series) + 12, *map(row_height, groups), 0) * len(groups) + 24
    figure = blank_figure(traces, height + (26 if len(series) > 1 else 0), legend=len(series) > 1)
    peak = peak or 1.0
    signed = any(value is not None and value < 0 for _, values in series for value in values)
    # What stands beside a bar has room in the margin, however narrow the figure is; beside one below 0, in the figure.
    longest = max((len(text) for written in drawn for text in written), default=0)
    span = [-1.25 * peak, 1.25 * peak] if signed else [0, peak]
    figure.update_xaxes(range=span, visible=False, fixedrange=True, zeroline=False)
    figure.update_layout(margin_r=12 if signed else 16 + 8 * longest)
    figure.update_yaxes(named_rows(groups), autorange="reversed", showgrid=False, zeroline=False)
    figure.update_layout(barmode="group", bargap=0.25)
    if reference is not None:
        value, name = reference
        line = {"color": QUIET, "width": 1.2, "dash": "dash"}
        label = {"text": escaped(name), "textposition": "end", "textangle": 0, "yanchor": "bottom", "font_color": QUIET}
        figure.add_shape(type="line", x0=value, x1=value, yref="paper", y0=0, y1=1, line=line, label=label)
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
    import plotly.graph_objects as go

    numbers = [float(v) for v in values]
    body = {"keys": [[name, color] for name, color in zip(mark_names, COLORS, strict=False)]}
    table = [[name, _rounded(v), detail] for name, v, detail in zip(names, numbers, details, strict=True)]
    flags = [bool(flag) for flag in marked] or [False] * len(numbers)
    colors = [COLORS[1 if flag or value < 0 else 0] for value, flag in zip(numbers, flags, strict=True)]
    trace = go.Bar(
        x=list(range(len(numbers))),
        y=numbers,
        customdata=[escaped(text) for text in details],
        hovertemplate="%{customdata}<extra></extra>",
        marker={"color": colors, "opacity": [0.45 if flag else 0.8 for flag in flags]},
    )
    figure = blank_figure([trace], 210)
    figure.update_xaxes(named_axis(names, most=16), showgrid=False)
    figure.update_layout(bargap=0.08)
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
    import plotly.graph_objects as go

    kinds = list(groups) if groups is not None else [0] * len(names)
    tooltips = details or names
    table = [[name, _rounded(float(x)), _rounded(float(y))] for name, (x, y) in zip(names, points, strict=True)]
    traces: list[Any] = [
        go.Scatter(
            x=points[list(path), 0].tolist(),
            y=points[list(path), 1].tolist(),
            mode="lines",
            line={"color": COLORS[place % 4], "width": 1.5},
            hoverinfo="skip",
            showlegend=False,
        )
        for place, path in enumerate(paths)
    ]
    for group in sorted(set(kinds)):
        mine = [place for place, other in enumerate(kinds) if other == group]
        traces.append(
            go.Scatter(
                x=points[mine, 0].tolist(),
                y=points[mine, 1].tolist(),
                mode="markers+text",
                name=escaped(group_names[group]) if group < len(group_names) else "",
                text=[escaped(short_name(names[place])) for place in mine],
                textposition="top center",
                customdata=[escaped(tooltips[place]) for place in mine],
                hovertemplate="%{customdata}<extra></extra>",
                marker={"color": COLORS[group % 4], "size": 9},
            )
        )
    figure = blank_figure(traces, 400, legend=len(group_names) > 1)
    figure.update_layout(dragmode="pan")
    # One scale for both directions: distances are what the picture is about.
    figure.update_xaxes(showticklabels=False, zeroline=False)
    figure.update_yaxes(showticklabels=False, zeroline=False, scaleanchor="x")
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
    import plotly.graph_objects as go

    plain = [(name, [None if v is None else float(v) for v in values]) for name, values in series]
    table = [[place, *(_rounded(values[at]) for _, values in plain)] for at, place in enumerate(places)]
    tooltips = details or [
        [f"{place_name} {place}, {name}: {_three_digits(v)}" for place, v in zip(places, values, strict=True)]
        for name, values in plain
    ]
    traces = [
        go.Scatter(
            x=list(range(len(places))),
            y=list(values),
            mode="lines+markers",
            name=escaped(name),
            customdata=[escaped(text) for text in tooltips[place]],
            hovertemplate="%{customdata}<extra></extra>",
            line={"color": COLORS[place % 4], "width": 2, "dash": "dash" if name in dashed else "solid"},
            marker={"size": 6},
        )
        for place, (name, values) in enumerate(plain)
    ]
    figure = blank_figure(traces, 300, legend=len(series) > 1)
    figure.update_layout(dragmode="zoom")
    figure.update_xaxes(named_axis(places, most=14), title_text=escaped(place_name), showgrid=False, zeroline=False)
    seen = [value for _, values in plain for value in values if value is not None]
    ends = [*seen, *(end for end in (low, high) if end is not None)]
    if ends and (low is not None or high is not None):
        margin = 0.04 * ((max(ends) - min(ends)) or 1.0)
        figure.update_yaxes(range=[min(ends) - margin, max(ends) + margin])
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
