"""Learning curves: the figure of each panel without points, and the logs that fill them.

The page, a notebook and a saved page are given the figures and the events of a log. Each trace says in `meta` which of
the log's values it draws: `ui/components/charts/curve_figure.js` fills it, and fills it again with every new row.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.plots import EDGE, PAGE, blank_figure, escaped
from bertviz_lab.figures.training.panels import COMPARED, DECLARED, OPTIMIZATION, PANELS, TASK_SCORES, Panel

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Events that the curves use; the others are left out to keep the payload small.
_KINDS = ("Preparing", "RunStarted", "TrialStarted", "StepDone", "EvalDone", "ProbesDone", "TrialDone", "RunFinished")

_LOGARITHMIC = ("nats", "norm")  # units with a choice of the scale
#: Name, color and marker symbol of a run that is compared with others.
ComparedRun = tuple[str, str, str]
#: What every figure of curves is filled with besides a log.
FURNITURE = {name: DECLARED[name] for name in ("axes", "marks")}


def panel_figure(panel: Panel, runs: Sequence[ComparedRun] = ()) -> "go.Figure":
    """Return a panel without points: for each measure its training values, the same smoothed, and held-out values.

    Where `runs` are compared, each has its own traces and a place in the legend.
    """
    traces = []
    for run, (run_name, run_color, symbol) in enumerate(runs or [("", "", "circle-open")]):
        for series in panel.series:
            color = run_color or series.color
            faint = bool(runs) and panel.held_out  # what is compared are the held-out points
            looks: dict[str, dict[str, Any]] = {}
            if series.smooth:
                looks["training"] = {"mode": "lines", "opacity": 0.25, "line_width": 1, "hoverinfo": "skip"}
            looks["smoothed"] = {"mode": "lines", "opacity": 0.6 if faint else 1.0, "line_width": 1 if faint else 2}
            if panel.held_out:
                looks["held-out"] = {
                    "mode": "lines+markers" if runs or panel.joined else "markers",
                    "line_width": 2 if runs else 1,
                    "marker": {"color": color, "size": 7, "symbol": symbol, "line": {"color": color, "width": 2}},
                }
            for role, look in looks.items():
                trace = {
                    "type": "scatter",
                    "name": escaped(run_name or series.name) + ", held-out" * (role == "held-out" and not runs),
                    "line_color": color,
                    "hovertemplate": None if look.get("hoverinfo") else "%{y}",
                    "legendgroup": str(run),
                    "showlegend": bool(runs) and role == list(looks)[-1],
                    "meta": {"role": role, "field": series.field, "run": run, "smooth": series.smooth},
                }
                traces.append(trace | look)
    figure = blank_figure(traces, 300 if runs else 230, legend=bool(runs), drag="zoom")
    hover = {"namelength": -1, "bgcolor": PAGE, "bordercolor": EDGE}
    figure.update_layout(hovermode="x unified", hoverlabel=hover)
    figure.update_xaxes(showgrid=False, zeroline=False, rangemode="tozero", title_standoff=6)
    figure.update_yaxes({"zeroline": False, "nticks": 5} | DECLARED["units"][panel.unit])
    return figure


def compared_panels(runs: Sequence[ComparedRun]) -> list[dict[str, Any]]:
    """Return a panel for each measure of pretraining, in which runs are compared."""
    return [
        _body(replace(panel, id=series.field, title=series.label, series=(series,)), runs)
        for panel in COMPARED
        for series in panel.series
        if not series.field.startswith("causal")
    ]


def _body(panel: Panel, runs: Sequence[ComparedRun] = ()) -> dict[str, Any]:
    measures = {"", *(series.field for series in panel.series)}
    return {name: getattr(panel, name) for name in ("id", "title", "about", "unit", "better", "held_out", "folded")} | {
        "logarithmic": panel.unit in _LOGARITHMIC,
        "series": [{"field": s.field, "name": s.name, "label": s.label, "colour": s.color} for s in panel.series],
        "baselines": [asdict(line) for line in panel.baselines if line.field in measures],
        "figure": panel_figure(panel, runs).to_dict(),
    }


@cache
def _panels_of(objective: str) -> dict[str, Any]:
    """Return axes, marks and the panels of an objective, or all panels if it is not known yet."""
    variants = {"tokens": ("tokens", "words"), "classification": ("classification", "unbalanced")}
    names = variants.get(objective, (objective.removesuffix("+nsp"),))
    known = {name: PANELS[name] for name in names if name in PANELS} or PANELS
    return {
        "panels": {name: [_body(panel) for panel in (*panels, *OPTIMIZATION)] for name, panels in known.items()},
        "guesses": {name: task.baseline for name, task in TASK_SCORES.items()},
        **FURNITURE,
    }


def live_payload(
    run_id: str, title: str = "", *, objective: str = "", references: Mapping[str, Any] | None = None
) -> Payload:
    """Follow a run: the page polls for its rows from line 0 on, so that a reloaded page shows them all.

    Polling stops when the run ends. With `objective`, where it is known, the payload is smaller. `references` are the
    curves that are drawn behind those of the run (`training.runs.reference_curves`).
    """
    return to_json({"run_id": run_id, "title": title, "references": references, **_panels_of(objective)})


def replay_payload(
    rows: Iterable[Mapping[str, Any]],
    title: str = "",
    *,
    result: str = "",
    max_steps: int = 2000,
    references: Mapping[str, Any] | None = None,
) -> Payload:
    """Show the log of a run that has ended.

    `rows` are events as in `events.jsonl` (key `event` names the type). More than `max_steps` training steps are
    thinned evenly; the first, the last and every evaluation are always kept. Metrics that a step lacks, as during
    causal-LM warm-up, are filled in from the steps left out before it. `result` is a sentence on how good the model
    is, where that was measured on more text than an evaluation of the run takes. `references` as in `live_payload`.
    """
    kept = thinned(rows, _KINDS, max_steps)
    objective = next((str(row["objective"]) for row in kept if row.get("objective")), "")
    body = {"rows": kept, "title": title, "result": result, "references": references}
    return to_json(body | _panels_of(objective))


def thinned(rows: Iterable[Mapping[str, Any]], kinds: Container[str], max_steps: int) -> list[dict[str, Any]]:
    """Return the events of these kinds, with training steps thinned as in `replay_payload`."""
    selected = [dict(row) for row in rows if row.get("event") in kinds]
    steps = [index for index, row in enumerate(selected) if row["event"] == "StepDone"]
    if len(steps) <= max_steps:
        return selected
    shown = {steps[round(index * (len(steps) - 1) / (max_steps - 1))] for index in range(max_steps)}
    kept: list[dict[str, Any]] = []
    skipped: dict[str, Any] = {}  # a step is completed with fields of the steps dropped before it
    for index, row in enumerate(selected):
        if row["event"] == "StepDone" and index not in shown:
            skipped |= row
            continue
        kept.append(skipped | row if row["event"] == "StepDone" else row)
        if row["event"] in ("StepDone", "TrialStarted"):
            skipped = {}
    return kept
