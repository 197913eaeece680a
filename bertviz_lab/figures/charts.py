"""Payloads of the chart: what is drawn, what each item says, and the same numbers as a table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload, to_json

_DIGITS = 6

#: Further columns of a chart's table: (name, one entry a row).
Beside = Sequence[tuple[str, Sequence[float | str | None]]]


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
    **words: str,
) -> Payload:
    """A table of shaded cells, (rows, columns); NaN is left white. With `picks` a cell can be chosen.

    `peak` is the size at which the shade is full, by default the largest. `counts`, of the same shape, are what is
    written in the cells and the table where `values` only shade; `details` are what each cell says. With `diagonal`
    cells off the diagonal have the other colour. `words`: sentence, note, file.
    Raises `ValueError` where the shapes do not agree.
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
    elif texts is None or picks:  # words in cells that can be chosen are marks beside the numbers
        table = [[name, *(_rounded(v) for v in line)] for name, line in zip(rows, cells, strict=True)]
    else:
        shown = zip(rows, texts, cells, strict=True)
        table = [
            [name, *(f"{t} {_short(v)}".strip() for t, v in zip(line, numbers, strict=True))]
            for name, line, numbers in shown
        ]
    return _chart(body, title, header, table, words)


def bars_payload(
    groups: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    title: str,
    texts: Sequence[Sequence[str]] | None = None,
    peak: float | None = None,
    picks: bool = False,
    beside: Beside = (),
    **words: str,
) -> Payload:
    """Bars that lie, a row for each group and in it a bar for each (name, values) of `series`.

    `texts`, a list for each of the series, are written beside the bars in place of the numbers; `beside` are further
    columns of the table.
    """
    written = [
        list(texts[place]) if texts is not None else ["" if v is None else _short(v) for v in values]
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
    return _chart(body, title, ["", *(name or "value" for name, _ in series)], table, words, beside)


def columns_payload(
    values: NDArray[np.floating],
    names: Sequence[str],
    details: Sequence[str],
    *,
    title: str,
    marked: Sequence[bool] = (),
    mark_names: Sequence[str] = (),
    **words: str,
) -> Payload:
    """Columns that stand on a line; where some are negative, they hang from it. `details` say what each is.

    Columns that are `marked` have another look; `mark_names` are the names of both looks, the plain one first.
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
    return _chart(body, title, ["", "value", "is"], table, words)


def plane_payload(
    points: NDArray[np.floating],
    names: Sequence[str],
    *,
    title: str,
    groups: Sequence[int] | None = None,
    group_names: Sequence[str] = (),
    ways: Sequence[Sequence[int]] = (),
    details: Sequence[str] | None = None,
    **words: str,
) -> Payload:
    """Points in a plane, (n, 2), with names; `ways` are lists of points to be joined, one of each group's colour."""
    kinds = list(groups) if groups is not None else [0] * len(names)
    body = {
        "kind": "plane",
        "points": [
            {"x": float(x), "y": float(y), "name": name, "group": kind, "words": detail}
            for (x, y), name, kind, detail in zip(points, names, kinds, details or names, strict=True)
        ],
        "names": list(group_names),
        "ways": [list(way) for way in ways],
    }
    table = [[name, _rounded(float(x)), _rounded(float(y))] for name, (x, y) in zip(names, points, strict=True)]
    return _chart(body, title, ["", "first direction", "second direction"], table, words)


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
    beside: Beside = (),
    **words: str,
) -> Payload:
    """Lines over named places, one for each (name, values); `low` and `high` are shown whatever the values.

    `details`, a list for each of the series, are what its points say; `dashed` names the lines that only guide the
    eye; `beside` are further columns of the table.
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
    return _chart(body, title, [place_name, *(name for name, _ in plain)], table, words, beside)


def _chart(
    body: dict[str, Any],
    title: str,
    header: list[str],
    rows: list[list[Any]],
    words: dict[str, str],
    beside: Beside = (),
) -> Payload:
    unknown = set(words) - {"sentence", "note", "file"}
    if unknown:
        raise TypeError(f"A chart has no {', '.join(sorted(unknown))}.")
    spoken = {"title": title, "sentence": "", "note": "", "file": "chart"} | words
    table = {
        "header": [*header, *(name for name, _ in beside)],
        "rows": [[*row, *(entries[at] for _, entries in beside)] for at, row in enumerate(rows)],
    }
    return to_json(spoken | body | {"table": table})


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
