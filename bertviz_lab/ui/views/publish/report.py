"""A whole run as one static page: its curves, results, probes, training dynamics, predictions, settings and log.

The drawings are those of the page, of the answers to the page's own questions. What has no drawing is a table.
"""

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_lab.config import FinetuneConfig, PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, figure
from bertviz_lab.figures.training.curves import replay_payload
from bertviz_lab.metrics.names import NAMES, format_score
from bertviz_lab.training.runs.events import final_scores
from bertviz_lab.training.runs.reference_curves import references_for
from bertviz_lab.ui.components.standalone import page_parts
from bertviz_lab.ui.languages import ENGLISH
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.error_handling import without_folders
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.snapshots import TrackedText
from bertviz_lab.ui.templates import render
from bertviz_lab.ui.views.dynamics import view as dynamics
from bertviz_lab.ui.views.run import results
from bertviz_lab.ui.views.run import view as run_view
from bertviz_lab.ui.views.runs.view import task_name

_SNAPSHOTS, _TEXTS, _CANDIDATES = 8, 3, 5  # shown of a run, of its examples, and for a masked token
#: Parts of a run's folder that no report reads; without its state no queue takes the copy for a run of its own.
_LEFT_BEHIND = ("checkpoints", "corpus", "state.json")


@dataclass(frozen=True)
class Section:
    """A part of a report: drawings (kind, payload), or rows of a table, the first column of which names them."""

    title: str
    drawings: Sequence[tuple[str, Payload]] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def report_of_folder(folder: Path) -> str:
    """Return the page of a run in a folder. Raises `InputError` where there is none, or no log of it yet."""
    if not (folder / "config.json").is_file():
        raise InputError(f"There is no run in {folder}.")
    name = folder.resolve().name
    with tempfile.TemporaryDirectory() as scratch:
        run_id = re.sub(r"[^A-Za-z0-9.-]+", "-", name)[:80].strip("-.") or "run"
        # Files are read where they are; Windows lets few people make links.
        copy = os.symlink if os.name == "posix" else shutil.copy2
        ignored = shutil.ignore_patterns(*_LEFT_BEHIND)
        shutil.copytree(folder.resolve(), Path(scratch) / run_id, ignore=ignored, copy_function=copy)
        return run_report(AppState(Settings(runs_dir=Path(scratch))), NOBODY, run_id)


def run_report(
    state: AppState, visitor: Visitor, run_id: str, on_progress: Callable[[float], None] = lambda share: None
) -> str:
    """Return a run, or a shipped model, as an HTML page that loads nothing; in a page that is shared, the owner's only.

    `on_progress` is called with the share of snapshots that have been read. Raises `InputError`.
    """
    is_run = run_id not in state.models.shipped()
    if is_run:
        state.models.require_owner(visitor, run_id, "saves it as a page")
    rows = state.log_of(run_id)
    if not any(row["event"] == "RunStarted" for row in rows):
        raise InputError("This run has not started yet: there is nothing to show of it.")
    name = state.runs.name(run_id) if is_run else run_id
    config = state.runs.config(run_id) if is_run else None
    folder = state.runs.folder(run_id) if is_run else state.settings.checkpoints / run_id
    references = references_for(config) if isinstance(config, PretrainConfig) else None
    told = [row | {"path": "", "message": without_folders(row.get("message", ""))} for row in rows]
    sections = [
        Section("Summary", rows=[*_summary(rows), *_scores(folder, rows)]),
        Section("Learning curves", [("loss", replay_payload(told, references=references))]),
        *(_results(state, visitor, run_id) if isinstance(config, FinetuneConfig) else ()),
        *_probes(state, run_id),
        *_dynamics(state, visitor, run_id, on_progress),
        *_predictions(state, visitor, run_id),
    ]
    if is_run:
        sections.append(Section("Settings", [("facts", Payload(run_view.settings(state, visitor, run_id)))]))
    kinds = tuple(dict.fromkeys(kind for section in sections for kind, _ in section.drawings))
    return render("views/publish/report.html", ENGLISH, name=name, sections=sections, **page_parts(kinds))


def _summary(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return what was trained, for how long, on what, and what the log holds; old logs lack some of it."""
    of_kind = {row["event"]: row for row in rows}  # the last of each
    started, done, ended = (
        defaultdict(int, of_kind.get(kind, {})) for kind in ("RunStarted", "StepDone", "RunFinished")
    )
    counts = Counter(row["event"] for row in rows)
    kinds = {"EvalDone": "evaluations", "ProbesDone": "rounds of probes", "SnapshotSaved": "snapshots"}
    log = [f"{counts[kind]:,} {name}" for kind, name in kinds.items() if counts[kind]]
    facts = {
        "Task": task_name(str(started["objective"])),
        "State": ended["reason"] or "training",
        "Parameters": f"{started['parameters']:,}",
        "Vocabulary": f"{started['vocab_size']:,} tokens",
        "Steps": f"{done['step']:,}",
        "Tokens seen": f"{done['tokens']:,}",
        "Training time": f"{ended['seconds'] or done['seconds']:,.0f} s",
        "Computed on": f"{started['device']}, {started['precision']}, threads: {started['threads']}",
        "Log": ", ".join(log),
        "Resumed": f"{counts['RunStarted'] - 1:,} times" if counts["RunStarted"] > 1 else "",
    }
    return [(name, value) for name, value in facts.items() if value and not value.startswith("0")]


def _scores(folder: Path, rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the scores on the held-out set: the last ones, of a fine-tuning those of its best model."""
    scores = final_scores(folder, rows)
    known = [(name, value) for name, value in scores.items() if name in NAMES and isinstance(value, (int, float))]
    return [(f"{NAMES[name]}, {scores.get('split', 'held out')}", format_score(name, value)) for name, value in known]


def _results(state: AppState, visitor: Visitor, run_id: str) -> list[Section]:
    """Return the results of a fine-tuning: its scores, trials, confusion matrix, and examples, errors first."""
    if not results.report_version(state.runs.folder(run_id)):  # before the end of its first trial
        return []
    drawings = [
        ("facts", results.summary(state, run_id)),
        ("chart", results.trials(state, run_id)),
        ("chart", results.confusion(state, run_id)),
        ("examples", results.examples(state, visitor, run_id)),
    ]
    return [Section("Results on held-out examples", [(kind, Payload(body)) for kind, body in drawings if body])]


def _probes(state: AppState, run_id: str) -> list[Section]:
    """Return the minimal-pair probes over training, where the run has some."""
    payload = run_view.probes(state, run_id)
    return [Section("Probes", [("chart", payload)])] if payload else []


def _dynamics(state: AppState, visitor: Visitor, run_id: str, on_progress: Callable[[float], None]) -> list[Section]:
    """Return what some snapshots predict for a few texts, a row each."""
    if not state.snapshots.has_snapshots(run_id):
        return []
    steps = state.snapshots.reader(run_id).steps()
    last = len(steps) - 1
    chosen = [steps[at] for at in sorted({round(turn * last / (_SNAPSHOTS - 1)) for turn in range(_SNAPSHOTS)})]
    texts = dynamics.examples(state, visitor, run_id)[: _TEXTS + 1]
    rows = []
    for place, step in enumerate(chosen):
        on_progress(place / len(chosen))
        frames = [json.loads(state.snapshots.frame(TrackedText(run_id, a, b), step)) for a, b, _ in texts]
        rows.append([f"{step:,}", *(frame["spoken"] for frame in frames)])
    header = ["Step", *(f"{a} | {b}" if b else a for a, b, _ in texts)]
    return [Section("Training dynamics: predictions at some steps", header=header, rows=rows)]


def _predictions(state: AppState, visitor: Visitor, run_id: str) -> list[Section]:
    """Return what the model fills into masked texts; nothing of a model without that head, or before the first."""
    drawings = []
    with contextlib.suppress(InputError):
        checkpoint = state.models.open(run_id)
        for text in state.examples(run_id, visitor).masked[:_TEXTS]:
            filled = interpret.fill_mask(checkpoint, text, _CANDIDATES)
            drawings.append(("fill", figure("fill_mask", vocab_size=checkpoint.config.vocab_size, **vars(filled))))
    return [Section("Sample predictions", drawings)] if drawings else []
