"""A tab where runs of one kind are started: a form with its button; below it stands the panel of its newest run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from bertviz_lab.config.limits import Limits, words_of
from bertviz_lab.ui.components.parts import part


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


def limits_line(sentence: str, elem_id: str) -> None:
    """What a run may take on this page; nothing where there is nothing to say."""
    if sentence:
        gr.HTML(f'<p class="quiet">{sentence}</p>', elem_id=elem_id)


def upload_size(limits: Limits) -> str:
    """The size of the largest file that may be uploaded, such as "50 MB"."""
    return words_of("bytes", limits.upload_bytes)


def step(title: str) -> str:
    """The heading of a step of a form, to stand above the island that begins it."""
    return f'<h2 class="step">{title}</h2>'


def progress_panel(kind: str, label: str) -> gr.HTML:
    """The newest run of a kind, "pretrain" or "finetune", as Runs shows it; its parts have ids that begin with it."""
    return part("progress", label=label, above=step(label), kind=kind, elem_id=f"{kind}-progress")
