"""The path of a visitor across the workspaces: train, follow, reload, stop, resume, open the model.

What is started here changes the rest: the strip, the chart, the lists of runs. Explore follows by itself.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.config import RunConfig
from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui import links
from bertviz_lab.ui.access import MOST_REMEMBERED, existing_runs
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.notice import notice_payload
from bertviz_lab.ui.error_handling import clicked, in_order, sentence_of
from bertviz_lab.ui.rpc import Rpc
from bertviz_lab.ui.run_changes import CHANGE_RUN
from bertviz_lab.ui.run_panel import (
    panel_state,
    refused,
    resume_run,
    run_list,
    show_run,
    stop_run,
    strip_of,
    zip_model,
)
from bertviz_lab.ui.training_view import TrainingView
from bertviz_lab.ui.view_contract import QUIET
from bertviz_lab.ui.views.ablation import study

SPACES = ("explore", "train", "runs", "learn")

_NOT_YOURS = "This run was started by somebody else, who alone can stop or resume it."


@dataclass(frozen=True)
class PageEvents:
    """All parts of the page, to be joined once they are drawn."""

    session: AppState
    own: gr.BrowserState  # ids of the runs that a browser started, the newest first
    wire: gr.HTML
    strip: gr.HTML
    direct: Rpc
    tabs: gr.Tabs
    benches: Sequence[TrainingView]

    def join(self, page: gr.Blocks) -> None:
        """Join everything that crosses the border of a workspace."""
        starts = [bench.start for bench in self.benches]
        panels = [part for bench in self.benches for part in (bench.panel.run, *bench.panel.state_parts)]
        charts = [bench.panel.chart for bench in self.benches]
        shown = [self.own, self.wire, self.strip, *starts, *panels, *charts, self.tabs]
        opened = page.load(self.arrive, self.own, shown, **QUIET)
        self.wire.go(self.go, None, self.tabs, **QUIET)
        self.wire.change_run(self.change_run, self.own, [self.own, self.wire, self.strip, *starts, *panels], **QUIET)
        self.wire.train_ablations(self.train_ablations, self.own, [self.own, self.wire, self.strip], **QUIET)
        runs = [bench.panel.run for bench in self.benches]
        changed = self.strip.run_changed(
            clicked(self.run_changed), [self.own, *runs], [self.wire, *starts, *panels], **QUIET
        )
        saved = self.strip.model_saved(
            clicked(self.run_changed), [self.own, *runs], [self.wire, *starts, *panels], **QUIET
        )
        self.strip.show_run(lambda: gr.Tabs(selected="train"), None, self.tabs, **QUIET)
        for bench in self.benches:
            self._join_bench(bench, opened, changed, saved)

    def _join_bench(self, bench: TrainingView, opened: Any, *news: Any) -> None:
        """The form and the panel of a tab that trains."""
        own, strip, panel = self.own, self.strip, bench.panel
        opened.then(bench.show, list(bench.inputs), list(bench.shown), **QUIET)
        began = bench.button.click(
            partial(self.train, bench),
            [own, *bench.inputs],
            [own, self.wire, bench.message, strip, panel.run, *panel.shown],
            **QUIET,
        )
        began.then(
            None, js=f"() => document.querySelector('#{panel.chart.elem_id}')?.scrollIntoView({{block: 'center'}})"
        )
        chosen = panel.run.input(
            partial(self.show, bench.kind, len(panel.openers)), panel.run, [strip, *panel.shown], **QUIET
        )
        panel.stop.click(self.stop, [own, panel.run], [panel.stop, panel.message], **QUIET)
        panel.resume.click(
            partial(self.resume, bench.kind, len(panel.openers)), [own, panel.run], [strip, *panel.shown], **QUIET
        )
        panel.download.click(self.download, panel.run, [panel.file, panel.message], **QUIET).then(
            None, js=f"() => document.querySelector('#{panel.file.elem_id}')?.click()"
        )
        for button, view in panel.openers:
            place = f"{{ space: 'explore', input: {{ model }}, show: '{view}' }}"
            button.click(None, panel.run, None, js=f"(model) => {{ window.Lab.page.open({place}); }}", **QUIET)
        if bench.results is not None:
            for event in (opened, began, chosen, *news):
                view = bench.results
                shown = self.direct.ask(event.then, in_order(view.draw), view.inputs, view.outputs)
                for part in view.parts:
                    part.follow(shown)

    # ---- what happens

    def arrive(self, own: Any, request: gr.Request) -> tuple[Any, ...]:
        """A visitor opens the page, perhaps again, perhaps by a link: their runs are found again."""
        own = existing_runs(self.session, own)
        current = [self.session.current_run(own, bench.kind) for bench in self.benches]
        shown = [
            show_run(self.session, run_id, bench.kind, len(bench.panel.openers))
            for bench, run_id in zip(self.benches, current, strict=True)
        ]
        panels = [
            part
            for bench, run_id, (_, *state) in zip(self.benches, current, shown, strict=True)
            for part in (run_list(self.session, own, run_id, bench.kind), *state)
        ]
        charts = [chart for chart, *_ in shown]
        address = links.told(request)
        space = "learn" if "lesson" in address else address.get("space")
        tabs = gr.Tabs(selected=space) if space in SPACES else gr.skip()
        strip = strip_of(self.session, self.session.current_run(own))
        return own, wire_payload(own), strip, *self._starts(own), *panels, *charts, tabs

    def go(self, data: gr.EventData) -> Any:
        """A script opens a workspace."""
        space = getattr(data, "space", None)
        return gr.Tabs(selected=space) if space in SPACES else gr.skip()

    def change_run(self, data: gr.EventData, own: Any) -> tuple[Any, ...]:
        """A run is stopped, resumed, annotated or deleted; the answer goes with the next value of the wire."""
        own = existing_runs(self.session, own)
        sent = {name: getattr(data, name, None) for name in CHANGE_RUN.arguments - {"own"}}
        message = error = ""
        try:
            arguments = {name: value for name, value in sent.items() if value is not None}
            message = CHANGE_RUN.ask(self.session, {"own": own, **arguments})
        except Exception as problem:
            error = sentence_of(problem)
        own = existing_runs(self.session, own)
        answer = {"ticket": str(getattr(data, "ticket", ""))[:40], "message": message, "error": error}
        strip = gr.skip()
        if sent["action"] == "resume" and not error:
            strip = strip_of(self.session, sent["run_id"], mark=f"{time.time():.3f}")
        panels = self._panels(own, "", ["" for _ in self.benches])
        return own, wire_payload(own, answer=answer), strip, *self._starts(own), *panels

    def train(self, bench: TrainingView, own: Any, *inputs: Any) -> tuple[Any, ...]:
        """Start a run; a form that cannot be used is answered beside the button."""
        own = existing_runs(self.session, own)
        openers = len(bench.panel.openers)
        try:
            run_id = bench.begin(*inputs)
        except Exception as error:
            return (own, gr.skip(), notice_payload(sentence_of(error)), *(gr.skip(),) * (openers + 7))
        own = [run_id, *own][:MOST_REMEMBERED]
        runs = run_list(self.session, own, run_id, bench.kind)
        return (
            own,
            wire_payload(own, awaited=run_id),
            "",
            strip_of(self.session, run_id),
            runs,
            *show_run(self.session, run_id, bench.kind, openers),
        )

    def train_ablations(self, data: gr.EventData, own: Any) -> tuple[Any, ...]:
        """Queue what was ticked in the ablation study: (own runs, wire, strip)."""
        own = existing_runs(self.session, own)
        names, steps, seed = (getattr(data, name, None) for name in ("names", "steps", "seed"))
        started, error = [], ""
        try:
            started = study.queue(self.session, own, names, steps, seed)
        except Exception as problem:
            error = sentence_of(problem)
        own = [*reversed(started), *own][:MOST_REMEMBERED]
        answer = {"ticket": str(getattr(data, "ticket", ""))[:40], "message": "", "error": error}
        strip = strip_of(self.session, started[0]) if started else gr.skip()
        return own, wire_payload(own, answer=answer), strip

    def show(self, kind: type[RunConfig], openers: int, run_id: str | None) -> tuple[Any, ...]:
        """Another run was chosen to be looked at."""
        return strip_of(self.session, run_id), *show_run(self.session, run_id, kind, openers)

    def stop(self, own: Any, run_id: str | None) -> tuple[Any, str]:
        """The stop button."""
        if not self._may_change(own, run_id):
            return gr.skip(), notice_payload(_NOT_YOURS)
        return stop_run(self.session, run_id)

    def resume(self, kind: type[RunConfig], openers: int, own: Any, run_id: str | None) -> tuple[Any, ...]:
        """The button to resume."""
        if not self._may_change(own, run_id):
            return refused(_NOT_YOURS, openers)
        return resume_run(self.session, run_id, kind, openers)

    def _may_change(self, own: Any, run_id: str | None) -> bool:
        """Whether a visitor has a say over a run: a link to a model lets others look at it, no more."""
        return not self.session.settings.shared or run_id in existing_runs(self.session, own)

    def download(self, run_id: str | None) -> tuple[Any, Any]:
        """The button to download."""
        return zip_model(self.session, run_id)

    def run_changed(self, data: dict[str, Any], own: Any, *shown: str | None) -> tuple[Any, ...]:
        """A run has reached another state, or has saved a model: lists and buttons follow."""
        own = existing_runs(self.session, own)
        return wire_payload(own), *self._starts(own), *self._panels(own, str(data.get("run_id", "")), shown)

    def _panels(self, own: list[str], run_id: str, shown: Sequence[str | None]) -> list[Any]:
        """For each bench its list of runs and its buttons; where none is shown yet, those of the run with the news."""
        panels: list[Any] = []
        for bench, current in zip(self.benches, shown, strict=True):
            run = current or (run_id if self.session.is_kind(run_id, bench.kind) else "")
            panels.append(run_list(self.session, own, run, bench.kind))
            panels.extend(panel_state(self.session, run, len(bench.panel.openers)))
        return panels

    def _starts(self, own: list[str]) -> list[Any]:
        """The models that the next training can start from."""
        return [gr.update(choices=self.session.models.starts(own)) for _ in self.benches]


def wire_payload(own: Sequence[str], **more: Any) -> str:
    """What scripts are told of a browser's runs; `awaited` is the one whose first model is to be opened."""
    return to_json({"own": list(own), **more})
