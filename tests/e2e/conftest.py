"""What all tests in a browser share."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bertviz_lab.ui.state.app_state import AppState
from tests.ui.pages import event_loops

__all__ = ["event_loops"]

_FINDINGS: dict[tuple[Any, ...], Any] = {}


@pytest.fixture(scope="module", autouse=True)
def measured_lessons() -> Iterator[None]:
    """What a lesson measures on a model takes seconds: it is measured once for all pages that are served."""
    remembered = AppState.remembered

    def remembered_by_all(state: AppState, question: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if question[0] != "lesson":
            return remembered(state, question, make)
        if question not in _FINDINGS:
            _FINDINGS[question] = remembered(state, question, make)
        return _FINDINGS[question]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AppState, "remembered", remembered_by_all)
        yield
