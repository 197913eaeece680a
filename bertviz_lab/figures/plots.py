"""What the Plotly figures share that the page fills: colors and labels.

Colors are the page's CSS variables, so that light and dark need no second figure. Plotly interprets a little HTML in
its labels, so every text is escaped. plotly is imported when a figure is made: a page that is only opened need not
wait.
"""

import html
import re
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: The data colors of the page; two of them also differ in lightness.
COLORS = ("var(--lab-a)", "var(--lab-b)", "var(--lab-kept)", "var(--lab-mask)")
TEXT, QUIET, EDGE, PAGE = "var(--lab-text)", "var(--lab-quiet)", "var(--lab-edge)", "var(--lab-page)"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # which no SVG may hold


def escaped(text: str) -> str:
    """Escape a text so that Plotly shows it literally."""
    return html.escape(_CONTROL.sub(" ", str(text)), quote=False)


def scatter(**more: Any) -> dict[str, Any]:
    """Return a trace of points that the page adds."""
    return {"type": "scatter", "x": [], "y": [], **more}


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
