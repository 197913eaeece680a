"""Learning curves: what each panel draws, and the logs that it is drawn of.

The page, a notebook and a saved page are given the panels and the events of a log, of which
`ui/components/charts/curve_figure.js` makes figures, again with every new row.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.training.panels import COMPARED, DECLARED, OPTIMIZATION, PANELS, TASK_SCORES, Panel

#: Events that the curves use; the others are left out to keep the payload small.
_KINDS = ("Preparing", "RunStarted", "TrialStarted", "StepDone", "EvalDone", "ProbesDone", "TrialDone", "RunFinished")

_LOGARITHMIC = ("nats", "norm")  # units with a choice of the scale
#: What every figure of curves is filled with besides a log.
FURNITURE = {name: DECLARED[name] for name in ("axes", "marks")}


def compared_panels() -> list[dict[str, Any]]:
    """Return a panel for each measure of pretraining, in which runs are compared."""
    return [
        _body(replace(panel, id=series.field, title=series.label, series=(series,)))
        for panel in COMPARED
        for series in panel.series
        if not series.field.startswith("causal")
    ]


def _body(panel: Panel) -> dict[str, Any]:
    names = ("id", "title", "about", "unit", "better", "held_out", "joined", "folded")
    measures = {"", *(series.field for series in panel.series)}
    return {name: getattr(panel, name) for name in names} | {
        "logarithmic": panel.unit in _LOGARITHMIC,
        "yaxis": DECLARED["units"][panel.unit],
        "series": [asdict(series) for series in panel.series],
        "baselines": [asdict(line) for line in panel.baselines if line.field in measures],
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
