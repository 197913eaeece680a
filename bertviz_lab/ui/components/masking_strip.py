"""What BERT's masking did to a text, token by token."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

MASKING_STRIP = Assembly("masking", ("picture.js", "strip.js", "masking_strip.js"), ("strip.css", "masking_strip.css"))


def masking_strip(value: str = "", *, label: str = "Masking", **options: Any) -> gr.HTML:
    """The masking strip; its value comes from `figures.masking.masking_payload`.

    Event: `token_select` {position} when a token is clicked.
    """
    return component(
        MASKING_STRIP,
        value=value,
        label=label,
        **options,
    )
