"""The first rows of a file of examples, with what each column was taken for."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

DATA_PREVIEW = Assembly("preview", ("data_preview.js",), ("data_preview.css",))


def data_preview(**options: Any) -> gr.HTML:
    """The preview; its value comes from `figures.training.preview.preview_payload`.

    Events: `column_select` {column, name} when the name of a column is clicked, `column` counting from 0, and `opened`
    when it is first in sight.
    """
    return component(DATA_PREVIEW, value="", label="First rows of the data", **options)
