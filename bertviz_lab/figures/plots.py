"""Charts as Plotly figures. Colors are the page's CSS variables, so that light and dark need no second figure.

Axes are numeric with ticks that carry the names: tokens and labels repeat, and a category axis would merge them.
Plotly reads a little HTML in its labels, so every text is escaped. plotly is imported when a figure is made: a page
that is only opened need not wait for it.
"""

import html
import math
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: The data colors of the page; two of them also differ in lightness.
COLORS = ("var(--lab-a)", "var(--lab-b)", "var(--lab-kept)", "var(--lab-mask)")
TEXT, QUIET, EDGE, PAGE = "var(--lab-text)", "var(--lab-quiet)", "var(--lab-edge)", "var(--lab-page)"
#: The first two as the full shade of a cell, on which text can be read.
SHADES = ("var(--lab-shade-a)", "var(--lab-shade-b)")

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # which no SVG may hold
_LONGEST_NAME = 34  # characters of a name on an axis; hovering tells the whole
_LINE = 30  # characters of a line of a row's name, which has two: a phone has room for the row as well
_ROW, _TWO_LINES, _HEAD = 26, 32, 30  # pixels


def heatmap_figure(
    values: NDArray[np.floating | np.integer],
    rows: Sequence[str],
    columns: Sequence[str],
    texts: Sequence[Sequence[str]],
    words: Sequence[Sequence[str]],
    peak: float,
    most_names: int = 400,
    axis: str = "",
) -> "go.Figure":
    """Return a table of shaded cells, (rows, columns): blue above 0, brown below, full at `peak`; NaN is left white.

    Cells show `texts`; `words` are tooltips. At most about `most_names` columns are named. `axis` is the axis title.
    """
    import plotly.graph_objects as go

    peak = peak if peak > 0 else 1.0
    trace = go.Heatmap(
        z=[[float(v) if math.isfinite(v) else None for v in row] for row in values],
        text=[[escaped(text) for text in row] for row in texts],
        texttemplate="%{text}",
        textfont={"color": TEXT},  # Plotly's own choice, white or grey, can be too faint
        customdata=[[escaped(text) for text in row] for row in words],
        hovertemplate="%{customdata}<extra></extra>",
        colorscale=[[0, SHADES[1]], [0.5, PAGE], [1, SHADES[0]]],
        zmin=-peak,
        zmax=peak,
        showscale=False,
        xgap=2,
        ygap=2,
    )
    height = max(map(_row_height, rows), default=_ROW) * len(rows) + _HEAD + 20
    figure = blank_figure([trace], height + (_ROW if axis else 0))
    title = {"text": escaped(axis), "standoff": 4}
    figure.update_xaxes(_named(columns, most_names), side="top", title=title, showgrid=False, zeroline=False)
    figure.update_yaxes(_named_rows(rows), autorange="reversed", showgrid=False, zeroline=False)
    return figure


def bar_figure(
    groups: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    texts: Sequence[Sequence[str]],
    peak: float,
    colors: Sequence[str] = COLORS,
    reference: tuple[float, str] | None = None,
) -> "go.Figure":
    """Return horizontal bars, a row for each group and in it a bar for each of `series`, with `texts` as labels.

    `reference` is a value with a dashed line across all groups, and the line's name.
    """
    import plotly.graph_objects as go

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
        for place, ((name, values), written) in enumerate(zip(series, texts, strict=True))
    ]
    height = max(16 * len(series) + 12, *map(_row_height, groups), 0) * len(groups) + 24
    figure = blank_figure(traces, height + (26 if len(series) > 1 else 0), legend=len(series) > 1)
    peak = peak or 1.0
    signed = any(value is not None and value < 0 for _, values in series for value in values)
    # What stands beside a bar has room in the margin, however narrow the figure is; beside one below 0, in the figure.
    longest = max((len(text) for written in texts for text in written), default=0)
    span = [-1.25 * peak, 1.25 * peak] if signed else [0, peak]
    figure.update_xaxes(range=span, visible=False, fixedrange=True, zeroline=False)
    figure.update_layout(margin_r=12 if signed else 16 + 8 * longest)
    figure.update_yaxes(_named_rows(groups), autorange="reversed", showgrid=False, zeroline=False)
    figure.update_layout(barmode="group", bargap=0.25)
    if reference is not None:
        value, name = reference
        line = {"color": QUIET, "width": 1.2, "dash": "dash"}
        label = {"text": escaped(name), "textposition": "end", "textangle": 0, "yanchor": "bottom", "font_color": QUIET}
        figure.add_shape(type="line", x0=value, x1=value, yref="paper", y0=0, y1=1, line=line, label=label)
    return figure


def column_figure(
    values: Sequence[float],
    names: Sequence[str],
    words: Sequence[str],
    marked: Sequence[bool],
) -> "go.Figure":
    """Return vertical bars, which go down below 0; the `marked` ones have the other color."""
    import plotly.graph_objects as go

    colors = [COLORS[1 if flag or value < 0 else 0] for value, flag in zip(values, marked, strict=True)]
    trace = go.Bar(
        x=list(range(len(values))),
        y=list(values),
        customdata=[escaped(text) for text in words],
        hovertemplate="%{customdata}<extra></extra>",
        marker={"color": colors, "opacity": [0.45 if flag else 0.8 for flag in marked]},
    )
    figure = blank_figure([trace], 210)
    figure.update_xaxes(_named(names, most=16), showgrid=False)
    figure.update_layout(bargap=0.08)
    return figure


def scatter_figure(
    points: NDArray[np.floating],
    names: Sequence[str],
    words: Sequence[str],
    groups: Sequence[int],
    group_names: Sequence[str],
    ways: Sequence[Sequence[int]],
) -> "go.Figure":
    """Return points in a plane, (n, 2), with names; each of `ways` joins points in the color of its place."""
    import plotly.graph_objects as go

    traces: list[Any] = [
        go.Scatter(
            x=points[list(way), 0].tolist(),
            y=points[list(way), 1].tolist(),
            mode="lines",
            line={"color": COLORS[place % 4], "width": 1.5},
            hoverinfo="skip",
            showlegend=False,
        )
        for place, way in enumerate(ways)
    ]
    for group in sorted(set(groups)):
        mine = [place for place, other in enumerate(groups) if other == group]
        traces.append(
            go.Scatter(
                x=points[mine, 0].tolist(),
                y=points[mine, 1].tolist(),
                mode="markers+text",
                name=escaped(group_names[group]) if group < len(group_names) else "",
                text=[escaped(_short_name(names[place])) for place in mine],
                textposition="top center",
                customdata=[escaped(words[place]) for place in mine],
                hovertemplate="%{customdata}<extra></extra>",
                marker={"color": COLORS[group % 4], "size": 9},
            )
        )
    figure = blank_figure(traces, 400, legend=len(group_names) > 1)
    figure.update_layout(dragmode="pan")
    # One scale for both directions: distances are what the picture is about.
    figure.update_xaxes(showticklabels=False, zeroline=False)
    figure.update_yaxes(showticklabels=False, zeroline=False, scaleanchor="x")
    return figure


def line_figure(
    places: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    words: Sequence[Sequence[str]],
    place_name: str,
    dashed: Sequence[str],
    low: float | None,
    high: float | None,
) -> "go.Figure":
    """Return lines over named places, one for each of `series`; the y-axis includes `low` and `high`."""
    import plotly.graph_objects as go

    traces = [
        go.Scatter(
            x=list(range(len(places))),
            y=list(values),
            mode="lines+markers",
            name=escaped(name),
            customdata=[escaped(text) for text in words[place]],
            hovertemplate="%{customdata}<extra></extra>",
            line={"color": COLORS[place % 4], "width": 2, "dash": "dash" if name in dashed else "solid"},
            marker={"size": 6},
        )
        for place, (name, values) in enumerate(series)
    ]
    figure = blank_figure(traces, 300, legend=len(series) > 1)
    figure.update_layout(dragmode="zoom")
    figure.update_xaxes(_named(places, most=14), title_text=escaped(place_name), showgrid=False, zeroline=False)
    seen = [value for _, values in series for value in values if value is not None]
    ends = [*seen, *(end for end in (low, high) if end is not None)]
    if ends and (low is not None or high is not None):
        margin = 0.04 * ((max(ends) - min(ends)) or 1.0)
        figure.update_yaxes(range=[min(ends) - margin, max(ends) + margin])
    return figure


def escaped(text: str) -> str:
    """Escape a text so that Plotly shows it literally."""
    return html.escape(_CONTROL.sub(" ", str(text)), quote=False)


def blank_figure(traces: list[Any], height: int, *, legend: bool = False) -> "go.Figure":
    """Return traces on a transparent background, `height` pixels high, without dragging."""
    import plotly.graph_objects as go

    return go.Figure(
        traces,
        {
            "template": {},
            "height": height,
            "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": TEXT, "size": 12},
            "showlegend": legend,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "hoverlabel": {"align": "left"},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": QUIET, "activecolor": TEXT},
            "dragmode": False,
            "xaxis": {"gridcolor": EDGE, "linecolor": EDGE, "zerolinecolor": EDGE, "automargin": True},
            "yaxis": {"gridcolor": EDGE, "linecolor": EDGE, "zerolinecolor": EDGE, "automargin": True},
        },
    )


def _named(names: Sequence[str], most: int = 400) -> dict[str, Any]:
    """Return an axis with a name at each whole number, or at evenly spaced ones if there are many."""
    every = max(1, math.ceil(len(names) / most))
    shown = range(0, len(names), every)
    texts = [escaped(_short_name(names[place])) for place in shown]
    return {"tickmode": "array", "tickvals": list(shown), "ticktext": texts, "ticks": ""}


def _named_rows(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis with a name at each row, in up to two lines."""
    texts = ["<br>".join(map(escaped, _lines(name))) for name in names]
    return {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": texts, "ticks": ""}


def _lines(name: str) -> list[str]:
    return textwrap.wrap(name, _LINE, max_lines=2, placeholder="…") if len(name) > _LINE else [name]


def _row_height(name: str) -> int:
    return _ROW if len(_lines(name)) < 2 else _TWO_LINES


def _short_name(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
