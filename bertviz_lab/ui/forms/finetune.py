"""Fine-tune: choose labelled examples, see how they were read, choose a model, press Fine-tune, watch, look closer."""

import dataclasses
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.config import BertConfig, FinetuneConfig
from bertviz_lab.config.finetune import MAIN, PARSING
from bertviz_lab.config.finetune import RANDOM as RANDOM_START
from bertviz_lab.config.options import grouped_options
from bertviz_lab.figures.payload import Payload, facts_payload, message_payload
from bertviz_lab.figures.training.data import charts_payload, preview_payload
from bertviz_lab.ui.components.parts import data_charts, data_preview, facts, notice
from bertviz_lab.ui.event_options import QUIET, TYPING
from bertviz_lab.ui.forms import controls, task_form
from bertviz_lab.ui.forms.forecast import refuse_large
from bertviz_lab.ui.forms.texts import OWN
from bertviz_lab.ui.forms.training_view import TrainingView, limits_line, progress_panel, step, upload_size
from bertviz_lab.ui.server.error_handling import in_order, sentence_of
from bertviz_lab.ui.server.run_quota import limits_sentence
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import RANDOM

_FIELDS = {f.name: f for f in dataclasses.fields(FinetuneConfig)}
_COLUMNS = ("text_a", "text_b", "label")


def create_finetune(session: AppState) -> TrainingView:
    """Draw the tab and join the parts of its form."""
    first = task_form.choices()[0][1]
    gr.HTML("<h2>1. Choose a labeled data set</h2>")
    with gr.Row():
        with gr.Column(scale=3, min_width=280):
            source = gr.Radio(
                task_form.choices(),
                value=first,
                label="Data set",
                show_label=False,
                container=False,
                elem_id="examples-source",
            )
            defaults = task_form.suited(first)
            advice = controls.advice(task_form.about(first), defaults)
            about = facts(advice, label="About this data set", elem_id="examples-about")
        size = upload_size(session.settings.limits)
        files = _upload(f"Training file: a table, CoNLL or SQuAD, up to {size}", "examples-files")
        scored = _upload("Validation file (optional)", "examples-scored")
    preview = data_preview(above=step("2. Check the data"), elem_id="examples-preview")
    data_facts = facts(label="Data set statistics", elem_id="examples-facts")
    drawn: dict[str, Any] = {}
    charts = data_charts(elem_id="examples-charts")
    with gr.Accordion("Parsing options", open=False, elem_id="examples-reading", elem_classes="settings"):
        drawn |= _reading_controls(defaults)
    gr.HTML("<h2>3. Choose a model and fine-tune it</h2>")
    drawn["model"] = start = gr.Dropdown(
        session.models.starts(NOBODY),
        value=session.models.default() or RANDOM,
        label=controls.label_of(_FIELDS["model"]),
        info=controls.help_of(_FIELDS["model"]),
        filterable=False,
        min_width=280,
        elem_id="tuning-model",
    )
    drawn |= controls.draw(FinetuneConfig, ("epochs", "seeds"), defaults, prefix="tuning")
    drawn |= controls.draw(FinetuneConfig, ("random_baseline",), defaults, prefix="tuning")
    for title, group in grouped_options(FinetuneConfig, "page").items():
        if title not in (MAIN, PARSING):
            with gr.Accordion(title, open=False, elem_id=f"tuning-{title.split()[0].lower()}", elem_classes="settings"):
                drawn |= controls.draw(FinetuneConfig, [f.name for f in group], defaults, prefix="tuning")
    limits = session.settings.limits
    examples = f"{limits.run_examples:,} examples over all epochs"
    limits_line(limits_sentence(limits, examples), elem_id="tune-limits")
    button = gr.Button("Fine-tune", variant="primary", size="lg", visible=limits.training, elem_id="tune")
    message = notice(elem_id="tune-message")
    progress_panel("finetune", "4. Training progress and results")

    names = tuple(drawn)
    inputs = [source, files, scored, *drawn.values()]
    columns = [drawn[name] for name in _COLUMNS]
    suited = [about, *(drawn[name] for name in task_form.SUITED)]
    shown = [preview, data_facts, charts, *columns]
    heavy = {"concurrency_id": "reading", "concurrency_limit": 2}
    # One answer, not the steps that lead to it: now and then a page was left with the first of them.
    show = in_order(partial(show_examples, session, names))
    files.upload(None, None, source, js=f"() => '{OWN}'", **QUIET)  # at once: Fine-tune may be pressed next
    selected = [
        source.input(partial(task_form.start_for, session), [source, start], start, **QUIET),
        gr.on([files.upload, files.clear, files.delete], source_of, [source, files], source, **QUIET),
    ]
    for selection in selected:
        recommended = selection.then(recommend, [source, *suited], [*suited, *columns], **QUIET)
        recommended.then(show, inputs, shown, **TYPING | heavy)
    settings = [drawn[name].change for name in (*task_form.READING, "model", "max_length")]
    gr.on([scored.upload, scored.clear, scored.delete, *settings], show, inputs, shown, **TYPING | heavy)
    preview.opened(show, inputs, shown, **TYPING | heavy)
    preview.column_select(take_column, columns[-1:], columns, **QUIET)  # which is a change of settings
    return TrainingView(
        tab="finetune",
        names=names,
        inputs=inputs,
        begin=partial(begin, session, names),
        start=start,
        button=button,
        message=message,
    )


def _upload(label: str, elem_id: str) -> gr.File:
    # Any ending is welcome: published data sets have endings such as .annotated or .all, and the content is looked at.
    return gr.File(
        label=label,
        file_count="multiple",
        scale=2,
        min_width=220,
        height=190,
        elem_id=elem_id,
    )


def _reading_controls(defaults: dict[str, Any]) -> dict[str, Any]:
    """How files are read: columns by name where a file has such, the rest as any setting."""
    drawn = controls.draw(FinetuneConfig, ("task",), defaults, prefix="tuning")
    for name in _COLUMNS:
        drawn[name] = gr.Dropdown(
            [],
            value="",
            label=controls.label_of(_FIELDS[name]),
            info=controls.help_of(_FIELDS[name]),
            allow_custom_value=True,
            min_width=240,
            elem_id=f"tuning-{name}",
        )
    rest = [name for name in task_form.READING if name not in drawn and name != "seed"]
    return drawn | controls.draw(FinetuneConfig, rest, defaults, prefix="tuning")


def begin(
    session: AppState, names: tuple[str, ...], visitor: Visitor, source: str, files: Any, scored: Any, *values: Any
) -> str:
    """Start the run that the form describes; its id. Raises `InputError` for a form that cannot be used."""
    data_set = task_form.chosen(source, files, scored)
    config = task_form.config_from(session, data_set, names, values)
    session.quota.check(visitor, config)
    report = task_form.examine(session, config, _start(names, values)).report  # refused here, not by a run that fails
    from bertviz_lab.training.finetuning.trials import trials_of  # brings torch, which the first page does without

    if config.model == RANDOM_START:
        refuse_large(BertConfig.preset(config.preset, vocab_size=config.vocab_size), session.settings.limits)
    session.quota.check_examples(sum(trial.epochs for trial in trials_of(config, 1.0)) * report.train_count)
    return session.quota.start(visitor, config, data_set.files, data_set.scored)


def source_of(source: str, files: Any) -> str:
    """An upload chooses itself."""
    return OWN if files else source


def recommend(source: str, advice: str, *settings: Any) -> list[Any]:
    """The line about other examples, what suits them in place of the `settings` that nobody has set, and no columns:
    these are to be guessed anew.
    """
    advised = task_form.suited(source)
    followed = controls.followed(settings, advice, advised)
    return [controls.advice(task_form.about(source), advised), *followed, *("" for _ in _COLUMNS)]


def take_column(data: gr.EventData, label: str) -> tuple[Any, Any, str]:
    """A column's name was pressed: it becomes the label, or the text where it was the label."""
    name = str(getattr(data, "name", ""))
    return (name, gr.skip(), "") if name == label else (gr.skip(), gr.skip(), name)


def show_examples(
    session: AppState, names: tuple[str, ...], source: str, files: Any, scored: Any, *values: Any
) -> tuple[Any, ...]:
    """The first rows with the guess, the examples in numbers and as charts, and the columns to choose from."""
    try:
        labelled = task_form.chosen(source, files, scored)
        examined = _examined(session, labelled, names, values)
    except Exception as error:  # whatever happens, the page must live on
        sentence = sentence_of(error, shared=session.settings.shared)
        rows = _rows_to_choose_from(session, names, source, files, scored, values)
        told = facts_payload([], note=sentence, tone="error") if rows else ""
        return rows or message_payload(sentence), told, "", *(gr.skip() for _ in _COLUMNS)
    info, report = examined.file, examined.report
    rows = preview_payload(info, examined.first)
    return rows, _numbers(report), charts_payload(report), *_column_updates(info)


def _examined(
    session: AppState, labelled: task_form.LabelledSource, names: tuple[str, ...], values: tuple[Any, ...]
) -> Any:
    config = task_form.config_from(session, labelled, names, values)
    return task_form.examine(session, config, _start(names, values))


def _rows_to_choose_from(
    session: AppState, names: tuple[str, ...], source: str, files: Any, scored: Any, values: tuple[Any, ...]
) -> Payload | None:
    """The first rows under columns that were chosen but cannot be used: their names are what takes that back.

    None where the file cannot be read with the columns that are guessed either.
    """
    given = dict(zip(names, values, strict=True))
    chosen = {name: given[name] for name in _COLUMNS if given.get(name)}
    if not chosen:
        return None
    guessing = tuple("" if name in _COLUMNS else value for name, value in given.items())
    try:
        examined = _examined(session, task_form.chosen(source, files, scored), names, guessing)
    except Exception:  # which is told already
        return None
    guessed = {name: getattr(examined.file, name) for name in _COLUMNS}
    roles = {name: "" if column in chosen.values() else column for name, column in guessed.items()} | chosen
    return preview_payload(dataclasses.replace(examined.file, **roles), examined.first)


def _start(names: tuple[str, ...], values: tuple[Any, ...]) -> str:
    return str(dict(zip(names, values, strict=True)).get("model") or RANDOM)


def _column_updates(info: Any) -> list[Any]:
    """The columns that the file has, with those chosen that were recognised."""
    updates = []
    for name in _COLUMNS:
        choices = [("auto", ""), *(("none", "none") for _ in range(name == "text_b"))]
        choices += [(column, column) for column in info.columns]
        updates.append(gr.update(choices=choices))
    return updates


_TASKS = {
    "classification": "Sequence classification: a label per text",
    "multilabel": "Multi-label classification: any number of labels per text",
    "regression": "Regression: a number per text",
    "tokens": "Token classification (NER): a label per word",
    "qa": "Extractive question answering",
    "embeddings": "Sentence embeddings: a vector per text",
}


def _numbers(report: Any) -> str:
    """Data set statistics, and what should be known about them."""
    items = [
        ("Task", _TASKS[report.task]),
        ("Training examples", f"{report.train_count:,}"),
        ("Held-out examples", f"{report.held_count:,}"),
    ]
    if report.task in ("classification", "multilabel", "tokens"):
        items.append(("Labels", f"{len(report.classes):,}"))
    items.append(("Tokens, median", f"{report.lengths.median:.0f}"))
    if report.lengths.cut:
        items.append(("Truncated or split", f"{report.lengths.cut:,}"))
    for what, count in (
        ("Duplicates", report.duplicates),
        ("Contradictory labels", report.contradictions),
        ("Leaked into training", report.overlap),
        ("Rows dropped", sum(dropped.count for dropped in report.dropped)),
    ):
        if count:
            items.append((what, f"{count:,}"))
    return facts_payload(items, note=" ".join(report.notes))
