"""What the Plotly figures share: colors, axes, labels, and the heat map.

Colors are the page's CSS variables, so that light and dark need no second figure. Axes are numeric with ticks that
carry the names: tokens and labels repeat, and a category axis would merge them. Plotly interprets a little HTML in its
labels, so every text is escaped. plotly is imported when a figure is made: a page that is only opened need not wait.
"""

import html
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

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
_LONGEST_NAME = 34  # characters of a name on an axis; the tooltip has all
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
    peak = peak if peak > 0 else 1.0
    trace = {
        "type": "heatmap",
        "z": [[float(v) if math.isfinite(v) else None for v in row] for row in values],
        "text": [list(map(escaped, row)) for row in texts],
        "texttemplate": "%{text}",
        "textfont": {"color": TEXT},  # Plotly's own choice, white or gray, can be too faint
        "customdata": [list(map(escaped, row)) for row in words],
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[0, SHADES[1]], [0.5, PAGE], [1, SHADES[0]]],
        **{"zmin": -peak, "zmax": peak, "showscale": False, "xgap": 2, "ygap": 2},
    }
    height = max(map(row_height, rows), default=_ROW) * len(rows) + _HEAD + 20
    figure = blank_figure([trace], height + (_ROW if axis else 0))
    title = {"text": escaped(axis), "standoff": 4}
    figure.update_xaxes(named_axis(columns, most_names), side="top", title=title, showgrid=False, zeroline=False)
    figure.update_yaxes(named_rows(rows), autorange="reversed", showgrid=False, zeroline=False)
    return figure


def escaped(text: str) -> str:
    """Escape a text so that Plotly shows it literally."""
    return html.escape(_CONTROL.sub(" ", str(text)), quote=False)


def tooltips(texts: Iterable[str]) -> dict[str, Any]:
    """Return what shows a text at each mark of a trace."""
    return {"customdata": list(map(escaped, texts)), "hovertemplate": "%{customdata}<extra></extra>"}


def scatter(points: NDArray[np.floating] | None = None, **more: Any) -> dict[str, Any]:
    """Return a trace of points, (n, 2), or of none that the page adds."""
    x, y = ([], []) if points is None else points.T.tolist()
    return {"type": "scatter", "x": x, "y": y, **more}


def blank_figure(
    traces: list[dict[str, Any]], height: int, *, legend: bool = False, drag: Literal["pan", "zoom", False] = False
) -> "go.Figure":
    """Return traces on a transparent background, `height` pixels high; `drag` is what dragging does."""
    import plotly.graph_objects as go

    axis = {"gridcolor": EDGE, "linecolor": EDGE, "zerolinecolor": EDGE, "automargin": True}
    return go.Figure(
        traces,
        {
            "template": {},
            "height": height,
            "margin": {"l": 8, "r": 34 if drag else 12, "t": 8, "b": 8},  # the tool bar is beside the plot, not over it
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": TEXT, "size": 12},
            "showlegend": legend,
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            "hoverlabel": {"align": "left"},
            "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": QUIET, "activecolor": TEXT},
            "dragmode": drag,
            "xaxis": axis,
            "yaxis": axis,
        },
    )


def named_axis(names: Sequence[str], most: int = 400) -> dict[str, Any]:
    """Return an axis with a name at each whole number, or at evenly spaced ones if there are many."""
    every = max(1, math.ceil(len(names) / most))
    shown = range(0, len(names), every)
    texts = [escaped(short_name(names[place])) for place in shown]
    return {"tickmode": "array", "tickvals": list(shown), "ticktext": texts, "ticks": ""}


def named_rows(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis with a name at each row, in up to two lines."""
    texts = ["<br>".join(map(escaped, _lines(name))) for name in names]
    return {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": texts, "ticks": ""}


def _lines(name: str) -> list[str]:
    return textwrap.wrap(name, _LINE, max_lines=2, placeholder="…") if len(name) > _LINE else [name]


def row_height(name: str) -> int:
    """Return the height of a row with this name in pixels."""
    return _ROW if len(_lines(name)) < 2 else _TWO_LINES


def short_name(name: str) -> str:
    """Shorten a name for an axis."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
