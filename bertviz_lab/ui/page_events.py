"""The events of Gradio that join its forms with the rest of the page; modules ask for all else themselves."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import notice_payload, to_json
from bertviz_lab.ui.event_options import QUIET, TYPING
from bertviz_lab.ui.forms.training_view import TrainingView
from bertviz_lab.ui.header import strip_of
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.visitors import Visitor, visitor_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.lru_cache import LruCache

SPACES = ("explore", "train", "runs", "learn")
_DOUBLE_PRESS = 2.0  # seconds in which the same form, sent again, is the same run


@dataclass(frozen=True)
class PageEvents:
    """All parts of the page, to be joined once they are drawn."""

    session: AppState
    wire: gr.HTML
    strip: gr.HTML
    tabs: gr.Tabs  # the workspaces
    forms: gr.Tabs  # Pretrain and Fine-tune
    benches: Sequence[TrainingView]
    pressed: LruCache = field(default_factory=lambda: LruCache(64))  # forms that were sent -> run, and when it began

    def join(self, page: gr.Blocks) -> None:
        """Join everything that crosses the border of a workspace."""
        starts = [bench.start for bench in self.benches]
        page.load(self.arrive, None, [self.strip, *starts, self.tabs], **QUIET)
        self.wire.go(self.go, None, [self.tabs, self.forms], **TYPING)
        for news in (self.strip.run_changed, self.strip.model_saved):
            news(self.refresh_starts, None, starts, **QUIET)
        for bench in self.benches:
            bench.button.click(
                self.train(bench), list(bench.inputs), [self.wire, bench.message, self.strip], **QUIET
            ).then(
                None,
                js=f"() => document.querySelector('#{bench.tab}-progress')?.scrollIntoView({{block: 'start'}})",
            )

    # ---- what happens

    def arrive(self, request: gr.Request) -> tuple[Any, ...]:
        """A visitor opens the page, perhaps again, perhaps by a link: their run is followed.

        The page opens with Explore, and soon its address says so. A browser that asks late sends that address, and its
        visitor may have gone on to another workspace: nobody is led to Explore.
        """
        visitor, address = visitor_of(request), request.query_params
        space = "learn" if "lesson" in address else address.get("space")
        tabs = gr.Tabs(selected=space) if space in SPACES[1:] else gr.skip()
        strip = strip_of(self.session, self.session.current_run(visitor))
        return strip, *self._starts(visitor), tabs

    def go(self, data: gr.EventData) -> tuple[Any, Any]:
        """A script opens a workspace; in Train perhaps one of its forms."""
        space, form = getattr(data, "space", None), getattr(data, "show", None)
        return (
            gr.Tabs(selected=space) if space in SPACES else gr.skip(),
            gr.Tabs(selected=form) if form in ("pretrain", "finetune") else gr.skip(),
        )

    def train(self, bench: TrainingView) -> Callable[..., tuple[Any, ...]]:
        """What starts a run of a form; a form that cannot be used is answered beside the button."""

        def start(request: gr.Request, *inputs: Any) -> tuple[Any, ...]:
            visitor = visitor_of(request)
            form = visitor, bench.tab, repr(inputs)

            def begin() -> tuple[str, float]:
                run_id = bench.begin(visitor, *inputs)
                log_event("run started", run=run_id)
                return run_id, time.monotonic()

            try:
                run_id, began = self.pressed.get(form, begin)
                if time.monotonic() - began > _DOUBLE_PRESS:
                    self.pressed.discard(lambda sent: sent == form)
                    run_id, _ = self.pressed.get(form, begin)
            except Exception as error:
                return gr.skip(), notice_payload(sentence_of(error, shared=self.session.settings.shared)), gr.skip()
            return wire_payload(awaited=run_id), "", strip_of(self.session, run_id)

        return start

    def refresh_starts(self, request: gr.Request) -> list[Any]:
        """A run has reached another state, or has saved a model: it may be one to start from."""
        return self._starts(visitor_of(request))

    def _starts(self, visitor: Visitor) -> list[Any]:
        """The models that the next training can start from."""
        return [gr.update(choices=self.session.models.starts(visitor)) for _ in self.benches]


def wire_payload(**news: Any) -> str:
    """Return what scripts learn of runs: `awaited` is the one whose first model is to be opened."""
    return to_json(news)
