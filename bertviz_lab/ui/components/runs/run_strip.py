"""The slim line at the top of the page that follows a training run wherever one looks."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.components.assemble import Assembly, component

RUN_STRIP = Assembly("run", ("client/space_picker.js", "run_strip.js"), ("run_strip.css",))


def run_strip(
    value: str = "",
    *,
    glance: Callable[[str, gr.Request], dict[str, Any] | None],
    **options: Any,
) -> gr.HTML:
    """The strip; its value comes from `strip_payload`.

    `glance(run_id, request)` answers {"name", "status", "message", "step", "total_steps", "seconds", "eta_seconds",
    "saved", "path"} or None for an unknown run; `saved` changes with every checkpoint and is "" before the first. It is
    asked every two seconds, outside Gradio's queue, while the run is under way.

    Events: `run_changed` {run_id, status} when the status changes, `model_saved` {run_id} when there is a
    new checkpoint.
    """

    # Gradio hands over all arguments of a call from the page as one list.
    def glance_of(arguments: Any, request: gr.Request) -> dict[str, Any] | None:
        return glance(str(arguments[0] if isinstance(arguments, list) else arguments), request)

    glance_of.__name__ = "glance"
    return component(
        RUN_STRIP,
        value=value,
        label="Training run",
        server_functions=[glance_of],
        **options,
    )


def strip_payload(run_id: str, *, status: str = "starting", saved: str = "", mark: str = "") -> str:
    """Follow a run; `status` and `saved` are what the page knows already, so that only news become events.

    A resumed run is followed again when `mark` is new.
    """
    return to_json({"run_id": run_id, "status": status, "saved": saved, "mark": mark}) if run_id else ""
