"""A run in one line: what it is trained on, how large its model is, and its main score, from the events of its log."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bertviz_lab.errors import InputError
from bertviz_lab.metrics.names import METRICS
from bertviz_lab.training.checkpoints.atomic_io import write_json

_RANDOM = "random weights"  # the trial that a run is compared with


@dataclass(frozen=True)
class RunSummary:
    """What a log says so far; "" or None for what it does not say yet."""

    objective: str = ""  # such as "mlm+nsp" or "classification"
    parameters: int | None = None
    selected_by: str = ""  # the score by which a fine-tuning selects its model
    measure: str = ""  # the name of the score
    score: float | None = None  # of the newest evaluation; of a fine-tuning with trials that have ended, the best one's
    trial_done: bool = False

    def after(self, rows: Iterable[Mapping[str, Any]]) -> "RunSummary":
        """Return the summary with further events of the log."""
        summary = self
        for row in rows:
            kind = row.get("event")
            if kind == "RunStarted":
                objective, parameters = str(row.get("objective", "")), row.get("parameters")
                metric = str(row.get("metric", ""))
                summary = replace(summary, objective=objective, parameters=parameters, selected_by=metric)
            elif kind == "EvalDone" and not summary.trial_done and row.get("step"):
                summary = summary._scored(row)
            elif kind == "TrialDone" and row.get("name") != _RANDOM:
                scored = summary._scored(row)
                if not summary.trial_done or (scored.score or 0.0) > (summary.score or 0.0):
                    summary = replace(scored, trial_done=True)
        return summary

    def _scored(self, row: Mapping[str, Any]) -> "RunSummary":
        pretraining = ("rtd_f1",) if self.objective == "rtd" else ("mlm_accuracy",)
        chosen = () if self.selected_by == "loss" else (self.selected_by,)
        for measure in (*chosen, *METRICS.get(self.objective, pretraining)):
            if isinstance(row.get(measure), (int, float)):
                return replace(self, measure=measure, score=float(row[measure]))
        return self


_FILE = "notes.json"
_LONGEST_NAME, _LONGEST_TAG, _LONGEST_NOTE, _MOST_TAGS = 60, 30, 2000, 10


@dataclass(frozen=True)
class RunNotes:
    """The name, "" for the one that the run was given at its start, the tags and the note of a run.

    Raises `InputError` for a name, tag or note that is too long, and for too many tags.
    """

    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if len(self.name) > _LONGEST_NAME or not self.name.isprintable():
            raise InputError(f"A run's name is one line of at most {_LONGEST_NAME} characters.")
        if len(self.tags) > _MOST_TAGS:
            raise InputError(f"A run has at most {_MOST_TAGS} tags.")
        if any(len(tag) > _LONGEST_TAG or not tag.isprintable() for tag in self.tags):
            raise InputError(f"A tag has at most {_LONGEST_TAG} characters.")
        if len(self.note) > _LONGEST_NOTE:
            raise InputError(f"A note has at most {_LONGEST_NOTE:,} characters.")


def read_notes(folder: Path) -> RunNotes:
    """Return the notes of a run; empty ones where there are none or they cannot be read."""
    try:
        body = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return RunNotes(str(body["name"]), tuple(map(str, body["tags"])), str(body["note"]))
    except (OSError, ValueError, KeyError, TypeError, InputError):
        return RunNotes()


def write_notes(folder: Path, notes: RunNotes) -> None:
    """Replace the notes of a run."""
    write_json(folder / _FILE, asdict(notes))
