"""Who may do what: who is logged in, and who has a say over a run.

Of a run on a shared page there are an owner, the browser that started it, and whoever has a link to it. A link shows
curves, training dynamics on texts that its holder types, and answers of the model. The rest is the owner's: to stop,
resume, rename, delete or download the run, and all that was typed or uploaded for it.
"""

import inspect

from starlette.requests import Request

from bertviz_lab.errors import InputError
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState


def require_owner(state: AppState, visitor: Visitor, run_id: str, what: str) -> None:
    """Raise `InputError` where a run is somebody else's; `what` is the owner's alone, such as "can change it"."""
    state.runs.folder(run_id)
    if not state.models.owns(visitor, run_id):
        raise InputError(f"This run was started in another browser, which alone {what}.")


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
