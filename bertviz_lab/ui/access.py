"""Who may do what: whose a run is."""

from collections.abc import Sequence
from typing import Any

from bertviz_lab.ui.app_state import AppState

MOST_REMEMBERED = 50  # runs of one browser


def existing_runs(state: AppState, own: Any) -> list[str]:
    """The runs that a browser remembers and that are still there; what it sends may be anything."""
    ids = [run_id for run_id in own if isinstance(run_id, str)] if isinstance(own, list) else []
    return [run_id for run_id in ids[:MOST_REMEMBERED] if state.models.is_run(run_id)]


def may_change(state: AppState, own: Sequence[str], run_id: str) -> bool:
    """Whether a visitor has a say over a run: a link to it lets others look, no more."""
    return state.models.is_run(run_id) and (not state.settings.shared or run_id in own)
