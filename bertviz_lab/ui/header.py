"""The top of the page: its name, the run under way, and the line to Python."""

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.components.parts import part
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import saved_at


def _logo() -> str:
    """Return a small attention map: strong on its diagonal, fainter beside it."""
    shades = {0: "#ffffff", 1: "#a5b4fc", 2: "#6366f1"}
    cells = [
        f'<rect x="{8 + 7.5 * column}" y="{8 + 7.5 * row}" width="5" height="5" rx="1" fill="{shade}"/>'
        for row in range(3)
        for column in range(3)
        for shade in [shades[abs(row - column)]]
    ]
    frame = '<rect width="36" height="36" rx="8" fill="#3730a3"/>'
    return f'<svg viewBox="0 0 36 36" width="36" height="36" aria-hidden="true">{frame}{"".join(cells)}</svg>'


def _title(*, logout: bool) -> str:
    link = '<a class="logout" href="logout">Log out</a>' if logout else ""
    return f"""
<header class="title">{_logo()}<div><h1>BertViz Lab</h1>
<p>Train a small BERT on your own text, watch its training dynamics, and look inside it.</p></div>{link}</header>
"""


def create_header(session: AppState) -> gr.HTML:
    """Draw the top of the page; returns the strip that follows a training run."""

    return part(
        "run",
        label="Training run",
        above=_title(logout=bool(session.settings.users)),
        elem_id="run-strip",
    )


def strip_of(session: AppState, run_id: str | None, *, mark: str = "") -> str:
    """Return the value of the strip for a run; "" for none."""
    try:
        state = session.runs.state(run_id or "")
        saved = saved_at(session.runs.folder(run_id or ""))
    except InputError:
        return ""
    saved_mark = str(saved) if saved else ""
    return to_json({"run_id": run_id, "status": state.status, "saved": saved_mark, "mark": mark})
