"""Access: logins for our own routes, and the ownership of runs.

On a shared page a run has an owner, the browser that started it. A link to the run shows curves, training dynamics on
texts that the visitor types, and the model's predictions. Only the owner may stop, resume, rename, delete or download
the run, or see what was typed or uploaded for it.
"""

import inspect

from starlette.requests import Request

from bertviz_lab.errors import InputError
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState


def require_owner(state: AppState, visitor: Visitor, run_id: str, what: str) -> None:
    """Raise `InputError` unless the visitor owns a run; `what` is the owner's right, such as "can change it"."""
    state.runs.folder(run_id)
    if not state.models.owns(visitor, run_id):
        raise InputError(f"This run was started in another browser, which alone {what}.")


async def is_logged_in(request: Request) -> bool:
    """Return whether the sender is logged in; Gradio checks that for its own routes only."""
    app = request.app
    if app.auth_dependency is not None:
        user = app.auth_dependency(request)
        return (await user if inspect.isawaitable(user) else user) is not None
    if app.auth is None:
        return True
    names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
    return any(app.tokens.get(request.cookies.get(name)) for name in names)
