"""What a text holds and whether it is fit to train on."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import component


def health_cards(value: str = "", *, label: str = "Health report of the text", **options: Any) -> gr.HTML:
    """The report; its value comes from `figures.health.health_payload`."""
    return component(
        "health",
        value=value,
        label=label,
        chapters=("health_cards.js",),
        sheets=("health_cards.css",),
        **options,
    )
