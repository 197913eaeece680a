"""Run the probes on the snapshots of a run afterwards, for a log without probe results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bertviz_lab.data.probes import Probes
from bertviz_lab.training.pretraining.probe_scorer import ProbeScorer, probe_accuracy
from bertviz_lab.training.runs.events import ProbesDone, to_json
from bertviz_lab.training.runs.snapshot_reader import SnapshotReader

Row = Mapping[str, Any]


def backfill_probes(rows: Sequence[Row], snapshots: SnapshotReader, probes: Probes) -> list[Row]:
    """The rows of a log with a `ProbesDone` inserted for every snapshot that has none.

    Snapshots are fp16, so an accuracy can differ by one pair from the one that the run would have measured.
    """
    completed = list(rows)
    for event in probe_snapshots(rows, snapshots, probes):
        row = json.loads(to_json(event))
        completed.insert(_insertion_index(completed, event.step), row)
    return completed


def probe_snapshots(rows: Sequence[Row], snapshots: SnapshotReader, probes: Probes) -> Iterator[ProbesDone]:
    """The probe results of every snapshot without any in the log, the earliest first."""
    probed = {row["step"] for row in rows if row.get("event") == "ProbesDone"}
    probe_scorer = ProbeScorer(probes, snapshots.tokenizer, snapshots.config.max_position_embeddings)
    for step in snapshots.steps():
        if step not in probed:
            right = probe_accuracy(probe_scorer.score(snapshots.open(step).model))
            before = [row for row in rows if row.get("event") in ("StepDone", "EvalDone") and row["step"] <= step]
            seconds, tokens = (before[-1][name] if before else 0 for name in ("seconds", "tokens"))
            yield ProbesDone(step, float(seconds), int(tokens), probes.name, right)


def _insertion_index(rows: Sequence[Row], step: int) -> int:
    """Where an event of this step belongs: after its snapshot, else before the next step, else before the end."""
    for index, row in enumerate(rows):
        if row.get("event") == "SnapshotSaved" and row["step"] == step:
            return index + 1
    for index, row in enumerate(rows):
        if row.get("event") in ("StepDone", "RunFinished") and (row["step"] > step or row["event"] == "RunFinished"):
            return index
    return len(rows)
