"""Payloads of the loss chart: the name of a run to follow, or the log of one that has ended."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from bertviz_lab.data.probes import PROBES
from bertviz_lab.figures.payload import Payload, to_json

#: Events that the chart uses; the others are left out to keep the payload small.
_KINDS = ("Preparing", "RunStarted", "TrialStarted", "StepDone", "EvalDone", "ProbesDone", "TrialDone", "RunFinished")


def live_payload(run_id: str, title: str = "", *, mark: str = "") -> Payload:
    """Follow a run: the chart polls for its rows from line 0 on, so that a reloaded page shows them all.

    The chart stops polling when the run ends. To follow it again after it is resumed, the payload must differ: give
    `mark` any new text, such as the time of resumption.
    """
    return to_json({"run_id": run_id, "title": title, "mark": mark, "probes": _probes()})


def replay_payload(rows: Iterable[Mapping[str, Any]], title: str = "", *, max_steps: int = 2000) -> Payload:
    """Show the log of a run that has ended.

    `rows` are events as in `events.jsonl` (key `event` names the type). More than `max_steps` training steps are
    thinned evenly; the first, the last and every evaluation are always kept. Metrics that a step lacks, as during
    causal-LM warm-up, are filled in from the steps left out before it.
    """
    return to_json({"rows": thinned(rows, _KINDS, max_steps), "title": title, "probes": _probes()})


def thinned(rows: Iterable[Mapping[str, Any]], kinds: Container[str], max_steps: int) -> list[dict[str, Any]]:
    """The events of these kinds; the training steps among them as `replay_payload` selects them."""
    selected = [dict(row) for row in rows if row.get("event") in kinds]
    steps = [index for index, row in enumerate(selected) if row["event"] == "StepDone"]
    if len(steps) <= max_steps:
        return selected
    shown = {steps[round(index * (len(steps) - 1) / (max_steps - 1))] for index in range(max_steps)}
    return list(_merge_left_out(selected, shown))


def _probes() -> dict[str, Any]:
    """Titles of the probes and their kinds; events have only the short names."""
    return {name: {"title": probes.title, "kinds": dict(probes.kinds)} for name, probes in PROBES.items()}


def _merge_left_out(rows: list[dict[str, Any]], steps: set[int]) -> Iterator[dict[str, Any]]:
    skipped: dict[str, Any] = {}
    for index, row in enumerate(rows):
        if row["event"] != "StepDone":
            if row["event"] == "TrialStarted":
                skipped = {}
            yield row
        elif index in steps:
            yield skipped | row
            skipped = {}
        else:
            skipped |= row
