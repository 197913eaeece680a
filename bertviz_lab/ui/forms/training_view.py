"""A tab where runs of one kind are started: a form with its button; below it stands the panel of its newest run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from bertviz_lab.ui.components.assemble import component
from bertviz_lab.ui.server import bundle


@dataclass(frozen=True)
class TrainingView:
    """The parts that the rest of the page refers to.

    Attributes:
        tab: the id of its tab.
        names: the settings that the form has inputs for.
        inputs: the form: what it is about, then a value for each of `names`; `begin(visitor, *inputs)` starts a
            run and returns its id, or raises `InputError`.
        start: the model to start from; its choices grow with every run.
    """

    tab: str
    names: tuple[str, ...]
    inputs: Sequence[Any]
    begin: Callable[..., str]
    start: gr.Dropdown
    button: gr.Button
    message: gr.HTML


def progress_panel(kind: str, label: str) -> gr.HTML:
    """The newest run of a kind, "pretrain" or "finetune", as Runs shows it; its parts have ids that begin with it."""
    return component(
        bundle.PROGRESS, value="", label=label, above=f"<h2>{label}</h2>", kind=kind, elem_id=f"{kind}-progress"
    )
