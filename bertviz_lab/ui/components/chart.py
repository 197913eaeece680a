"""A picture of numbers: a shaded table, bars, columns, points in a plane, or lines."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

CHART = Assembly("chart", ("plot.js", "chart.js", "chart_island.js"), ("chart.css",))


def chart(value: str = "", *, label: str = "Chart", **options: Any) -> gr.HTML:
    """The chart; its value comes from a function of `figures.charts`, which also says what can be picked.

    Event: `item_select`, {row, column} of a shaded table or {group, series} of bars.
    """
    return component(CHART, value=value, label=label, **options)
