"""How each word falls into tokens, step by step."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

WORD_SPLIT = Assembly("split", ("word_split.js",), ("word_split.css",))


def word_split(value: str = "", *, label: str = "How the words are split", **options: Any) -> gr.HTML:
    """The explanation; its value comes from `figures.splitting.splitting_payload`."""
    return component(WORD_SPLIT, value=value, label=label, **options)
