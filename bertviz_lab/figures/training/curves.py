"""What the loss chart is given: the name of a run to follow, or the rows of one that has ended."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from bertviz_lab.data.probes import PROBES
from bertviz_lab.figures.payload import Payload, to_json

#: The chart needs nothing else of an event; leaving the rest out keeps a shipped model's curve small.
_KINDS = ("Preparing", "RunStarted", "TrialStarted", "StepDone", "EvalDone", "ProbesDone", "TrialDone", "RunFinished")


def live_payload(run_id: str, title: str = "", *, mark: str = "") -> Payload:
    """Follow a run: the chart polls for its rows from line 0 on, so that a page that was reloaded sees them all.

    The chart stops asking when the run has ended. A run that goes on after that is followed again when the
    payload differs from the last one: give `mark` any new text, such as the time at which it was resumed.
    """
    return to_json({"run_id": run_id, "title": title, "mark": mark, "probes": _probes()})


def replay_payload(rows: Iterable[Mapping[str, Any]], title: str = "", *, most_steps: int = 2000) -> Payload:
    """Show the log of a run that has ended.

    `rows` are events as `events.jsonl` holds them (key `event` names the type). Of more than `most_steps`
    training steps an even selection goes out; the first, the last and every evaluation are always kept. A step
    that has no value of some kind, as while a run reads forwards, takes over that of the steps left out before it.
    """
    return to_json({"rows": thinned(rows, _KINDS, most_steps), "title": title, "probes": _probes()})


def thinned(rows: Iterable[Mapping[str, Any]], kinds: Container[str], most_steps: int) -> list[dict[str, Any]]:
    """The events of these kinds; the training steps among them as `replay_payload` selects them."""
    kept = [dict(row) for row in rows if row.get("event") in kinds]
    steps = [index for index, row in enumerate(kept) if row["event"] == "StepDone"]
    if len(steps) <= most_steps:
        return kept
    spaced = {steps[round(index * (len(steps) - 1) / (most_steps - 1))] for index in range(most_steps)}
    return list(_selection(kept, spaced))


def _probes() -> dict[str, Any]:
    """What a model may be able to do, in words: events know it by a short name only."""
    return {name: {"title": probes.title, "kinds": dict(probes.kinds)} for name, probes in PROBES.items()}


def _selection(rows: list[dict[str, Any]], steps: set[int]) -> Iterator[dict[str, Any]]:
    left_out: dict[str, Any] = {}
    for index, row in enumerate(rows):
        if row["event"] != "StepDone":
            if row["event"] == "TrialStarted":
                left_out = {}
            yield row
        elif index in steps:
            yield left_out | row
            left_out = {}
        else:
            left_out |= row
