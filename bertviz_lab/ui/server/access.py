"""Who may do what: who is logged in, and whose a run is."""

import inspect
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request

from bertviz_lab.ui.state.app_state import AppState

MOST_REMEMBERED = 50  # runs of one browser


def existing_runs(state: AppState, own: Any) -> list[str]:
    """The runs that a browser remembers and that are still there; what it sends may be anything."""
    ids = [run_id for run_id in own if isinstance(run_id, str)] if isinstance(own, list) else []
    return [run_id for run_id in ids[:MOST_REMEMBERED] if state.models.is_run(run_id)]


def may_change(state: AppState, own: Sequence[str], run_id: str) -> bool:
    """Whether a visitor has a say over a run: a link to it lets others look, no more."""
    return state.models.is_run(run_id) and (not state.settings.shared or run_id in own)


async def is_logged_in(request: Request) -> bool:
    """Whether who asks a route of our own may see the page, which Gradio guards for its own routes only."""
    app = request.app
    if app.auth_dependency is not None:
        user = app.auth_dependency(request)
        return (await user if inspect.isawaitable(user) else user) is not None
    if app.auth is None:
        return True
    names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
    return any(app.tokens.get(request.cookies.get(name)) for name in names)
