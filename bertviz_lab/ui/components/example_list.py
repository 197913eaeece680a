"""A list of examples with what is true and what the model said, each one click away."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

EXAMPLE_LIST = Assembly("examples", ("example_list.js",), ("example_list.css",))


def example_list(value: str = "", *, label: str = "Examples", **options: Any) -> gr.HTML:
    """The list; its value comes from `figures.examples.examples_payload`.

    Event: `example_select` {index}, the example's own number, when it is clicked or chosen by Enter.
    """
    return component(EXAMPLE_LIST, value=value, label=label, **options)
