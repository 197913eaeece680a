"""A place on the page where runs of one kind are started and watched: a form with its button, and a panel below it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from bertviz_lab.config import RunConfig
from bertviz_lab.ui.run_panel import RunPanel
from bertviz_lab.ui.view_contract import CollapsedView


@dataclass(frozen=True)
class ResultsView:
    """What a run came to: `draw(*inputs)` gives a value for each of `outputs`, and `parts` are drawn after it."""

    draw: Callable[..., Any]
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    parts: Sequence[CollapsedView]


@dataclass(frozen=True)
class TrainingView:
    """The parts that the rest of the page refers to.

    Attributes:
        tab: the id of its tab.
        kind: the settings of its runs.
        names: the settings that the form has inputs for.
        inputs: the form: what it is about, then a value for each of `names`; `begin(*inputs)` starts a run and returns
            its id, or raises `InputError`.
        start: the model to start from; its choices grow with every run.
        show: draws what the form is about; called with `inputs` when the page opens, for `shown`.
        results: draws what the run that is shown came to; none where there is no outcome to draw.
    """

    tab: str
    kind: type[RunConfig]
    names: tuple[str, ...]
    inputs: Sequence[Any]
    begin: Callable[..., str]
    start: gr.Dropdown
    button: gr.Button
    message: gr.HTML
    panel: RunPanel
    show: Callable[..., Any]
    shown: Sequence[Any]
    results: ResultsView | None = None
