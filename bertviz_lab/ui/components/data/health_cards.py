"""What a text holds and whether it is fit to train on."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

HEALTH_CARDS = Assembly("health", ("health_cards.js",), ("health_cards.css",))


def health_cards(value: str = "", *, label: str = "Health report of the text", **options: Any) -> gr.HTML:
    """The report; its value comes from `figures.training.health.health_payload`.

    Event: `opened` when it is first in sight.
    """
    return component(
        HEALTH_CARDS,
        value=value,
        label=label,
        **options,
    )
