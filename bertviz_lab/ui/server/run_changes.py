"""Changes of a run: stop, resume, rename, tag, note, push to the hub, delete."""

from typing import Annotated, Literal

from pydantic import Field

from bertviz_lab.training.runs.summary import RunNotes
from bertviz_lab.ui.server.access import require_owner
from bertviz_lab.ui.server.publishing import publish
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Text, Word, question

Tags = Annotated[list[Word], Field(max_length=50)]


def change_run(
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


#: `CHANGE_RUN.ask(state, arguments, visitor)` checks what a browser sent.
CHANGE_RUN = question(change_run)
