"""Charts over the snapshots of a training run.

The loss curve is complete. The others have their lines, names and axes, but no points: the page adds those of each
snapshot as it arrives. Their margins are fixed: the page's slider stands exactly under the lines, and draws a cursor.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertviz_lab.figures.plots import COLORS, EDGE, QUIET, TEXT, blank_figure, escaped, scatter

#: Colors of the lines of a chart, in their order.
PAINTS = (*COLORS, "var(--lab-random)", QUIET)
ACCENT = "var(--lab-accent)"
#: Left and right of the plots, in pixels: the page's slider stands exactly under them.
LEFT, RIGHT = 52, 18

_PERCENT = {"range": [0, 1], "tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75, 1]}
_NUMBER = {"rangemode": "tozero"}
_DOTTED = {"color": QUIET, "width": 1, "dash": "dot"}


@dataclass(frozen=True)
class SnapshotAxis:
    """The axis that the charts of a run share.

    Snapshots stand at even distances, and a step between two of them where its logarithm puts it. They are kept at
    steps 1, 2, 5, 10 ..., so this is nearly a logarithmic axis; but it has a place for step 0, and its places are those
    of the slider. `last` is the last step that is known of: a run in training is ahead of its newest snapshot.
    """

    steps: Sequence[int]  # not empty
    last: int

    def place(self, step: float) -> float:
        """Return the place of a step: the first snapshot is at 0, the second at 1."""
        low = max(0, bisect_right(self.steps, step) - 1)
        logs = [math.log1p(at) for at in self.steps]
        if low + 1 < len(logs):
            width = logs[low + 1] - logs[low]
        else:
            width = (logs[-1] - logs[0]) / (len(logs) - 1) if len(logs) > 1 else 1.0
        return low + max(0.0, math.log1p(step) - logs[low]) / (width or 1.0)

    def layout(self) -> dict[str, Any]:
        return {
            "range": [0, max(self.place(max(self.last, self.steps[-1])), 1)],
            "tickvals": list(range(len(self.steps))),
            "ticktext": [short_step(step) for step in self.steps],
            "ticks": "outside",
            "autotickangles": [0, 90],
            "tickcolor": EDGE,
            "linecolor": EDGE,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        }


def short_step(step: int) -> str:
    """Abbreviate a step on an axis: 500, 2k, 1.5M."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if step >= size:
            return f"{step / size:.3g}{letter}"
    return str(step)


def loss_chart(curve: Mapping[str, Any], axis: SnapshotAxis) -> dict[str, Any]:
    """Return the loss curve from `curve_body`; its table also has the seconds and tokens of each point."""
    names = {"trained": "training", "held": "held-out", "forwards": "next token (causal-LM warm-up)"}
    kinds = [(name, color, curve[key]) for (key, name), color in zip(names.items(), COLORS, strict=False) if curve[key]]
    title = f"{curve['name']} over the training"
    lines = [(name, color) for name, color, _ in kinds]
    chart = _lines(title, lines, _NUMBER, ".3f", "short", height=188, file="training-curve")
    figure = chart["figure"]
    for trace, (name, _, points) in zip(figure.data, kinds, strict=True):
        steps, losses, *_ = zip(*points, strict=True)
        mode = "lines+markers" if name == "held-out" else "lines"
        trace.update(x=[axis.place(step) for step in steps], y=losses, customdata=steps, mode=mode)
    if curve["chance"] is not None:
        figure.add_hline(
            y=curve["chance"],
            line=_DOTTED,
            annotation={"text": curve["chance_name"], "font": {"size": 11, "color": QUIET}},
            annotation_position="bottom left",
        )
    rows = [[name, *point, *[None] * (4 - len(point))] for name, _, points in kinds for point in points]
    table = {"header": ["curve", "step", "loss", "seconds", "tokens"], "rows": rows}
    return chart | {"table": table}


def snapshot_charts(
    follows: str,
    names: Sequence[str],
    steps: Sequence[int],
    projected: Sequence[str],
    tracked: Sequence[str],
    layers: int,
    vocab_size: int,
) -> dict[str, Any]:
    """Return the charts that the page fills.

    `follows` says what the lines of `tracked` and `rank` are: "words", the `names` of which are tracked; "labels" of a
    classifier; "value" of a regression; "next" or "answer", which have one line. `projected` are the words on the map,
    `tracked` those of them that leave a trail.
    """
    titles = {"words": "Tracked words", "value": "Predicted value over training"}
    lines = [(name, PAINTS[place % len(PAINTS)]) for place, name in enumerate(names)]
    free = follows == "value"  # a regression predicts any number
    ranks = {"type": "log", "range": [math.log10(max(10, vocab_size)), 0]}
    ranks |= {"tickvals": [1, 10, 100, 1_000, 10_000], "tickformat": ",d"}
    heads = [("", ACCENT), *((f"layer {layer + 1}", PAINTS[layer % len(PAINTS)]) for layer in range(layers))]
    numbers, shares = (_NUMBER, ".3f", "short"), (_PERCENT, ".1%", "percent")
    title, loss = titles.get(follows, "Over training"), "MLM loss of this text"
    head_shares = _head_lines(heads, *shares)
    head_shares["figure"].add_hline(y=0.5, line=_DOTTED)
    return {
        "tracked": _lines(title, lines, *(numbers if free else shares), file="tracked-words-probability"),
        "rank": _lines("Rank in vocabulary", lines, ranks, ",d", "whole", file="tracked-words-rank"),
        "losses": _lines(loss, [(loss, COLORS[0])], *numbers, height=198, file="loss-of-the-text"),
        "head_shares": head_shares,
        "head_numbers": _head_lines(heads, *numbers),
        "map": _word_map(projected, tracked),
    }


def _lines(
    title: str,
    names: Sequence[tuple[str, str]],
    yaxis: Mapping[str, Any],
    number_format: str,
    shown_as: str,
    *,
    file: str,
    height: int = 248,
) -> dict[str, Any]:
    """Return a chart with a line for each (name, color); `shown_as` is how the page writes the values at the cursor."""
    traces = [
        scatter(
            mode="lines",
            name=escaped(name),
            line={"color": color, "width": 2},
            marker={"color": color, "size": 6},
            cliponaxis=False,
            hovertemplate=f"step %{{customdata:,}}, {escaped(name)}: %{{y:{number_format}}}<extra></extra>",
        )
        for name, color in names
    ]
    figure = blank_figure(traces, height)
    figure.update_layout(margin={"l": LEFT, "r": RIGHT, "t": 10, "b": 42}, hovermode="closest")
    figure.update_yaxes(dict(yaxis), automargin=False, fixedrange=True, zeroline=False)
    keys = [list(name) for name in names]
    return {"title": title, "file": file, "keys": keys, "shown_as": shown_as, "figure": figure}


def _head_lines(
    names: Sequence[tuple[str, str]], yaxis: Mapping[str, Any], number_format: str, shown_as: str
) -> dict[str, Any]:
    """Return the selected head as a heavy line above thin ones: those of a layer are one trace with gaps."""
    chart = _lines("", names, yaxis, number_format, shown_as, file="heads")
    first, *others = chart["figure"].data
    first.update(zorder=1, hovertemplate=f"step %{{customdata:,}}: %{{y:{number_format}}}<extra></extra>")
    for trace in others:
        trace.update(line_width=1, opacity=0.55)
        trace.update(hovertemplate=f"%{{text}}, step %{{customdata:,}}: %{{y:{number_format}}}<extra></extra>")
    return chart | {"keys": chart["keys"][:1]}


def _word_map(projected: Sequence[str], tracked: Sequence[str]) -> dict[str, Any]:
    """Return the embedding map: a trail for each tracked word, and the words."""
    paints = {word: PAINTS[place % len(PAINTS)] for place, word in enumerate(tracked)}
    trails = [
        scatter(mode="lines", line={"color": paint, "width": 1.2}, opacity=0.6, hoverinfo="skip")
        for paint in paints.values()
    ]

    def style(tracked_size: float, size: float, color: str) -> dict[str, Any]:
        sizes = [tracked_size if word in paints else size for word in projected]
        return {"size": sizes, "color": [paints.get(word, color) for word in projected]}

    words = scatter(
        mode="markers+text",
        text=[escaped(word) for word in projected],
        textposition="middle right",
        textfont=style(13.5, 11.5, TEXT),
        marker=style(10, 6, QUIET),
        hovertemplate="%{text}<extra></extra>",
    )
    figure = blank_figure([*trails, words], 420, drag="pan")
    figure.update_xaxes(showticklabels=False, zeroline=False)
    figure.update_yaxes(showticklabels=False, zeroline=False)
    return {"title": "Embedding map (PCA)", "file": "embedding-map", "figure": figure}
