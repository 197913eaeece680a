"""The path of a visitor across the page: train, follow, reload, stop, go on, open the model.

What one part of the page starts here changes the others: the picker, the strip, the chart, every tab.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.config import RunConfig
from bertviz_lab.ui import links
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.comparison_model import second_choices
from bertviz_lab.ui.components.notice import notice_payload
from bertviz_lab.ui.error_handling import clicked, in_order, picked, sentence_of
from bertviz_lab.ui.header import Header, describe
from bertviz_lab.ui.models import newest_model
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
from bertviz_lab.ui.tabs.learn import Learn
from bertviz_lab.ui.training_view import TrainingView
from bertviz_lab.ui.view_contract import QUIET, Tab

_MOST_REMEMBERED = 50  # runs of one browser
_NOT_YOURS = "This run was started by somebody else, who alone can stop or resume it."


@dataclass(frozen=True)
class BrowserMemory:
    """What a visitor's browser remembers between visits."""

    own: gr.BrowserState  # ids of the runs that it started, the newest first
    model: gr.BrowserState  # the model that was chosen last
    awaited: gr.BrowserState  # the run whose first model is to be chosen as soon as there is one


@dataclass(frozen=True)
class PageEvents:
    """All parts of the page, to be joined once they are drawn."""

    session: AppState
    memory: BrowserMemory
    header: Header
    tabs: gr.Tabs
    looking: Sequence[Tab]
    benches: Sequence[TrainingView]
    learn: Learn | None = None

    def join(self, page: gr.Blocks) -> None:
        """Join everything that crosses the border of a tab."""
        own, model, awaited = self.memory.own, self.memory.model, self.memory.awaited
        picker, strip = self.header.picker, self.header.strip
        offers = [*(bench.start for bench in self.benches), *self._seconds()]
        panels = [part for bench in self.benches for part in (bench.panel.run, *bench.panel.state_parts)]
        fields = [component for tab in self.looking for component in tab.fields.values()]
        folds = [part for tab in self.looking for fold in tab.parts for part in (fold.accordion, fold.is_open)]
        charts = [bench.panel.chart for bench in self.benches]
        opened = page.load(
            self.arrive,
            [own, model, awaited],
            [own, awaited, picker, strip, *offers, *panels, *charts, self.tabs, *fields, *folds],
            **QUIET,
        )
        self._refresh(opened)
        self._refresh(picker.input(self.remember, picker, model, **QUIET))
        for tab in self.looking:
            if tab.others is not None:
                self._refresh(tab.others.pick(clicked(self.pick_model), None, [picker, model], **QUIET))
        if self.learn is not None:
            self.learn.join(self.tabs, picker, self.looking, self._refresh)
        self.header.train.click(lambda: gr.Tabs(selected="pretrain"), None, self.tabs, **QUIET)
        changed = strip.run_changed(
            clicked(self.run_changed),
            [own, picker, *(bench.panel.run for bench in self.benches)],
            [picker, *offers, *panels],
            **QUIET,
        )
        saved = strip.model_saved(
            clicked(self.model_saved),
            [own, awaited, picker, *(bench.panel.run for bench in self.benches)],
            [picker, model, awaited, *offers, *panels],
            **QUIET,
        )
        self._refresh(saved)
        strip.show_run(clicked(self.show_tab), None, self.tabs, **QUIET)
        for bench in self.benches:
            self._join_bench(bench, opened, changed, saved)

    def _join_bench(self, bench: TrainingView, opened: Any, *news: Any) -> None:
        """The form and the panel of a tab that trains."""
        own, model, awaited = self.memory.own, self.memory.model, self.memory.awaited
        picker, strip, panel = self.header.picker, self.header.strip, bench.panel
        opened.then(bench.show, list(bench.inputs), list(bench.shown), **QUIET)
        began = bench.button.click(
            partial(self.train, bench),
            [own, *bench.inputs],
            [own, awaited, bench.message, strip, panel.run, *panel.shown],
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
        for button, tab in panel.openers:
            self._refresh(
                button.click(
                    lambda run_id, tab=tab: (run_id, run_id, gr.Tabs(selected=tab)),
                    panel.run,
                    [picker, model, self.tabs],
                    **QUIET,
                )
            )
        if bench.results is not None:
            for event in (opened, began, chosen, *news):
                view = bench.results
                shown = self.header.direct.ask(event.then, in_order(view.draw), view.inputs, view.outputs)
                for part in view.parts:
                    part.follow(shown)

    def _refresh(self, start: Any) -> None:
        """After `start`, say what the chosen model is and show it in every tab."""
        picker = self.header.picker
        direct = self.header.direct
        direct.ask(start.then, in_order(partial(describe, self.session)), [picker], self.header.about)
        for tab in self.looking:
            shown = direct.ask(
                start.then,
                in_order(lambda model, *inputs, tab=tab: tab.follow_model(model or "", *inputs)),
                [picker, *tab.inputs],
                tab.outputs,
            )
            for part in tab.parts:
                part.follow(shown)

    # ---- what happens

    def arrive(self, own: Any, model: Any, awaited: Any, request: gr.Request) -> tuple[Any, ...]:
        """A visitor opens the page, perhaps again, perhaps by a link: runs, model and texts are found again."""
        own = self._existing(own)
        choices = self.session.models.choices(own)
        if awaited in own and newest_model(self.session.runs.folder(awaited)):
            model, awaited = awaited, ""  # its first model came while nobody was looking
        said = links.told(request)
        remembered = isinstance(model, str) and model in [name for _, name in choices]
        chosen = said.get("model") or (model if remembered else self.session.models.default(own))
        picker = gr.update(choices=choices, value=chosen or None)
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
        known = said.get("tab") in ["compare", *(tab.id for tab in self.looking)]
        opened = (
            gr.Tabs(selected="learn" if "lesson" in said else said["tab"]) if known or "lesson" in said else gr.skip()
        )
        fields = [update for tab in self.looking for update in links.field_updates(said, tab.id, tab.fields)]
        meant = [
            (said.get("tab"), said.get("part")) == (tab.id, part.name) for tab in self.looking for part in tab.parts
        ]
        folds = [update for mine in meant for update in ((gr.Accordion(open=True), True) if mine else (gr.skip(),) * 2)]
        strip = strip_of(self.session, self.session.current_run(own))
        return own, awaited, picker, strip, *self._offers(own), *panels, *charts, opened, *fields, *folds

    def remember(self, model: Any) -> str:
        """Keep the choice for the next visit."""
        return model if isinstance(model, str) else ""

    def train(self, bench: TrainingView, own: Any, *inputs: Any) -> tuple[Any, ...]:
        """Start a run; a form that cannot be used is answered beside the button."""
        own = self._existing(own)
        openers = len(bench.panel.openers)
        try:
            run_id = bench.begin(*inputs)
        except Exception as error:
            return (own, gr.skip(), notice_payload(sentence_of(error)), *(gr.skip(),) * (openers + 7))
        own = [run_id, *own][:_MOST_REMEMBERED]
        runs = run_list(self.session, own, run_id, bench.kind)
        return (
            own,
            run_id,
            "",
            strip_of(self.session, run_id),
            runs,
            *show_run(self.session, run_id, bench.kind, openers),
        )

    def show(self, kind: type[RunConfig], openers: int, run_id: str | None) -> tuple[Any, ...]:
        """Another run was chosen to be looked at."""
        return strip_of(self.session, run_id), *show_run(self.session, run_id, kind, openers)

    def show_tab(self, data: dict[str, Any]) -> Any:
        """The tab in which a run is watched."""
        run_id = str(data.get("run_id", ""))
        found = [bench.tab for bench in self.benches if self.session.is_kind(run_id, bench.kind)]
        return gr.Tabs(selected=found[0]) if found else gr.skip()

    def stop(self, own: Any, run_id: str | None) -> tuple[Any, str]:
        """The stop button."""
        if not self._may_change(own, run_id):
            return gr.skip(), notice_payload(_NOT_YOURS)
        return stop_run(self.session, run_id)

    def resume(self, kind: type[RunConfig], openers: int, own: Any, run_id: str | None) -> tuple[Any, ...]:
        """The button to go on."""
        if not self._may_change(own, run_id):
            return refused(_NOT_YOURS, openers)
        return resume_run(self.session, run_id, kind, openers)

    def pick_model(self, data: dict[str, Any]) -> tuple[Any, Any]:
        """A chip that stands for a model which comes with the lab was pressed."""
        _, name = picked(data, 2)
        return (name, name) if name in self.session.models.shipped() else (gr.skip(), gr.skip())

    def _may_change(self, own: Any, run_id: str | None) -> bool:
        """Whether a visitor has a say over a run: a link to a model lets others look at it, no more."""
        return not self.session.settings.shared or run_id in self._existing(own)

    def download(self, run_id: str | None) -> tuple[Any, Any]:
        """The button to download."""
        return zip_model(self.session, run_id)

    def run_changed(self, data: dict[str, Any], own: Any, model: Any, *shown: str | None) -> tuple[Any, ...]:
        """A run has reached another state: lists and buttons follow."""
        own = self._existing(own)
        picker = gr.update(choices=self.session.models.choices(own), value=model)
        return picker, *self._offers(own), *self._panels(own, str(data.get("run_id", "")), shown)

    def model_saved(
        self, data: dict[str, Any], own: Any, awaited: Any, model: Any, *shown: str | None
    ) -> tuple[Any, ...]:
        """A run has saved a model; the first one of a run is chosen in the picker at once."""
        own = self._existing(own)
        run_id = str(data.get("run_id", ""))
        comes = bool(run_id) and run_id == awaited
        chosen = run_id if comes else model
        picker = gr.update(choices=self.session.models.choices(own), value=chosen)
        awaited = "" if comes else awaited
        return picker, chosen or "", awaited, *self._offers(own), *self._panels(own, run_id, shown)

    def _panels(self, own: list[str], run_id: str, shown: Sequence[str | None]) -> list[Any]:
        """For each bench its list of runs and its buttons; where none is shown yet, those of the run with the news."""
        found: list[Any] = []
        for bench, current in zip(self.benches, shown, strict=True):
            run = current or (run_id if self.session.is_kind(run_id, bench.kind) else "")
            found.append(run_list(self.session, own, run, bench.kind))
            found.extend(panel_state(self.session, run, len(bench.panel.openers)))
        return found

    def _seconds(self) -> list[gr.Dropdown]:
        return [tab.second for tab in self.looking if tab.second is not None]

    def _offers(self, own: list[str]) -> list[Any]:
        """The models that the next training can start from, and for each comparison those that it can be with."""
        choices = second_choices(self.session.models.choices(own))
        starts = gr.update(choices=self.session.models.starts(own))
        return [*(starts for _ in self.benches), *(choices for _ in self._seconds())]

    def _existing(self, own: Any) -> list[str]:
        """The remembered runs that are still there; what a browser sends may be anything."""
        ids = [run_id for run_id in own if isinstance(run_id, str)] if isinstance(own, list) else []
        return [run_id for run_id in ids[:_MOST_REMEMBERED] if self.session.models.is_run(run_id)]
