"""The second model of a comparison: the same before training, or any other."""

from typing import Any

import gradio as gr

from bertviz_lab.ui.app_state import AppState

BEFORE = "before training"
_BEFORE_CHOICE = ("the same model before training", BEFORE)


def second_model(elem_id: str) -> gr.Dropdown:
    """The field in which the second model is chosen; `second_choices` keeps it up to date."""
    return gr.Dropdown([_BEFORE_CHOICE], value=BEFORE, label="Other model", allow_custom_value=True, elem_id=elem_id)


def second_choices(choices: list[tuple[str, str]]) -> Any:
    """An update of the field, with the models that the picker offers."""
    return gr.update(choices=[_BEFORE_CHOICE, *choices])


def open_comparison(session: AppState, checkpoint: Any, name: str) -> Any:
    """The model that is compared with `checkpoint`: one by its name, or `BEFORE`. Raises `InputError`."""
    from bertviz_lab.interpret import untrained

    return untrained(checkpoint) if name in (BEFORE, "before", "") else session.models.open(name)


def open_second(session: AppState, checkpoint: Any, name: str | None) -> Any:
    """The model that is set beside `checkpoint`. Raises `InputError` where there is none of that name."""
    from bertviz_lab.interpret import untrained

    return untrained(checkpoint) if name in (BEFORE, "", None) else session.models.open(name)
