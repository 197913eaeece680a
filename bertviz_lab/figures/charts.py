"""Payloads of charts: a Plotly figure, the numbers that it shows, and the same numbers as a table.

`picks`, where there are any, are what a click on a mark sends, in the order of the figure's marks: a row of cells of a
heatmap. `texts` of bars are what stands at them, for the table's cells. `csv` are the rows of that download where they
are more than the table's.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.plots import COLOURS, bar_figure, column_figure, heatmap_figure, line_figure, scatter_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

_DIGITS = 6
#: Labels that a chart shows, as many as a person reads and a browser draws at once.
MOST_LABELS = 40

#: Matrices of counts with more columns leave their zeros unwritten.
_ZEROS_WRITTEN = 15

#: Further columns of a chart's table: (name, one entry per row).
ExtraColumns = Sequence[tuple[str, Sequence[float | str | None]]]


def matrix_payload(
    values: NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str,
    row_name: str = "",
    column_name: str = "",
    texts: Sequence[Sequence[str]] | None = None,
    peak: float | None = None,
    unit: str = "",
    picks: bool = False,
    places: Sequence[int] | None = None,
    counts: NDArray[np.integer] | None = None,
    details: Sequence[Sequence[str]] | None = None,
    diagonal: bool = False,
    centre: float = 0.0,
    numbers: bool = True,
    columns_name: str = "",
    **captions: str,
) -> Payload:
    """A heat map, (rows, columns); NaN is left white. With `picks` a cell can be selected, which sends its row and
    column, or what `places` has for them.

    `peak` is the distance from `centre`, the white value, with the full shade; by default the largest value. Without
    `numbers` they stand in the table alone, and few of the columns are named. `counts`, of the same shape, replace
    `values` as the text of cells and table; `details` are tooltips. With `diagonal`, cells off the diagonal have the
    other colour. `columns_name` is the name of the columns' axis. `captions`: sentence, note, file. Raises `ValueError`
    where the shapes do not agree.
    """
    if values.shape != (len(rows), len(columns)) or (counts is not None and counts.shape != values.shape):
        raise ValueError(f"A table of {values.shape} with {len(rows)} rows and {len(columns)} columns.")
    finite = np.abs(values[np.isfinite(values)])
    cells = [[float(v) if np.isfinite(v) else None for v in row] for row in values]
    peak = peak if peak is not None else float(finite.max()) if finite.size else 0.0
    spoken = details or [
        [
            _cell_words((row_name, name, column_name, other, texts[r][c] if texts else ""), cells[r][c], unit)
            for c, other in enumerate(columns)
        ]
        for r, name in enumerate(rows)
    ]
    if counts is not None:
        zero = "0" if len(columns) <= _ZEROS_WRITTEN else ""
        written = [[f"{count:,}" if count else zero for count in row] for row in counts.tolist()]
    else:
        written = [["" if v is None else _three_digits(v) for v in row] for row in cells]
        if texts and picks:  # marks, which stand in place of some numbers
            written = [
                [mark or number for mark, number in zip(*pair, strict=True)]
                for pair in zip(texts, written, strict=True)
            ]
        elif texts:
            written = [list(row) for row in texts]
    if not numbers:
        written = [[""] * len(columns) for _ in rows]
    shades = values.astype(float) - centre
    if diagonal:  # mistakes are few beside what is right: the root lets them be seen
        sign = np.where(np.eye(*values.shape, dtype=bool), 1, -1)
        shades = sign * np.sqrt(np.abs(shades / (peak or 1.0)))
    figure = heatmap_figure(
        shades, rows, columns, written, spoken, 1.0 if diagonal else peak, 400 if numbers else 8, columns_name
    )
    across, down = (places, places) if places is not None else (range(len(columns)), range(len(rows)))
    body = {"kind": "matrix", "picks": [[{"row": r, "column": c} for c in across] for r in down] if picks else []}
    header = [row_name or "", *columns]
    if counts is not None:
        table = [[name, *line] for name, line in zip(rows, counts.tolist(), strict=True)]
    elif texts is None or picks:  # in cells that can be selected, texts are marks beside the numbers
        table = [[name, *(_rounded(v) for v in line)] for name, line in zip(rows, cells, strict=True)]
    else:
        shown = zip(rows, texts, cells, strict=True)
        table = [
            [name, *(f"{t} {_three_digits(v)}".strip() for t, v in zip(line, numbers, strict=True))]
            for name, line, numbers in shown
        ]
    return _chart(body, title, header, table, captions, figure)


def bars_payload(
    groups: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    title: str,
    texts: Sequence[Sequence[str]] | None = None,
    peak: float | None = None,
    extra_columns: ExtraColumns = (),
    colours: Sequence[str] = COLOURS,
    reference: tuple[float, str] | None = None,
    ranked: str = "",
    **captions: str,
) -> Payload:
    """Horizontal bars: a row for each group, and in it a bar for each (name, values) of `series`.

    `texts`, a list for each series, label the bars in place of the numbers; `extra_columns` extend the table.
    `colours` are those of the series; `reference` is a value with a dashed line and its name. Of very many groups that
    are `ranked`, such as "most frequent labels", the first are drawn and the table has all.
    """
    written = [
        list(texts[place]) if texts is not None else ["" if v is None else _three_digits(v) for v in values]
        for place, (_, values) in enumerate(series)
    ]
    sizes = [abs(v) for _, values in series for v in values if v is not None]
    peak = peak if peak is not None else max(sizes, default=0.0)
    body = {"kind": "bars", "texts": written}
    table = [[group, *(_rounded(values[at]) for _, values in series)] for at, group in enumerate(groups)]
    if ranked and len(groups) > MOST_LABELS:
        drawn = f"The {MOST_LABELS} {ranked} of {len(groups):,} are drawn; the CSV has all."
        captions["sentence"] = f"{captions.get('sentence', '')} {drawn}".strip()
        groups, series = groups[:MOST_LABELS], [(name, values[:MOST_LABELS]) for name, values in series]
    figure = bar_figure(groups, series, [line[: len(groups)] for line in written], peak, colours, reference)
    return _chart(body, title, ["", *(name or "value" for name, _ in series)], table, captions, figure, extra_columns)


def columns_payload(
    values: NDArray[np.floating],
    names: Sequence[str],
    details: Sequence[str],
    *,
    title: str,
    marked: Sequence[bool] = (),
    mark_names: Sequence[str] = (),
    **captions: str,
) -> Payload:
    """Vertical bars; negative ones go down. `details` are their tooltips.

    Bars that are `marked` have another style; `mark_names` name both styles in the legend, the plain one first.
    """
    numbers = [float(v) for v in values]
    body = {"keys": [[name, colour] for name, colour in zip(mark_names, COLOURS, strict=False)]}
    table = [[name, _rounded(v), detail] for name, v, detail in zip(names, numbers, details, strict=True)]
    figure = column_figure(numbers, names, details, [bool(flag) for flag in marked] or [False] * len(numbers))
    return _chart(body, title, ["", "value", "is"], table, captions, figure)


def plane_payload(
    points: NDArray[np.floating],
    names: Sequence[str],
    *,
    title: str,
    groups: Sequence[int] | None = None,
    group_names: Sequence[str] = (),
    paths: Sequence[Sequence[int]] = (),
    details: Sequence[str] | None = None,
    **captions: str,
) -> Payload:
    """A scatter plot of named points, (n, 2); `paths` are lists of points to join, in the colour of their group."""
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
    **captions: str,
) -> Payload:
    """A line chart over named places, a line for each (name, values); the y-axis covers at least `low` to `high`.

    `details`, a list for each series, are tooltips; `dashed` names reference lines; `extra_columns` extend the table.
    """
    plain = [(name, [None if v is None else float(v) for v in values]) for name, values in series]
    table = [[place, *(_rounded(values[at]) for _, values in plain)] for at, place in enumerate(places)]
    spoken = [
        details[at]
        if details is not None
        else [f"{place_name} {place}, {name}: {_three_digits(v)}" for place, v in zip(places, values, strict=True)]
        for at, (name, values) in enumerate(plain)
    ]
    figure = line_figure(places, plain, spoken, place_name, dashed, low, high)
    return _chart({}, title, [place_name, *(name for name, _ in plain)], table, captions, figure, extra_columns)


def _chart(
    body: dict[str, Any],
    title: str,
    header: list[str],
    rows: list[list[Any]],
    captions: dict[str, str],
    figure: "go.Figure",
    extra_columns: ExtraColumns = (),
) -> Payload:
    unknown = set(captions) - {"sentence", "note", "file"}
    if unknown:
        raise TypeError(f"A chart has no {', '.join(sorted(unknown))}.")
    captions = {"title": title, "sentence": "", "note": "", "file": "chart"} | captions
    table = {
        "header": [*header, *(name for name, _ in extra_columns)],
        "rows": [[*row, *(entries[at] for _, entries in extra_columns)] for at, row in enumerate(rows)],
    }
    return to_json(captions | body | {"table": table, "figure": figure.to_dict()})


def _cell_words(names: Sequence[str], value: float | None, unit: str) -> str:
    """What a cell of a table is: its row, its column, the text in it, its number."""
    number = "" if value is None else f": {value:.3f}{f' {unit}' if unit else ''}"
    return " ".join(name for name in names if name) + number


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _three_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
