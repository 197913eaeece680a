"""Payloads of charts: a Plotly figure, its numbers as a table, and its captions.

`picks` of a payload, if any, are what a click on a mark sends, in the order of the figure's marks. `texts` of bars are
their labels, for the table's cells. `csv` has the rows of that download where they are more than the table's.
"""

import itertools
from collections.abc import Sequence
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
    scatter,
    short_name,
    tooltips,
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


def matrix_payload(
    values: NDArray[np.floating | np.integer],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    row_name: str = "",
    column_name: str = "",
    unit: str = "",
    words: Sequence[Sequence[str]] | None = None,
    texts: Sequence[Sequence[str]] | None = None,
    details: Sequence[Sequence[str]] | None = None,
    shades: NDArray[np.floating] | None = None,
    peak: float | None = None,
    picks: tuple[Sequence[int], Sequence[int]] = ((), ()),
    axis: str = "",
    **captions: Unpack[Captions],
) -> Payload:
    """Return a heat map of numbers, (rows, columns); NaN is left white.

    `row_name` and `column_name` are what a row and a column are, for tooltips; `unit` is that of the numbers, and
    `details` replace the tooltips. Cells show `texts`, or `words`, which are before the numbers in the table too, or
    their numbers. The colors show `shades`, by default `values`; 0 is white and `peak`, by default the largest, full
    color. `picks` are for each row and for each column what a click on a cell sends; without them no cell can be
    selected. `axis` is the title of the column axis; only some of its many columns are then named.
    """
    shown = values if shades is None else shades
    cells = [[value if np.isfinite(value) else None for value in row] for row in values.tolist()]
    numbers = [["" if value is None else f"{value:.3g}" for value in row] for row in cells]
    in_words = words or [[""] * len(columns)] * len(rows)

    def described(row: int, column: int) -> str:
        names = (row_name, rows[row], column_name, columns[column], in_words[row][column])
        value = cells[row][column]
        return " ".join(filter(None, names)) + ("" if value is None else f": {value:.3f} {unit}".rstrip())

    details = details or [[described(row, column) for column in range(len(columns))] for row in range(len(rows))]
    if peak is None:
        peak = float(np.abs(shown[np.isfinite(shown)]).max(initial=0))
    names = 8 if axis else 400
    figure = heatmap_figure(shown, rows, columns, texts or words or numbers, details, peak, most_names=names, axis=axis)
    entries: list[list[Any]] = cells
    if words:
        lines = zip(words, numbers, strict=True)
        entries = [[f"{word} {number}".strip() for word, number in zip(*line, strict=True)] for line in lines]
    table = [[name, *line] for name, line in zip(rows, entries, strict=True)]
    down, across = picks
    body = {"kind": "matrix", "picks": [[{"row": row, "column": column} for column in across] for row in down]}
    return _chart(body, title, [row_name, *columns], table, captions, figure)


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
    numbers = [v for _, values in series for v in values if v is not None]
    if peak is None:
        peak = 1.0 if number_format.endswith("%") else max(map(abs, numbers), default=0.0)
    table = [[group, *(values[at] for _, values in series)] for at, group in enumerate(groups)]
    body = {"kind": "bars", "texts": labels}
    if ranked and len(groups) > MOST_LABELS:
        hint = f"The {MOST_LABELS} {ranked} of {len(groups):,} are drawn; the CSV has all."
        captions["sentence"] = f"{captions.get('sentence', '')} {hint}".strip()
        groups, series = groups[:MOST_LABELS], [(name, values[:MOST_LABELS]) for name, values in series]
    drawn = [line[: len(groups)] for line in labels]
    traces = [
        {
            "type": "bar",
            "x": [0.0 if value is None else value for value in values],
            "y": list(range(len(groups))),
            "orientation": "h",
            "name": escaped(name),
            "text": list(map(escaped, written)),
            "textposition": "outside",
            "cliponaxis": False,
            "marker": {"color": colors[place % len(colors)], "opacity": 0.8},
        }
        | tooltips(f"{group}{name and f', {name}'}: {text}" for group, text in zip(groups, written, strict=True))
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
    numbers = [float(v) for v in values]
    body = {"keys": [[name, color] for name, color in zip(mark_names, COLORS, strict=False)]}
    table = [list(row) for row in zip(names, numbers, details, strict=True)]
    flags = marked or [False] * len(numbers)
    colors = [COLORS[1 if flag or value < 0 else 0] for value, flag in zip(numbers, flags, strict=True)]
    marker = {"color": colors, "opacity": [0.45 if flag else 0.8 for flag in flags]}
    trace = {"type": "bar", "x": list(range(len(numbers))), "y": numbers, "marker": marker, **tooltips(details)}
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
    kinds = [0] * len(names) if groups is None else groups
    details = details or names
    table = [[name, *point] for name, point in zip(names, points.tolist(), strict=True)]
    traces = [
        scatter(points[path], mode="lines", line={"color": color, "width": 1.5}, hoverinfo="skip", showlegend=False)
        for path, color in zip(map(list, paths), itertools.cycle(COLORS), strict=False)
    ]
    for group in sorted(set(kinds)):
        mine = [place for place, other in enumerate(kinds) if other == group]
        traces.append(
            scatter(
                points[mine],
                mode="markers+text",
                name=escaped(group_names[group]) if group < len(group_names) else "",
                text=[escaped(short_name(names[place])) for place in mine],
                textposition="top center",
                marker={"color": COLORS[group % 4], "size": 9},
                **tooltips(details[place] for place in mine),
            )
        )
    figure = blank_figure(traces, 400, legend=len(group_names) > 1, drag="pan")
    # One scale for both directions: distances are what the picture is about.
    figure.update_xaxes(showticklabels=False, zeroline=False)
    figure.update_yaxes(showticklabels=False, zeroline=False, scaleanchor="x")
    return _chart({}, title, ["", "first direction", "second direction"], table, captions, figure)


def points_payload(
    points: NDArray[np.floating],
    names: Sequence[str],
    *,
    title: str,
    axes: tuple[str, str],
    groups: Sequence[int],
    group_names: Sequence[str],
    marked: Sequence[bool],
    picks: Sequence[int],
    extra_columns: ExtraColumns = (),
    **captions: Unpack[Captions],
) -> Payload:
    """Return a scatter plot of points, (n, 2), on two axes with names; `marked` ones are crosses.

    A click on a point, or on its first number in the table, sends {"index": its entry of `picks`}.
    """
    marker = {
        "color": [COLORS[group] for group in groups],
        "symbol": ["x" if mark else "circle" for mark in marked],
        "size": [8 if mark else 5 for mark in marked],
        "opacity": 0.75,
    }
    figure = blank_figure([scatter(points, mode="markers", marker=marker, **tooltips(names))], 420, drag="pan")
    figure.update_xaxes(title_text=axes[0], zeroline=False)
    figure.update_yaxes(title_text=axes[1], zeroline=False, range=[-0.03, 1.03])
    body = {"picks": [[{"index": pick}] for pick in picks], "keys": list(zip(group_names, COLORS, strict=False))}
    table = [[name, *point] for name, point in zip(names, points.tolist(), strict=True)]
    return _chart(body, title, ["example", *axes], table, captions, figure, extra_columns)


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
    table = [[place, *(values[at] for _, values in plain)] for at, place in enumerate(places)]

    def described(place: int, name: str, value: float | None) -> str:
        return f"{place_name} {places[place]}, {name}: {'' if value is None else f'{value:.3g}'}"

    details = details or [[described(at, name, v) for at, v in enumerate(values)] for name, values in plain]
    traces = [
        {
            "type": "scatter",
            "x": list(range(len(places))),
            "y": values,
            "mode": "lines+markers",
            "name": escaped(name),
            "line": {"color": COLORS[place % 4], "width": 2, "dash": "dash" if name in dashed else "solid"},
            "marker": {"size": 6},
        }
        | tooltips(details[place])
        for place, (name, values) in enumerate(plain)
    ]
    figure = blank_figure(traces, 300, legend=len(series) > 1, drag="zoom")
    figure.update_xaxes(named_axis(places, most=14), title_text=escaped(place_name), showgrid=False, zeroline=False)
    ends = [end for end in (low, high, *(v for _, values in plain for v in values)) if end is not None]
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
        "rows": [[*map(_rounded, row), *(entries[at] for _, entries in extra_columns)] for at, row in enumerate(rows)],
    }
    defaults = {"title": title, "sentence": "", "note": "", "file": "chart"}
    return to_json(defaults | captions | body | {"table": table, "figure": figure.to_dict()})


def _rounded(cell: Any) -> Any:
    return round(cell, _DIGITS) if isinstance(cell, (float, np.floating)) else cell
