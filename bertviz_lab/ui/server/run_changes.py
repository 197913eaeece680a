"""What a visitor does to a run besides starting it: stop, resume, rename, tag, note, delete.

It changes what others see, so it goes by an event of Gradio's, whose queue and session tell whose run it is.
"""

from typing import Annotated, Literal

from pydantic import Field

from bertviz_lab.errors import InputError
from bertviz_lab.training.runs.notes import RunNotes
from bertviz_lab.ui.server.access import may_change
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import RunIds, Text, Word, question

Tags = Annotated[list[Word], Field(max_length=50)]


def change_run(
    state: AppState,
    own: RunIds,
    action: Literal["stop", "resume", "annotate", "delete"],
    run_id: Word,
    name: Word = "",
    tags: Tags = [],  # noqa: B006 - never changed
    note: Text = "",
) -> str:
    """Do it; returns what a person is told of it. Raises `InputError` for a run of somebody else, or one gone."""
    state.runs.folder(run_id)
    if not may_change(state, own, run_id):
        raise InputError("This run was started by somebody else, who alone can change it.")
    if action == "stop":
        waited = state.runs.state(run_id).status == "waiting"
        state.runs.stop(run_id)
        return "It is no longer queued." if waited else "It finishes its step, saves a checkpoint and stops."
    if action == "resume":
        state.runs.resume(run_id)
    elif action == "annotate":
        kept = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
        state.runs.annotate(run_id, RunNotes(name.strip(), kept, note.strip()))
    else:
        state.runs.delete(run_id)
    return ""


#: `CHANGE_RUN.ask(state, arguments)` checks what a browser sent.
CHANGE_RUN = question(change_run)
