"""What the table of runs asks: a row for each run that a visitor may see and each shipped model; and their changes."""

import contextlib
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from bertviz_lab.errors import InputError
from bertviz_lab.jobs.retention import deleted_at
from bertviz_lab.metrics.names import named_score
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.training.runs.summary import RunNotes, RunSummary
from bertviz_lab.ui.server.access import require_owner
from bertviz_lab.ui.server.publishing import publish
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.model_facts import card_score
from bertviz_lab.ui.view import Text, View, Word, question, questions

Tags = Annotated[list[Word], Field(max_length=50)]


def table(state: AppState, visitor: Visitor) -> list[dict[str, Any]]:
    """Return a row for each run, the newest first, then for each shipped model."""
    rows = []
    for run_id in state.models.visible_runs(visitor):
        with contextlib.suppress(InputError, OSError):  # it has just been deleted
            rows.append(_row_of_run(state, visitor, run_id))
    return rows + [_row_of_shipped(state, name) for name in state.models.shipped()]


def glance(state: AppState, visitor: Visitor, run_id: Word) -> dict[str, Any] | None:
    """Return the state of a run for the line that follows it; None for an unknown run."""
    return state.glance(run_id, visitor)


def current(state: AppState, visitor: Visitor) -> str:
    """Return the run that the page follows as it opens, "" for none."""
    return state.current_run(visitor)


def change(
    state: AppState,
    visitor: Visitor,
    action: Literal["stop", "resume", "annotate", "push", "delete"],
    run_id: Word,
    name: Word = "",
    tags: Tags = [],  # noqa: B006 - never changed
    note: Text = "",
    repo: Word = "",
    public: bool = False,
) -> str:
    """Change a run and return a message, "" for none. Raises `InputError` unless the visitor owns the run."""
    require_owner(state, visitor, run_id, "can change it")
    if action == "stop":
        waited = state.runs.state(run_id).status == "waiting"
        state.runs.stop(run_id)
        return "It is no longer queued." if waited else "It finishes its step, saves a checkpoint and stops."
    if action == "push":
        return publish(state, visitor, run_id, repo, public)
    if action == "resume":
        state.quota.resume(visitor, run_id)
    elif action == "annotate":
        kept = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
        state.runs.annotate(run_id, RunNotes(name.strip(), kept, note.strip()))
    else:
        state.runs.delete(run_id)
    return ""


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
        "deleted_at": deleted_at(run, state.settings.limits),
        **_outcome(state.summary(run_id)),
    }


def _row_of_shipped(state: AppState, name: str) -> dict[str, Any]:
    fixed = {"given_name": "", "tags": [], "note": "", "status": "shipped", "active": False, "queue": "", "step": 0}
    unknown = {"total_steps": None, "started": None, "mine": False, "deleted_at": None}
    summary = state.summary(name)
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


RUNS = View(
    "runs",
    "Runs",
    "Your training runs and the shipped models; choose one to see its curves and results.",
    "runs",
    questions(table, glance, current, change) | {"push": question(change, slow=True)},
)
