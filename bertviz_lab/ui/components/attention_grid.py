"""All attention heads of a model at a glance, and one of them in detail."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import component

CHAPTERS = (
    "picture.js",
    "attention_data.js",
    "attention_overview.js",
    "attention_heatmap.js",
    "attention_lines.js",
    "attention_grid.js",
)


def attention_grid(
    value: str = "",
    *,
    exact_values: Callable[[str, int, int], str] | None = None,
    layer_values: Callable[[str, int], str] | None = None,
    label: str = "Attention of every head",
    **options: Any,
) -> gr.HTML:
    """The attention view; its value comes from `figures.attention.attention_payload`.

    `exact_values(key, layer, head)` answers with `figures.attention.head_cells`, and `layer_values(key, layer)`
    with `figures.attention.layer_cells`, of the computation that the payload's `key` names ("" where it is gone).
    They are called outside Gradio's queue, so they may only look something up. Without `layer_values` a layer
    that was not sent fires `layer_request`.

    Events: `head_select` {layer, head} and `layer_request` {layer}, both counted from 0.
    """
    functions: list[Callable[..., Any]] = []

    # Gradio hands over all arguments of a call from the page as one list.
    if exact_values is not None:
        find_head = exact_values

        def exact_values_of(arguments: list[Any]) -> str:
            key, layer, head = arguments
            return find_head(str(key), int(layer), int(head))

        exact_values_of.__name__ = "exact_values"
        functions.append(exact_values_of)

    if layer_values is not None:
        find_layer = layer_values

        def layer_values_of(arguments: list[Any]) -> str:
            key, layer = arguments
            return find_layer(str(key), int(layer))

        layer_values_of.__name__ = "layer_values"
        functions.append(layer_values_of)

    return component(
        "attention",
        value=value,
        label=label,
        chapters=CHAPTERS,
        sheets=("attention_grid.css",),
        server_functions=functions,
        **options,
    )
