"""Payloads of the chart component: marks, tooltips, and the same numbers as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload, to_json

_DIGITS = 6

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
    counts: NDArray[np.integer] | None = None,
    details: Sequence[Sequence[str]] | None = None,
    diagonal: bool = False,
    **captions: str,
) -> Payload:
    """A heat map, (rows, columns); NaN is left white. With `picks` a cell can be selected.

    `peak` is the value with the full shade, by default the largest. `counts`, of the same shape, replace `values` as
    the text of cells and table; `details` are tooltips. With `diagonal`, cells off the diagonal have the other colour.
    `captions`: sentence, note, file. Raises `ValueError` where the shapes do not agree.
    """
    if values.shape != (len(rows), len(columns)) or (counts is not None and counts.shape != values.shape):
        raise ValueError(f"A table of {values.shape} with {len(rows)} rows and {len(columns)} columns.")
    finite = np.abs(values[np.isfinite(values)])
    cells = [[float(v) if np.isfinite(v) else None for v in row] for row in values]
    body = {
        "kind": "matrix",
        "rows": list(rows),
        "columns": list(columns),
        "row_name": row_name,
        "column_name": column_name,
        "values": cells,
        "texts": None if texts is None else [list(row) for row in texts],
        "peak": peak if peak is not None else float(finite.max()) if finite.size else 0.0,
        "unit": unit,
        "picks": picks,
        "counts": None if counts is None else counts.tolist(),
        "details": None if details is None else [list(row) for row in details],
        "diagonal": diagonal,
    }
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
    return _chart(body, title, header, table, captions)


def bars_payload(
    groups: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    title: str,
    texts: Sequence[Sequence[str]] | None = None,
    peak: float | None = None,
    picks: bool = False,
    extra_columns: ExtraColumns = (),
    **captions: str,
) -> Payload:
    """Horizontal bars: a row for each group, and in it a bar for each (name, values) of `series`.

    `texts`, a list for each series, label the bars in place of the numbers; `extra_columns` extend the table.
    """
    written = [
        list(texts[place]) if texts is not None else ["" if v is None else _three_digits(v) for v in values]
        for place, (_, values) in enumerate(series)
    ]
    sizes = [abs(v) for _, values in series for v in values if v is not None]
    body = {
        "kind": "bars",
        "groups": list(groups),
        "series": [
            {"name": name, "values": list(values), "texts": written[place]}
            for place, (name, values) in enumerate(series)
        ],
        "names": [name for name, _ in series],
        "peak": peak if peak is not None else max(sizes, default=0.0),
        "picks": picks,
    }
    table = [[group, *(_rounded(values[at]) for _, values in series)] for at, group in enumerate(groups)]
    return _chart(body, title, ["", *(name or "value" for name, _ in series)], table, captions, extra_columns)


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
    body = {
        "kind": "columns",
        "values": numbers,
        "places": list(names),
        "marked": [bool(flag) for flag in marked] or [False] * len(numbers),
        "names": list(mark_names),
        "words": list(details),
        "peak": max((abs(v) for v in numbers), default=0.0),
    }
    table = [[name, _rounded(v), detail] for name, v, detail in zip(names, numbers, details, strict=True)]
    return _chart(body, title, ["", "value", "is"], table, captions)


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
    body = {
        "kind": "plane",
        "points": [
            {"x": float(x), "y": float(y), "name": name, "group": kind, "words": detail}
            for (x, y), name, kind, detail in zip(points, names, kinds, details or names, strict=True)
        ],
        "names": list(group_names),
        "ways": [list(path) for path in paths],
    }
    table = [[name, _rounded(float(x)), _rounded(float(y))] for name, (x, y) in zip(names, points, strict=True)]
    return _chart(body, title, ["", "first direction", "second direction"], table, captions)


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
    body = {
        "kind": "lines",
        "places": list(places),
        "place_name": place_name,
        "series": [
            {
                "name": name,
                "values": values,
                "details": None if details is None else list(details[at]),
                "dashed": name in dashed,
            }
            for at, (name, values) in enumerate(plain)
        ],
        "names": [name for name, _ in plain],
        "low": low,
        "high": high,
    }
    table = [[place, *(_rounded(values[at]) for _, values in plain)] for at, place in enumerate(places)]
    return _chart(body, title, [place_name, *(name for name, _ in plain)], table, captions, extra_columns)


def _chart(
    body: dict[str, Any],
    title: str,
    header: list[str],
    rows: list[list[Any]],
    captions: dict[str, str],
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
    return to_json(captions | body | {"table": table})


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _three_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
