"""All heads of several models on one text, beside each other."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

HEADS_BESIDE = Assembly(
    "heads",
    ("picture.js", "chart_shapes.js", "attention_data.js", "attention_overview.js", "heads_beside.js"),
    ("attention_grid.css", "heads_beside.css"),
)


def heads_beside(value: str = "", *, label: str = "All heads of each model", **options: Any) -> gr.HTML:
    """The heads; their value comes from `figures.side_by_side.heads_payload`."""
    return component(HEADS_BESIDE, value=value, label=label, **options)
