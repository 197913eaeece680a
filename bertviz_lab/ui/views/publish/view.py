"""What *Publish* asks, in Explore and in Runs: a model as a web page, to download or to send to the hub, and a run.

A local page alone publishes models: an export takes a core for a minute, and the hub would get the owner's token.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.published_pages import PageForm
from bertviz_lab.ui.view import ModelName, Word, questions
from bertviz_lab.ui.views.runs.view import may_publish, publication_payload

Snapshots = Annotated[int, Field(ge=0, le=50)]


def about(state: AppState, model: ModelName) -> dict[str, bool]:
    """Return whether the model's run has snapshots, and whether the page sends anything to the hub."""
    return {"snapshots": state.snapshots.has_snapshots(model), "hub": may_publish(state)}


def page(state: AppState, model: ModelName, form: Literal["html", "zip"], snapshots: Snapshots) -> dict[str, str]:
    """Publish a model, and return the address to download it from, and the name of the file. Raises `InputError`."""
    file = _written(state, model, form, snapshots)
    return {"address": f"lab-page/{file.name}", "name": f"{state.models.locate(model)[1]}{file.suffix}"}


def push(
    state: AppState,
    model: ModelName,
    snapshots: Snapshots,
    repo: Word,
    kind: Literal["space", "model"],
    public: bool,
    dry_run: bool,
) -> Payload:
    """Send the page of a model to the hub, or in a dry run write it and list its files. Raises `InputError`."""
    from bertviz_lab.training.checkpoints.hub_upload import check_name, push_page

    if not may_publish(state):
        raise InputError("This page sends nothing to the hub: download the page, and upload it there.")
    check_name(repo.strip())  # before anything is written
    folder, title = _written(state, model, "folder", snapshots), state.models.locate(model)[1]
    pushed = push_page(folder, repo.strip(), title=title, kind=kind, private=not public, dry_run=dry_run)
    return publication_payload(pushed)


def report(state: AppState, visitor: Visitor, run_id: Word) -> str:
    """Return a run, or a shipped model, as a page of its own (HTML). Raises `InputError`."""
    from bertviz_lab.ui.views.publish.report import run_report

    return run_report(state, visitor, run_id, report_progress)


def _written(state: AppState, model: str, form: PageForm, snapshots: int) -> Path:
    if state.settings.shared:
        raise InputError("This page publishes nothing: download the model, and use bertviz-lab publish.")
    return state.pages.write(model, form, snapshots, report_progress)


QUESTIONS = questions(about, slow=[page, push, report])
