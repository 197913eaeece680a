"""The second model of a comparison: the same before training, or any other."""

from typing import Any

from bertviz_lab.ui.state.app_state import AppState

BEFORE = "before"  # in place of a model's name: the same model before training


def open_comparison(state: AppState, checkpoint: Any, name: str) -> Any:
    """The model that is compared with `checkpoint`: one by its name, or `BEFORE`. Raises `InputError`."""
    from bertviz_lab.interpret import untrained

    return untrained(checkpoint) if name in (BEFORE, "") else state.models.open(name)


def comparison_version(state: AppState, name: str) -> str:
    """Changes when the files of the second model do; "" for `BEFORE`, which changes with the first."""
    return "" if name in (BEFORE, "") else state.models.version(name)
