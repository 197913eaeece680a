"""What the model is given in place of a text: pieces, ids, segments, positions, attention mask."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

TOKEN_STRIP = Assembly("tokens", ("picture.js", "strip.js", "token_strip.js"), ("strip.css", "token_strip.css"))


def token_strip(value: str = "", *, label: str = "Input of the model", **options: Any) -> gr.HTML:
    """The token strip; its value comes from `figures.tokens.token_payload`.

    Event: `token_select` {position} when a token is clicked.
    """
    return component(
        TOKEN_STRIP,
        value=value,
        label=label,
        **options,
    )
