"""The labels and the sequence lengths of a data set, folded away."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import Assembly, component

DATA_CHARTS = Assembly("data-charts", ("data_charts.js",), ())


def data_charts(**options: Any) -> gr.HTML:
    """Both charts; their value comes from `figures.training.task_data.charts_payload`."""
    return component(DATA_CHARTS, value="", label="Charts of the data set", **options)
