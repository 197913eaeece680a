"""Runs beside each other: what differs in their settings, their scores, their curves, and what each can do."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

RUN_COMPARE = Assembly(
    "runs",
    (
        *("picture.js", "chart_shapes.js", "loss_panels.js", "loss_trials.js", "loss_data.js"),
        *("run_marks.js", "run_table.js", "run_curves.js", "run_probes.js", "run_compare.js"),
    ),
    ("run_compare.css",),
)


def run_compare(
    value: str = "",
    *,
    poll: Callable[[str, int], dict[str, Any] | None],
    label: str = "Runs beside each other",
    **options: Any,
) -> gr.HTML:
    """The comparison; its value comes from `figures.runs.runs_payload`.

    `poll(run, start)` is that of `loss_chart`; a run that trains is asked after every two seconds.
    """

    def poll_of(arguments: list[Any]) -> dict[str, Any] | None:
        run, start = arguments
        return poll(str(run), int(start))

    poll_of.__name__ = "poll"
    return component(RUN_COMPARE, value=value, label=label, server_functions=[poll_of], **options)
