"""What a model could do at each of its snapshots, asked afterwards: for a log that does not tell."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bertviz_lab.data.probes import Probes
from bertviz_lab.training.checkpoints.snapshot_reader import SnapshotReader
from bertviz_lab.training.pretraining.probing import Questions, shares_right
from bertviz_lab.training.runs.events import ProbesDone, to_json

Row = Mapping[str, Any]


def backfill_probes(rows: Sequence[Row], past: SnapshotReader, probes: Probes) -> list[Row]:
    """The rows of a log with a `ProbesDone` for every snapshot that has none, at its place.

    Snapshots have 16 bits: a share can differ by a pair from what the run itself would have found.
    """
    found = list(rows)
    for event in probe_snapshots(rows, past, probes):
        row = json.loads(to_json(event))
        found.insert(_place(found, event.step), row)
    return found


def probe_snapshots(rows: Sequence[Row], past: SnapshotReader, probes: Probes) -> Iterator[ProbesDone]:
    """The answers of every snapshot that a log has none of, the earliest first."""
    told = {row["step"] for row in rows if row.get("event") == "ProbesDone"}
    questions = Questions(probes, past.tokenizer, past.config.max_position_embeddings)
    for step in past.steps():
        if step not in told:
            right = shares_right(questions.ask(past.open(step).model))
            before = [row for row in rows if row.get("event") in ("StepDone", "EvalDone") and row["step"] <= step]
            seconds, tokens = (before[-1][name] if before else 0 for name in ("seconds", "tokens"))
            yield ProbesDone(step, float(seconds), int(tokens), probes.name, right)


def _place(rows: Sequence[Row], step: int) -> int:
    """Where a log tells of a step: after its snapshot, else before the next step, else before the end."""
    for index, row in enumerate(rows):
        if row.get("event") == "SnapshotSaved" and row["step"] == step:
            return index + 1
    for index, row in enumerate(rows):
        if row.get("event") in ("StepDone", "RunFinished") and (row["step"] > step or row["event"] == "RunFinished"):
            return index
    return len(rows)
