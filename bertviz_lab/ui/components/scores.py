"""The tokens of a text with rows of numbers under them."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

SCORES = Assembly("scores", ("picture.js", "strip.js", "scores.js"), ("strip.css", "scores.css"))


def scores(value: str = "", *, label: str = "Tokens and their numbers", **options: Any) -> gr.HTML:
    """The strip of scores; its value comes from `figures.scores.scores_payload`. Event: `token_select` {position}."""
    return component(SCORES, value=value, label=label, **options)
