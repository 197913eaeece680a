"""What the table of runs asks: a row for each run that a visitor may see and each shipped model; and their changes."""

import contextlib
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from bertviz_lab.config import PretrainConfig, RunConfig
from bertviz_lab.config.finetune import TASKS
from bertviz_lab.config.options import in_page_words
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload, message_payload
from bertviz_lab.jobs.retention import deleted_at
from bertviz_lab.metrics.names import NAMES, named_score
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.training.runs.summary import RunNotes, RunSummary
from bertviz_lab.ui.server.error_handling import without_folders
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import saved_at
from bertviz_lab.ui.view import RunIds, Text, Word, questions

if TYPE_CHECKING:
    from bertviz_lab.training.checkpoints.hub_upload import Publication

_FOLLOWED = 20  # runs at a time
Tags = Annotated[list[Word], Field(max_length=50)]


def table(state: AppState, visitor: Visitor) -> list[dict[str, Any]]:
    """Return a row for each run, the newest first, then for each shipped model."""
    rows = []
    for run_id in state.models.visible_runs(visitor):
        with contextlib.suppress(InputError, OSError):  # it has just been deleted
            rows.append(_row_of_run(state, visitor, run_id))
    return rows + [_row_of_shipped(state, name) for name in state.models.shipped()]


def glance(state: AppState, visitor: Visitor, run_id: Word) -> dict[str, Any] | None:
    """Return the status of a run, for a line at the top of the page; None for an unknown run."""
    try:
        folder, run = state.runs.folder(run_id), state.runs.state(run_id)
    except InputError:
        return None
    saved = saved_at(folder)
    return {
        "name": state.runs.name(run_id),
        "status": run.status,
        "message": message_for(state, visitor, run_id, run.message),
        "step": run.step,
        "total_steps": run.total_steps,
        "seconds": run.seconds,
        "eta_seconds": run.eta_seconds if run.status in ACTIVE else None,
        "saved": str(saved) if saved else "",
        "path": model_path(state, run_id) if saved else "",
        "score": _outcome(state.summary(run_id))["score_words"],
        "ended": None if run.status in ACTIVE else max(0.0, time.time() - run.updated),  # seconds ago
    }


def glances(state: AppState, visitor: Visitor, runs: RunIds) -> dict[str, dict[str, Any] | None]:
    """Return `glance` of each of some runs."""
    return {run_id: glance(state, visitor, run_id) for run_id in runs}


def current(state: AppState, visitor: Visitor) -> list[str]:
    """Return the runs to follow when the page opens: the visitor's newest one and all that are active."""
    active = (run for run in state.models.visible_runs(visitor) if state.runs.state(run).status in ACTIVE)
    return list(dict.fromkeys(filter(None, (newest(state, visitor), *active))))[:_FOLLOWED]


def newest(state: AppState, visitor: Visitor, kind: type[RunConfig] | None = None) -> str:
    """Return a visitor's newest run, of a kind, or on one's own machine an active one; "" for none."""
    visible = [name for name in state.models.visible_runs(visitor) if kind is None or state.is_kind(name, kind)]
    mine = [run_id for run_id in visible if state.models.has_started(visitor, run_id)]
    return next(iter(mine or (run_id for run_id in visible if state.runs.state(run_id).status in ACTIVE)), "")


def message_for(state: AppState, visitor: Visitor, run_id: str, message: str) -> str:
    """Return a sentence about a run in the words of the page, for its owner only, since it may quote a file."""
    if not message or not state.models.owns(visitor, run_id):
        return ""
    words = in_page_words(type(state.runs.config(run_id)), message)
    return without_folders(words) if state.settings.shared else words


def model_path(state: AppState, run_id: str) -> str:
    """Return the folder of a run's model; "" on a shared page, which reveals nothing of this machine."""
    return "" if state.settings.shared else str(state.models.locate(run_id)[0].resolve())


def may_publish(state: AppState) -> bool:
    """Return whether this page sends models to the hub: a local one does, unless `--hub off`."""
    return not state.settings.shared and state.settings.limits.hub != "off"


def publication_payload(publication: "Publication") -> Payload:
    """Return where what was sent to the hub is, or the facts about the files that would be sent."""
    target = f"{publication.repo} ({'private' if publication.private else 'public'} if it is new)"
    if publication.url:
        return message_payload(f"Sent to {target}: {publication.url}")
    sizes = [(name, f"{size:,} bytes") for name, size in publication.bytes.items()]
    total = sum(publication.bytes.values()) / 1e6
    note = f"{len(sizes)} files, {total:,.1f} MB, would go to {target}. Nothing has been sent."
    return facts_payload(sizes, note=note)


def change(
    state: AppState,
    visitor: Visitor,
    action: Literal["stop", "resume", "annotate", "delete"],
    run_id: Word,
    name: Word = "",
    tags: Tags = [],  # noqa: B006 - never changed
    note: Text = "",
) -> str:
    """Change a run and return a message, "" for none. Raises `InputError` unless the visitor owns the run."""
    state.models.require_owner(visitor, run_id, "can change it")
    if action == "stop":
        waited = state.runs.state(run_id).status == "waiting"
        state.runs.stop(run_id)
        return "It is no longer queued." if waited else "It finishes its step, saves a checkpoint and stops."
    if action == "resume":
        state.quota.resume(visitor, run_id)
    elif action == "annotate":
        kept = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
        state.runs.annotate(run_id, RunNotes(name.strip(), kept, note.strip()))
    else:
        state.runs.delete(run_id)
    return ""


# ---- the rows of the table


def _row_of_run(state: AppState, visitor: Visitor, run_id: str) -> dict[str, Any]:
    run, notes = state.runs.state(run_id), state.runs.notes(run_id)
    return {
        "id": run_id,
        "name": state.runs.name(run_id),
        "given_name": notes.name,
        "tags": notes.tags,
        "note": notes.note,
        "status": run.status,
        "active": run.status in ACTIVE,
        "queue": run.message if run.status == "waiting" else "",
        "step": run.step,
        "total_steps": run.total_steps,
        "started": state.runs.started(run_id),
        "mine": state.models.owns(visitor, run_id),
        "pretraining": state.is_kind(run_id, PretrainConfig),
        "deleted_at": deleted_at(run, state.settings.limits),
        **_outcome(state.summary(run_id)),
    }


def _row_of_shipped(state: AppState, name: str) -> dict[str, Any]:
    fixed = {"given_name": "", "tags": [], "note": "", "status": "shipped", "active": False, "queue": "", "step": 0}
    summary = state.summary(name)
    unknown = {"total_steps": None, "started": None, "mine": False, "deleted_at": None}
    unknown |= {"pretraining": summary.objective not in ("", *TASKS)}
    score = card_score(state.settings.checkpoints / name, summary.measure) if summary.measure else None
    outcome = _outcome(summary if score is None else replace(summary, score=score))
    return {"id": name, "name": name, **fixed, **unknown, **outcome}


def _outcome(summary: RunSummary) -> dict[str, Any]:
    words = named_score(summary.measure, summary.score) if summary.score is not None else ""
    outcome = {"parameters": summary.parameters, "score": summary.score, "score_words": words}
    return {"task": task_name(summary.objective), **outcome}


_TASK_NAMES = {
    "classification": "Classification",
    "multilabel": "Multi-label classification",
    "regression": "Regression",
    "tokens": "Token classification",
    "qa": "Question answering",
    "embeddings": "Sentence embeddings",
}


def task_name(objective: str) -> str:
    """Return a name such as "MLM + NSP" or "Token classification"; "" for an objective that is not known yet."""
    return _TASK_NAMES.get(objective) or objective.upper().replace("+", " + ")


def card_score(folder: Path, measure: str) -> float | None:
    """Return a score on a model's card, MLM accuracy on the first text, of a task that on the test set; or None."""
    try:
        card = (folder / "README.md").read_text(encoding="utf-8")
    except OSError:
        return None
    rows = [[cell.strip() for cell in line.split("|")] for line in card.splitlines() if line.startswith("|")]
    header = next((row for row in rows if NAMES[measure] in row[2:]), None)
    if header is not None:
        first = rows[rows.index(header) + 2]  # behind the line of dashes
        return _number(first[header.index(NAMES[measure])])
    scores = [row[2] for row in rows if row[1] == NAMES[measure]]
    return _number(scores[-1]) if scores else None


def _number(cell: str) -> float:
    """Return the first number of a cell such as "43.6% (43.7%, 43.5%)", a percentage as a share."""
    first = cell.split()[0]
    return float(first.removesuffix("%")) / 100 if first.endswith("%") else float(first)


QUESTIONS = questions(table, glances, current, change)
