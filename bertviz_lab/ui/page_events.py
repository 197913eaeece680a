"""The path of a visitor across the workspaces: what changes something that others see goes by Gradio's events.

A form starts a run, and a run is stopped, resumed, annotated or deleted; the runs of a browser are found again when
the page opens. All else the page's scripts ask for themselves.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.components.notice import notice_payload
from bertviz_lab.ui.event_options import QUIET, TYPING
from bertviz_lab.ui.forms.training_view import TrainingView
from bertviz_lab.ui.header import strip_of
from bertviz_lab.ui.server.access import MOST_REMEMBERED, existing_runs
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.run_changes import CHANGE_RUN
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.ablation import study

SPACES = ("explore", "train", "runs", "learn")


@dataclass(frozen=True)
class PageEvents:
    """All parts of the page, to be joined once they are drawn."""

    session: AppState
    own: gr.BrowserState  # ids of the runs that a browser started, the newest first
    wire: gr.HTML
    strip: gr.HTML
    tabs: gr.Tabs  # the workspaces
    forms: gr.Tabs  # Pretrain and Fine-tune
    benches: Sequence[TrainingView]

    def join(self, page: gr.Blocks) -> None:
        """Join everything that crosses the border of a workspace."""
        starts = [bench.start for bench in self.benches]
        page.load(self.arrive, self.own, [self.own, self.wire, self.strip, *starts, self.tabs], **QUIET)
        self.wire.go(self.go, None, [self.tabs, self.forms], **TYPING)
        self.wire.change_run(self.change_run, self.own, [self.own, self.wire, self.strip, *starts], **QUIET)
        self.wire.train_ablations(self.train_ablations, self.own, [self.own, self.wire, self.strip], **QUIET)
        for news in (self.strip.run_changed, self.strip.model_saved):
            news(self.refresh_starts, self.own, starts, **QUIET)
        for bench in self.benches:
            bench.button.click(
                partial(self.train, bench),
                [self.own, *bench.inputs],
                [self.own, self.wire, bench.message, self.strip],
                **QUIET,
            ).then(
                None,
                js=f"() => document.querySelector('#{bench.tab}-progress')?.scrollIntoView({{block: 'start'}})",
            )

    # ---- what happens

    def arrive(self, own: Any, request: gr.Request) -> tuple[Any, ...]:
        """A visitor opens the page, perhaps again, perhaps by a link: their runs are found again."""
        own = existing_runs(self.session, own)
        address = request.query_params
        space = "learn" if "lesson" in address else address.get("space")
        tabs = gr.Tabs(selected=space) if space in SPACES else gr.skip()
        strip = strip_of(self.session, self.session.current_run(own))
        return own, wire_payload(own), strip, *self._starts(own), tabs

    def go(self, data: gr.EventData) -> tuple[Any, Any]:
        """A script opens a workspace; in Train perhaps one of its forms."""
        space, form = getattr(data, "space", None), getattr(data, "show", None)
        return (
            gr.Tabs(selected=space) if space in SPACES else gr.skip(),
            gr.Tabs(selected=form) if form in ("pretrain", "finetune") else gr.skip(),
        )

    def train(self, bench: TrainingView, own: Any, *inputs: Any) -> tuple[Any, ...]:
        """Start a run; a form that cannot be used is answered beside the button."""
        own = existing_runs(self.session, own)
        try:
            run_id = bench.begin(*inputs)
        except Exception as error:
            return own, gr.skip(), notice_payload(sentence_of(error, shared=self.session.settings.shared)), gr.skip()
        own = [run_id, *own][:MOST_REMEMBERED]
        return own, wire_payload(own, awaited=run_id), "", strip_of(self.session, run_id)

    def change_run(self, data: gr.EventData, own: Any) -> tuple[Any, ...]:
        """A run is stopped, resumed, annotated or deleted; the answer goes with the next value of the wire."""
        own = existing_runs(self.session, own)
        sent = {name: getattr(data, name, None) for name in CHANGE_RUN.arguments - {"own"}}
        message = error = ""
        try:
            arguments = {name: value for name, value in sent.items() if value is not None}
            message = CHANGE_RUN.ask(self.session, {"own": own, **arguments})
        except Exception as problem:
            error = sentence_of(problem, shared=self.session.settings.shared)
        own = existing_runs(self.session, own)
        answer = {"ticket": str(getattr(data, "ticket", ""))[:40], "message": message, "error": error}
        resumed = sent["action"] == "resume" and not error
        strip = strip_of(self.session, sent["run_id"], mark=f"{time.time():.3f}") if resumed else gr.skip()
        return own, wire_payload(own, answer=answer), strip, *self._starts(own)

    def train_ablations(self, data: gr.EventData, own: Any) -> tuple[Any, ...]:
        """Queue what was ticked in the ablation study: (own runs, wire, strip)."""
        own = existing_runs(self.session, own)
        names, steps, seed = (getattr(data, name, None) for name in ("names", "steps", "seed"))
        started, error = [], ""
        try:
            started = study.queue(self.session, own, names, steps, seed)
        except Exception as problem:
            error = sentence_of(problem, shared=self.session.settings.shared)
        own = [*reversed(started), *own][:MOST_REMEMBERED]
        answer = {"ticket": str(getattr(data, "ticket", ""))[:40], "message": "", "error": error}
        strip = strip_of(self.session, started[0]) if started else gr.skip()
        return own, wire_payload(own, answer=answer), strip

    def refresh_starts(self, own: Any) -> list[Any]:
        """A run has reached another state, or has saved a model: it may be one to start from."""
        return self._starts(existing_runs(self.session, own))

    def _starts(self, own: list[str]) -> list[Any]:
        """The models that the next training can start from."""
        return [gr.update(choices=self.session.models.starts(own)) for _ in self.benches]


def wire_payload(own: Sequence[str], **more: Any) -> str:
    """What scripts are told of a browser's runs: `awaited` is the one whose first model is to be opened, `answer` what
    came of a change.
    """
    return to_json({"own": list(own), **more})
