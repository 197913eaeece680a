"""The lower half of a tab that trains: watch a run, stop it, go on with it, take its model."""

import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.config import FinetuneConfig, RunConfig
from bertviz_lab.config.finetune import TASKS
from bertviz_lab.errors import InputError
from bertviz_lab.figures.training.curves import live_payload, replay_payload
from bertviz_lab.training.runs.run_folder import ACTIVE, read_shipped_log
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components import loss_chart
from bertviz_lab.ui.components.notice import notice, notice_payload
from bertviz_lab.ui.components.run_strip import strip_payload
from bertviz_lab.ui.downloads import download_folder
from bertviz_lab.ui.error_handling import sentence_of
from bertviz_lab.ui.models import newest_model, saved_at


@dataclass(frozen=True)
class RunPanel:
    """The parts that the rest of the page refers to."""

    run: gr.Dropdown
    chart: gr.HTML
    stop: gr.Button
    resume: gr.Button
    openers: tuple[tuple[gr.Button, str], ...]  # each opens the model in a tab
    download: gr.Button
    file: gr.DownloadButton
    message: gr.HTML

    @property
    def state_parts(self) -> list[Any]:
        """What `panel_state` answers for."""
        return [self.stop, self.resume, *(button for button, _ in self.openers), self.download, self.message]

    @property
    def shown(self) -> list[Any]:
        """What `show_run` answers for, the strip at the top of the page aside."""
        return [self.chart, *self.state_parts]


def create_run_panel(session: AppState, name: str, heading: str, tabs: Sequence[tuple[str, str]]) -> RunPanel:
    """Draw the panel; the caller joins its parts, since they change the top of the page too.

    `name` begins the ids of its parts; `tabs` are (title, id) of those in which its models can be opened.
    """
    gr.HTML(f"<h2>{heading}</h2>")
    run = gr.Dropdown([], label="Run", visible=False, filterable=False, elem_id=f"{name}-shown")
    message = notice(elem_id=f"{name}-message")
    with gr.Row(elem_id=f"{name}-buttons", elem_classes="run-buttons"):
        stop = gr.Button("Stop", visible=False, min_width=110, elem_id=f"{name}-stop")
        resume = gr.Button("Resume training", visible=False, min_width=140, elem_id=f"{name}-resume")
        openers = tuple(
            (
                gr.Button(
                    f"Open in {title}",
                    visible=False,
                    min_width=160,
                    variant="secondary" if place else "primary",
                    elem_id=f"{name}-{tab}",
                ),
                tab,
            )
            for place, (title, tab) in enumerate(tabs)
        )
        download = gr.Button("Download the model", visible=False, min_width=170, elem_id=f"{name}-download")
    chart = loss_chart(poll=partial(session.follow), elem_id=f"{name}-chart")
    # Gradio downloads what a button holds at the time of the click; this one is clicked once the zip is ready.
    file = gr.DownloadButton("Download", visible="hidden", elem_id=f"{name}-file")
    return RunPanel(run, chart, stop, resume, openers, download, file, message)


def panel_state(session: AppState, run_id: str, openers: int = 2) -> tuple[Any, ...]:
    """Which buttons make sense for a run, and where its model is; so many of them open it in another tab."""
    try:
        state = session.runs.state(run_id)
        saved = newest_model(session.runs.folder(run_id)) is not None
    except InputError:
        return (*(gr.update(visible=False) for _ in range(openers + 3)), "")
    active = state.status in ACTIVE
    name = session.runs.name(run_id)
    text = ""
    if saved:
        text = f"Your model {name} is here, and in the model picker at the top."
        if active:
            text = f"The model of {name} so far is in the model picker at the top; it is updated during training."
    detail = session.model_path(run_id) if saved else ""
    return (
        gr.update(visible=active, value="Stop", interactive=True),
        gr.update(visible=state.status in ("stopped", "failed")),
        *(gr.update(visible=saved) for _ in range(openers + 1)),
        notice_payload(text, "info" if active else "good", detail=detail) if text else "",
    )


def run_list(session: AppState, own: Sequence[str], run_id: str, kind: type[RunConfig]) -> Any:
    """The list of runs of a kind with one of them chosen; not there while there is none."""
    choices = session.run_choices(own, kind)
    if run_id and run_id not in [value for _, value in choices]:
        run_id = ""
    return gr.update(choices=choices, value=run_id or None, visible=len(choices) > 1)


def show_run(
    session: AppState, run_id: str | None, kind: type[RunConfig], openers: int = 2, *, mark: str = ""
) -> tuple[Any, ...]:
    """Chart and buttons of a run of a kind: (chart, *panel_state)."""
    try:
        session.runs.state(run_id or "")
    except InputError:
        return (shipped_curve(session, kind), *panel_state(session, "", openers))
    assert run_id is not None
    return live_payload(run_id, session.runs.name(run_id), mark=mark), *panel_state(session, run_id, openers)


def strip_of(session: AppState, run_id: str | None, *, mark: str = "") -> str:
    """The line at the top of the page for a run; "" for none."""
    try:
        state = session.runs.state(run_id or "")
        saved = saved_at(session.runs.folder(run_id or ""))
    except InputError:
        return ""
    return strip_payload(run_id or "", status=state.status, saved=str(saved) if saved else "", mark=mark)


def shipped_curve(session: AppState, kind: type[RunConfig]) -> str:
    """How a model that comes with the lab learnt, to look at while there is no run of one's own; "" without a log."""
    for name in session.models.shipped():
        rows = read_shipped_log(session.settings.checkpoints / name)
        tuned = any(row.get("objective") in TASKS for row in rows)
        if rows and tuned == (kind is FinetuneConfig):
            done = "fine-tuned" if tuned else "trained"
            return replay_payload(rows, f"How {name}, which comes with the lab, was {done}")
    return ""


def stop_run(session: AppState, run_id: str | None) -> tuple[Any, str]:
    """Ask a run to stop: (the stop button, a message)."""
    try:
        waited = session.runs.state(run_id or "").status == "waiting"
        session.runs.stop(run_id or "")
    except Exception as error:
        return gr.skip(), notice_payload(sentence_of(error))
    text = "It is no longer queued." if waited else "It finishes its step, saves a checkpoint and stops."
    return gr.update(value="Stopping …", interactive=False), notice_payload(text, "info")


def resume_run(session: AppState, run_id: str | None, kind: type[RunConfig], openers: int = 2) -> tuple[Any, ...]:
    """Go on with a run: (strip, *show_run), with a message instead where it cannot."""
    try:
        session.runs.resume(run_id or "")
    except Exception as error:
        return refused(sentence_of(error), openers)
    mark = f"{time.time():.3f}"
    return strip_of(session, run_id, mark=mark), *show_run(session, run_id, kind, openers, mark=mark)


def refused(sentence: str, openers: int = 2) -> tuple[Any, ...]:
    """As `resume_run`: nothing changes but the message."""
    return (gr.skip(),) * (openers + 5) + (notice_payload(sentence),)


def zip_model(session: AppState, run_id: str | None) -> tuple[Any, Any]:
    """The newest model of a run as a zip: (its path for the download button, a message)."""
    try:
        folder, name = session.models.locate(run_id or "")
        target = download_folder() / f"{name}.zip"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path in sorted(folder.iterdir()):
                if path.is_file() and not path.name.startswith(("optimizer.", "trainer.", "checksums.")):
                    archive.write(path, f"{name}/{path.name}")
    except Exception as error:
        return gr.skip(), notice_payload(sentence_of(error))
    return gr.update(value=str(target)), gr.skip()
