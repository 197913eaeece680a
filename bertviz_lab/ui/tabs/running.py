"""Pretrain, the lower half: watch a run, stop it, go on with it, take its model."""

import json
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.training import live_payload, replay_payload
from bertviz_lab.jobs.names import short_name
from bertviz_lab.training.history import ACTIVE
from bertviz_lab.ui.answers import sentence_of
from bertviz_lab.ui.components import loss_chart
from bertviz_lab.ui.components.notice import notice, notice_payload
from bertviz_lab.ui.components.run_strip import strip_payload
from bertviz_lab.ui.models import newest_model, saved_at
from bertviz_lab.ui.session import Session

_KEPT_SECONDS = 600  # a zip is copied by Gradio as soon as it is made; its original may go soon after


@dataclass(frozen=True)
class RunPanel:
    """The parts that the rest of the page refers to."""

    run: gr.Dropdown
    chart: gr.HTML
    stop: gr.Button
    resume: gr.Button
    open_fill: gr.Button
    open_attention: gr.Button
    download: gr.Button
    file: gr.DownloadButton
    message: gr.HTML

    @property
    def state_parts(self) -> list[Any]:
        """What `panel_state` answers for."""
        return [self.stop, self.resume, self.open_fill, self.open_attention, self.download, self.message]


def create_run_panel(session: Session) -> RunPanel:
    """Draw the panel; the caller joins its parts, since they change the top of the page too."""
    gr.HTML("<h2>4. Watch it learn</h2>")
    run = gr.Dropdown([], label="Run", visible=False, filterable=False, elem_id="run-shown")
    message = notice(elem_id="run-message")
    with gr.Row(elem_id="run-buttons"):
        stop = gr.Button("Stop", visible=False, min_width=110, elem_id="run-stop")
        resume = gr.Button("Go on training", visible=False, min_width=140, elem_id="run-resume")
        open_fill = gr.Button("Open in Fill-mask", visible=False, min_width=160, variant="primary", elem_id="run-fill")
        open_attention = gr.Button("Open in Attention", visible=False, min_width=160, elem_id="run-attention")
        download = gr.Button("Download the model", visible=False, min_width=170, elem_id="run-download")
    chart = loss_chart(poll=partial(session.follow), elem_id="loss-chart")
    # Gradio downloads what a button holds at the time of the click; this one is clicked once the zip is ready.
    file = gr.DownloadButton("Download", visible="hidden", elem_id="run-file")
    return RunPanel(run, chart, stop, resume, open_fill, open_attention, download, file, message)


def panel_state(session: Session, run_id: str) -> tuple[Any, ...]:
    """Which buttons make sense for a run, and where its model is."""
    try:
        state = session.runs.state(run_id)
        saved = newest_model(session.runs.folder(run_id)) is not None
    except InputError:
        return (*(gr.update(visible=False) for _ in range(5)), "")
    active = state.status in ACTIVE
    name = short_name(run_id)
    text = ""
    if saved:
        text = f"Your model {name} is here, and in the model picker at the top."
        if active:
            text = (
                f"The model of {name} so far is in the model picker at the top; it is renewed while training goes on."
            )
    detail = session.model_path(run_id) if saved else ""
    return (
        gr.update(visible=active, value="Stop", interactive=True),
        gr.update(visible=state.status in ("stopped", "failed")),
        gr.update(visible=saved),
        gr.update(visible=saved),
        gr.update(visible=saved),
        notice_payload(text, "info" if active else "good", detail=detail) if text else "",
    )


def run_list(session: Session, own: Sequence[str], run_id: str) -> Any:
    """The list of runs with one of them chosen; not there while there is none."""
    choices = session.run_choices(own)
    if run_id and run_id not in [value for _, value in choices]:
        run_id = ""
    return gr.update(choices=choices, value=run_id or None, visible=len(choices) > 1)


def show_run(session: Session, run_id: str | None, *, mark: str = "") -> tuple[Any, ...]:
    """Chart, strip and buttons of a run: (chart, strip, *panel_state)."""
    try:
        state = session.runs.state(run_id or "")
        saved = saved_at(session.runs.folder(run_id or ""))
    except InputError:
        return (shipped_curve(session), "", *panel_state(session, ""))
    assert run_id is not None
    strip = strip_payload(run_id, status=state.status, saved=str(saved) if saved else "", mark=mark)
    return live_payload(run_id, short_name(run_id), mark=mark), strip, *panel_state(session, run_id)


def shipped_curve(session: Session) -> str:
    """How a model that comes with the lab learnt, to look at while there is no run of one's own; "" without a log."""
    for name in session.models.shipped():
        log = session.settings.checkpoints / name / "training.jsonl"
        if log.is_file():
            rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
            return replay_payload(rows, f"How {name}, which comes with the lab, was trained")
    return ""


def stop_run(session: Session, run_id: str | None) -> tuple[Any, str]:
    """Ask a run to stop: (the stop button, a message)."""
    try:
        waited = session.runs.state(run_id or "").status == "waiting"
        session.runs.stop(run_id or "")
    except Exception as error:
        return gr.skip(), notice_payload(sentence_of(error))
    text = "It is no longer in line." if waited else "It finishes its step, saves a checkpoint and stops."
    return gr.update(value="Stopping …", interactive=False), notice_payload(text, "info")


def resume_run(session: Session, run_id: str | None) -> tuple[Any, ...]:
    """Go on with a run: as `show_run`, with a message instead where it cannot."""
    try:
        session.runs.resume(run_id or "")
    except Exception as error:
        return (gr.skip(),) * 7 + (notice_payload(sentence_of(error)),)
    return show_run(session, run_id, mark=f"{time.time():.3f}")


def zip_model(session: Session, run_id: str | None) -> tuple[Any, Any]:
    """The newest model of a run as a zip: (its path for the download button, a message)."""
    try:
        folder, name = session.models.locate(run_id or "")
        target = Path(tempfile.mkdtemp(prefix="bertviz-lab-zip-")) / f"{name}.zip"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path in sorted(folder.iterdir()):
                if path.is_file() and not path.name.startswith(("optimizer.", "trainer.", "checksums.")):
                    archive.write(path, f"{name}/{path.name}")
    except Exception as error:
        return gr.skip(), notice_payload(sentence_of(error))
    _remove_old_zips()
    return gr.update(value=str(target)), gr.skip()


def _remove_old_zips() -> None:
    for folder in Path(tempfile.gettempdir()).glob("bertviz-lab-zip-*"):
        try:
            if time.time() - folder.stat().st_mtime > _KEPT_SECONDS:
                for path in folder.iterdir():
                    path.unlink()
                folder.rmdir()
        except OSError:
            continue  # another visitor's download is removing it too
