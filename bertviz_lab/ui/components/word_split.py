"""How each word falls into tokens, step by step."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import component


def word_split(value: str = "", *, label: str = "How the words are split", **options: Any) -> gr.HTML:
    """The explanation; its value comes from `figures.splitting.splitting_payload`."""
    return component(
        "split", value=value, label=label, chapters=("word_split.js",), sheets=("word_split.css",), **options
    )
