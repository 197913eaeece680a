"""All attention heads of a model at a glance, and one of them in detail."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

ATTENTION_GRID = Assembly(
    "attention",
    (
        "picture.js",
        "plot.js",
        "chart.js",
        "attention_data.js",
        "attention_overview.js",
        "attention_heatmap.js",
        "attention_lines.js",
        "attention_details.js",
        "attention_export.js",
        "attention_grid.js",
    ),
    ("attention_grid.css", "chart.css"),
    charts_need_server=True,  # the query-key product
)


def attention_grid(
    value: str = "",
    *,
    exact_values: Callable[[str, int, int], str] | None = None,
    layer_values: Callable[[str, int], str] | None = None,
    query_key: Callable[[str, int, int, int, int], str] | None = None,
    label: str = "Attention of every head",
    **options: Any,
) -> gr.HTML:
    """The attention view; its value comes from `figures.attention.attention_payload` or `difference_payload`.

    `exact_values(key, layer, head)` answers with `figures.attention.head_cells`, `layer_values(key, layer)` with
    `figures.attention.layer_cells`, and `query_key(key, layer, head, looking, looked_at)` with
    `figures.attention.pair_payload`, of the computation that the payload's `key` names ("" where it is gone).
    They are called outside Gradio's queue, so they may only look something up. Without `layer_values` a layer
    that was not sent fires `layer_request`.

    Events: `head_select` {layer, head} and `layer_request` {layer}, both counted from 0; `state_change` with what the
    reader has chosen, which `server.remembered()` gives back to a drawing of a panel.
    """
    asked = (
        ("exact_values", exact_values, (str, int, int)),
        ("layer_values", layer_values, (str, int)),
        ("query_key", query_key, (str, int, int, int, int)),
    )
    functions = [_server_function(name, find, kinds) for name, find, kinds in asked if find is not None]
    return component(
        ATTENTION_GRID,
        value=value,
        label=label,
        server_functions=functions,
        **options,
    )


def _server_function(name: str, find: Callable[..., str], kinds: tuple[type, ...]) -> Callable[[list[Any]], str]:
    """`find` as Gradio calls it: with one list of all arguments, and known to the page by its name."""

    def answer(arguments: list[Any]) -> str:
        return find(*(kind(argument) for kind, argument in zip(kinds, arguments, strict=True)))

    answer.__name__ = name
    return answer
