"""The path of a visitor across the page: train, follow, reload, stop, go on, open the model.

What one part of the page starts here changes the others: the picker, the strip, the chart, every tab.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.ui import form, links, texts
from bertviz_lab.ui.answers import clicked, in_order, sentence_of
from bertviz_lab.ui.components.notice import notice_payload
from bertviz_lab.ui.header import Header, describe
from bertviz_lab.ui.models import newest_model
from bertviz_lab.ui.second import second_choices
from bertviz_lab.ui.session import Session
from bertviz_lab.ui.tabs.pretrain import PretrainForm
from bertviz_lab.ui.tabs.running import RunPanel, panel_state, resume_run, run_list, show_run, stop_run, zip_model
from bertviz_lab.ui.wiring import QUIET, Tab

_MOST_REMEMBERED = 50  # runs of one browser
_NOT_YOURS = "This run was started by somebody else, who alone can stop it or let it go on."
_CLICK_THE_FILE = "() => document.querySelector('#run-file')?.click()"


@dataclass(frozen=True)
class Memory:
    """What a visitor's browser remembers between visits."""

    own: gr.BrowserState  # ids of the runs that it started, the newest first
    model: gr.BrowserState  # the model that was chosen last
    awaited: gr.BrowserState  # the run whose first model is to be chosen as soon as there is one


@dataclass(frozen=True)
class Story:
    """All parts of the page, to be joined once they are drawn."""

    session: Session
    memory: Memory
    header: Header
    tabs: gr.Tabs
    looking: Sequence[Tab]
    form: PretrainForm
    panel: RunPanel

    def join(self, page: gr.Blocks) -> None:
        """Join everything that crosses the border of a tab."""
        own, model, awaited = self.memory.own, self.memory.model, self.memory.awaited
        picker, strip = self.header.picker, self.header.strip
        panel = self.panel
        shown = [panel.chart, strip, *panel.state_parts]

        offers = [self.form.start, *self._seconds()]
        fields = [component for tab in self.looking for component in tab.fields.values()]
        parts = [part for tab in self.looking for part in tab.parts]
        folds = [component for part in parts for component in (part.accordion, part.is_open)]
        opened = page.load(
            self.arrive,
            [own, model, awaited],
            [own, awaited, picker, *offers, panel.run, *shown, self.tabs, *fields, *folds],
            **QUIET,
        )
        self._refresh(opened)
        opened.then(self.form.show_text, self.form.inputs, self.form.text_outputs, **QUIET)
        self._refresh(picker.input(self.remember, picker, model, **QUIET))
        self.header.train.click(lambda: gr.Tabs(selected="pretrain"), None, self.tabs, **QUIET)

        self.form.train.click(
            self.train, [own, *self.form.inputs], [own, awaited, self.form.message, panel.run, *shown], **QUIET
        ).then(None, js="() => document.querySelector('#loss-chart')?.scrollIntoView({block: 'center'})")
        panel.run.input(self.show, panel.run, shown, **QUIET)
        panel.stop.click(self.stop, [own, panel.run], [panel.stop, panel.message], **QUIET)
        panel.resume.click(self.resume, [own, panel.run], shown, **QUIET)
        panel.download.click(self.download, panel.run, [panel.file, panel.message], **QUIET).then(
            None, js=_CLICK_THE_FILE
        )
        for button, tab in ((panel.open_fill, "fill"), (panel.open_attention, "attention")):
            self._refresh(
                button.click(
                    lambda run_id, tab=tab: (run_id, run_id, gr.Tabs(selected=tab)),
                    panel.run,
                    [picker, model, self.tabs],
                    **QUIET,
                )
            )

        strip.show_run(lambda: gr.Tabs(selected="pretrain"), None, self.tabs, **QUIET)
        strip.run_changed(
            clicked(self.run_changed),
            [own, panel.run, picker],
            [picker, *offers, panel.run, *panel.state_parts],
            **QUIET,
        )
        self._refresh(
            strip.model_saved(
                clicked(self.model_saved),
                [own, awaited, panel.run, picker],
                [picker, model, awaited, *offers, panel.run, *panel.state_parts],
                **QUIET,
            )
        )

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
        run_id = self.session.current_run(own)
        choices = self.session.models.choices(own)
        if awaited in own and newest_model(self.session.runs.folder(awaited)):
            model, awaited = awaited, ""  # its first model came while nobody was looking
        said = links.told(request)
        remembered = isinstance(model, str) and model in [name for _, name in choices]
        chosen = said.get("model") or (model if remembered else self.session.models.default(own))
        picker = gr.update(choices=choices, value=chosen or None)
        runs = run_list(self.session, own, run_id)
        known = said.get("tab") in [tab.id for tab in self.looking]
        opened = gr.Tabs(selected=said["tab"]) if known else gr.skip()
        fields = [update for tab in self.looking for update in links.field_updates(said, tab.id, tab.fields)]
        meant = [
            (said.get("tab"), said.get("part")) == (tab.id, part.name) for tab in self.looking for part in tab.parts
        ]
        folds = [update for mine in meant for update in ((gr.Accordion(open=True), True) if mine else (gr.skip(),) * 2)]
        answer = (own, awaited, picker, *self._offers(own), runs, *show_run(self.session, run_id))
        return *answer, opened, *fields, *folds

    def remember(self, model: Any) -> str:
        """Keep the choice for the next visit."""
        return model if isinstance(model, str) else ""

    def train(self, own: Any, source: str, files: Any, *values: Any) -> tuple[Any, ...]:
        """Start a run; a form that cannot be used is answered beside the button."""
        own = self._existing(own)
        try:
            text = texts.chosen(source, files)
            config = form.config_from(self.session, text, self.form.names, values)
            # The report is there already; a text that it refuses is refused here, not by a run that fails.
            form.report_of(self.session, text, self.form.names, values)
            run_id = self.session.runs.start(config, text.files)
        except Exception as error:
            return (own, gr.skip(), notice_payload(sentence_of(error)), *(gr.skip(),) * 9)
        own = [run_id, *own][:_MOST_REMEMBERED]
        return own, run_id, "", run_list(self.session, own, run_id), *show_run(self.session, run_id)

    def show(self, run_id: str | None) -> tuple[Any, ...]:
        """Another run was chosen to be looked at."""
        return show_run(self.session, run_id)

    def stop(self, own: Any, run_id: str | None) -> tuple[Any, str]:
        """The stop button."""
        if not self._may_change(own, run_id):
            return gr.skip(), notice_payload(_NOT_YOURS)
        return stop_run(self.session, run_id)

    def resume(self, own: Any, run_id: str | None) -> tuple[Any, ...]:
        """The button to go on."""
        if not self._may_change(own, run_id):
            return (gr.skip(),) * 7 + (notice_payload(_NOT_YOURS),)
        return resume_run(self.session, run_id)

    def _may_change(self, own: Any, run_id: str | None) -> bool:
        """Whether a visitor has a say over a run: a link to a model lets others look at it, no more."""
        return not self.session.settings.shared or run_id in self._existing(own)

    def download(self, run_id: str | None) -> tuple[Any, Any]:
        """The button to download."""
        return zip_model(self.session, run_id)

    def run_changed(self, data: dict[str, Any], own: Any, shown: str | None, model: Any) -> tuple[Any, ...]:
        """A run has reached another state: lists and buttons follow."""
        own = self._existing(own)
        run_id = str(data.get("run_id", ""))
        picker = gr.update(choices=self.session.models.choices(own), value=model)
        runs = run_list(self.session, own, shown or run_id)
        return picker, *self._offers(own), runs, *panel_state(self.session, shown or run_id)

    def model_saved(
        self, data: dict[str, Any], own: Any, awaited: Any, shown: str | None, model: Any
    ) -> tuple[Any, ...]:
        """A run has saved a model; the first one of a run is chosen in the picker at once."""
        own = self._existing(own)
        run_id = str(data.get("run_id", ""))
        comes = bool(run_id) and run_id == awaited
        chosen = run_id if comes else model
        picker = gr.update(choices=self.session.models.choices(own), value=chosen)
        runs = run_list(self.session, own, shown or run_id)
        awaited = "" if comes else awaited
        return picker, chosen or "", awaited, *self._offers(own), runs, *panel_state(self.session, shown or run_id)

    def _seconds(self) -> list[gr.Dropdown]:
        return [tab.second for tab in self.looking if tab.second is not None]

    def _offers(self, own: list[str]) -> list[Any]:
        """The models that the next training can start from, and for each comparison those that it can be with."""
        choices = second_choices(self.session.models.choices(own))
        return [gr.update(choices=self.session.models.starts(own)), *(choices for _ in self._seconds())]

    def _existing(self, own: Any) -> list[str]:
        """The remembered runs that are still there; what a browser sends may be anything."""
        ids = [run_id for run_id in own if isinstance(run_id, str)] if isinstance(own, list) else []
        return [run_id for run_id in ids[:_MOST_REMEMBERED] if self.session.models.is_run(run_id)]
