"""The events of Gradio that are left: the page opens, and a script opens one of its tabs."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from bertviz_lab.ui.header import strip_of
from bertviz_lab.ui.server.visitors import visitor_of
from bertviz_lab.ui.state.app_state import AppState

SPACES = ("explore", "train", "runs", "learn")
#: Not an endpoint, and no gray veil over what it changes.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "show_progress_on": []}


@dataclass(frozen=True)
class PageEvents:
    """All parts of the page, to be joined once they are drawn."""

    session: AppState
    wire: gr.HTML
    strip: gr.HTML
    tabs: gr.Tabs  # the workspaces
    forms: gr.Tabs  # Pretrain and Fine-tune

    def join(self, page: gr.Blocks) -> None:
        """Join everything that crosses the border of a workspace."""
        page.load(self.arrive, None, [self.strip, self.tabs], **QUIET)
        self.wire.go(self.go, None, [self.tabs, self.forms], trigger_mode="always_last", **QUIET)

    def arrive(self, request: gr.Request) -> tuple[Any, ...]:
        """Follow the run of a visitor who opens the page, perhaps again, perhaps by a link.

        The page opens with Explore, and soon its address says so. A browser that asks late sends that address, and its
        visitor may have gone on to another workspace: nobody is led to Explore.
        """
        visitor, address = visitor_of(request), request.query_params
        space = "learn" if "lesson" in address else address.get("space")
        tabs = gr.Tabs(selected=space) if space in SPACES[1:] else gr.skip()
        return strip_of(self.session, self.session.current_run(visitor)), tabs

    def go(self, data: gr.EventData) -> tuple[Any, Any]:
        """Open a workspace; in Train perhaps one of its forms."""
        space, form = getattr(data, "space", None), getattr(data, "show", None)
        return (
            gr.Tabs(selected=space) if space in SPACES else gr.skip(),
            gr.Tabs(selected=form) if form in ("pretrain", "finetune") else gr.skip(),
        )
