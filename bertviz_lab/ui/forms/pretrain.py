"""Pretrain: choose a text, see whether it is fit, choose a model, a recipe and a time, press Train, watch."""

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.config import PretrainConfig, parse_duration
from bertviz_lab.config.options import grouped_options, in_page_words
from bertviz_lab.config.pretrain import MAIN
from bertviz_lab.data.corpora.sources import FORMATS
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import facts_payload, message_payload
from bertviz_lab.figures.training.data import health_payload
from bertviz_lab.ui.components.parts import facts, health_cards, notice
from bertviz_lab.ui.event_options import QUIET, TYPING
from bertviz_lab.ui.forms import controls, form, texts
from bertviz_lab.ui.forms.forecast import Forecaster, refuse_large
from bertviz_lab.ui.forms.training_view import TrainingView, limits_line, progress_panel, step, upload_size
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.run_quota import limits_sentence
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import RANDOM

_FILE_TYPES = [*FORMATS, ".zip"]
_FIELDS = {f.name: f for f in dataclasses.fields(PretrainConfig)}
#: What the forecast depends on besides the text.
_FORECAST = (
    "preset layers heads time_budget steps batch_size gradient_accumulation_steps optimizer causal_share "
    "shallow_share share_layers mask_probability dropout precision bidirectional family objective"
).split()


def create_pretrain(session: AppState) -> TrainingView:
    """Draw the tab and join the parts of its form."""
    forecaster = Forecaster(session.settings.limits)
    gr.HTML("<h2>1. Choose a corpus</h2>")
    with gr.Row():
        choices = texts.choices()
        source = gr.Radio(
            choices,
            value=choices[0][1],
            label="Corpus",
            show_label=False,
            container=False,
            scale=3,
            min_width=280,
            elem_id="text-source",
        )
        files = gr.File(
            label=f"Your own text: .txt, .md, .csv, .jsonl or .zip, up to {upload_size(session.settings.limits)}",
            file_count="multiple",
            file_types=_FILE_TYPES,
            scale=2,
            min_width=260,
            height=190,
            elem_id="text-files",
        )
    defaults = form.filled_in("lab", choices[0][1], time_budget=_planned(session))
    advice = controls.advice(texts.about(choices[0][1]), {name: defaults[name] for name in form.BY_TEXT})
    about = facts(advice, label="About this corpus", elem_id="text-about")
    headings = {"above": step("2. Check the corpus"), "below": step("3. Choose a model and train it")}
    health = health_cards(**headings, elem_id="text-health")
    chosen = controls.draw(PretrainConfig, ("preset", "recipe"), defaults)
    chosen["init_from"] = start = gr.Dropdown(
        session.models.starts(NOBODY),
        value=RANDOM,
        label=controls.label_of(_FIELDS["init_from"]),
        info=controls.help_of(_FIELDS["init_from"]),
        filterable=False,
        min_width=280,
        elem_id="option-init_from",
    )
    chosen |= controls.draw(PretrainConfig, ("time_budget",), defaults)
    for title, group in grouped_options(PretrainConfig, "page").items():
        if title != MAIN:
            with gr.Accordion(
                title, open=False, elem_id=f"options-{title.split()[0].lower()}", elem_classes="settings"
            ):
                chosen |= controls.draw(PretrainConfig, [f.name for f in group], defaults)
    forecast = facts(label="Estimated cost", elem_id="forecast")
    limits = session.settings.limits
    limits_line(limits_sentence(limits), elem_id="train-limits")
    train = gr.Button("Train", variant="primary", size="lg", visible=limits.training, elem_id="train")
    message = notice(elem_id="train-message")

    names = tuple(chosen)
    inputs = [source, files, *chosen.values()]
    show = partial(show_text, session, forecaster, names)
    outputs = [health, forecast]
    heavy = {"concurrency_id": "reading", "concurrency_limit": 2}
    recipe = chosen["recipe"]
    files.upload(None, None, source, js=f"() => '{texts.OWN}'", **QUIET)  # at once: Train may be pressed next
    uploaded = gr.on([files.upload, files.clear, files.delete], source_of, [source, files], source, **QUIET)
    by_text = [about, *(chosen[name] for name in form.BY_TEXT)]
    for selected in (source.input, uploaded.then):
        selected(partial(follow_text, session), [recipe, start, source, files, *by_text], by_text, **QUIET).then(
            show, inputs, outputs, **TYPING | heavy
        )
    by_recipe = [about, *(chosen[name] for name in form.BY_RECIPE)]
    brought = [chosen[name] for name in (*form.BROUGHT, "seq_len")]
    by_start = partial(start_chosen, session), [start, chosen["seq_len"], recipe], brought
    recipe.input(partial(follow_recipe, session), [recipe, start, source, files], by_recipe, **QUIET).then(
        *by_start, **QUIET
    )
    start.input(*by_start, **QUIET).then(show, inputs, outputs, **TYPING | heavy)
    # One listener for all of a kind: a recipe changes many at once, and the text is to be read once.
    gr.on([chosen[name].change for name in form.READING], show, inputs, outputs, **TYPING | heavy)
    health.opened(show, inputs, outputs, **TYPING | heavy)
    gr.on(
        [chosen[name].change for name in _FORECAST],
        partial(forecast_line, session, forecaster, names),
        inputs,
        forecast,
        **TYPING | heavy,
    )
    progress_panel("pretrain", "4. Training progress")
    return TrainingView(
        tab="pretrain",
        names=names,
        inputs=inputs,
        begin=partial(begin, session, names),
        start=start,
        button=train,
        message=message,
    )


def begin(session: AppState, names: tuple[str, ...], visitor: Visitor, source: str, files: Any, *values: Any) -> str:
    """Start the run that the form describes; its id. Raises `InputError` for a form that cannot be used."""
    text = texts.chosen(source, files)
    config = form.config_from(session, text, names, values)
    session.quota.check(visitor, config)
    # The report is there already; a text that it refuses is refused here, not by a run that fails.
    report = form.report_of(session, text, names, values)
    start = form.start_of(session, dict(zip(names, values, strict=True)).get("init_from", ""))
    refuse_large(form.model_of(config, start, report.vocab_size), session.settings.limits)
    return session.quota.start(visitor, config, text.files)


def source_of(source: str, files: list[str] | None) -> str:
    """An upload chooses itself."""
    return texts.OWN if files else source


def recommend(
    session: AppState, names: Sequence[str], recipe: str, start: str, source: str, files: list[str] | None
) -> list[Any]:
    """What the recipe and the text that were chosen set: a value for each of `names`."""
    try:
        size = sum(path.stat().st_size for path in texts.chosen(source, files).files)
    except (InputError, OSError):
        size = 0
    settings = form.filled_in(recipe, source, size, _planned(session))
    settings["seq_len"] = min(settings["seq_len"], _longest(session, start))
    return [settings[name] for name in names]


def follow_recipe(session: AppState, recipe: str, start: str, source: str, files: list[str] | None) -> list[Any]:
    """The line about the text, and what a recipe that was chosen sets."""
    settings = dict(zip(form.BY_RECIPE, recommend(session, form.BY_RECIPE, recipe, start, source, files), strict=True))
    advised = {name: settings[name] for name in form.BY_TEXT}
    return [controls.advice(texts.about(source), advised), *settings.values()]


def follow_text(
    session: AppState, recipe: str, start: str, source: str, files: list[str] | None, advice: str, *settings: Any
) -> list[Any]:
    """The line about another text, and what that recommends for BY_TEXT; what a person has set stays."""
    advised = dict(zip(form.BY_TEXT, recommend(session, form.BY_TEXT, recipe, start, source, files), strict=True))
    return [controls.advice(texts.about(source), advised), *controls.followed(settings, advice, advised)]


def _planned(session: AppState) -> str:
    """How long the runs of a workshop are, by which its plans say who trains when; "" without one."""
    settings = session.settings
    return f"{settings.limits.run_seconds / 60:g}m" if settings.workshop else ""


def start_chosen(session: AppState, start: str, seq_len: Any, recipe: str = "") -> list[Any]:
    """What does not apply to a model that brings its own is shown so: an update for each of BROUGHT, and seq_len."""
    brought = () if start in ("", RANDOM) else form.TEACHERS if recipe == form.DISTIL else form.BROUGHT
    bringer = "The teacher" if recipe == form.DISTIL else "The model to start from"
    updates = []
    for name in form.BROUGHT:
        own = name not in brought
        reason = "Not with this model" if name in ("causal_share", "shallow_share") else f"{bringer} brings its own"
        info = controls.help_of(_FIELDS[name]) if own else f"{reason}."
        updates.append(gr.update(interactive=own, info=info))
    length = min(seq_len, _longest(session, start)) if isinstance(seq_len, (int, float)) else seq_len
    return [*updates, gr.update(value=length)]


def _longest(session: AppState, start: str) -> int:
    """Tokens in the longest example that a model takes; more than any setting for one that is built to measure."""
    try:
        model = form.start_of(session, start)
    except InputError:  # the forecast says so
        model = None
    return model.config.max_position_embeddings if model else 10**6


def show_text(
    session: AppState,
    forecaster: Forecaster,
    names: tuple[str, ...],
    source: str,
    files: list[str] | None,
    *values: Any,
) -> Iterator[tuple[str, str]]:
    """The health report of the chosen text, after a word that it is being read; then what training will take."""
    try:
        text = texts.chosen(source, files)
        yield message_payload(f"Reading {text.title} …"), ""
        report = form.report_of(session, text, names, values)
        yield health_payload(report, text.title), ""
        yield health_payload(report, text.title), forecast_line(session, forecaster, names, source, files, *values)
    except Exception as error:  # whatever happens, the page must live on
        sentence = sentence_of(error, shared=session.settings.shared)
        yield message_payload(in_page_words(PretrainConfig, sentence)), ""


def forecast_line(
    session: AppState,
    forecaster: Forecaster,
    names: tuple[str, ...],
    source: str,
    files: list[str] | None,
    *values: Any,
) -> str:
    """How fast this machine will train the chosen model on the chosen text, and how much memory that takes."""
    try:
        text = texts.chosen(source, files)
        config = form.config_from(session, text, names, values)
        report = form.report_of(session, text, names, values)
        start = form.start_of(session, dict(zip(names, values, strict=True)).get("init_from", ""))
        teacher = start.config if start and config.teacher else None
        estimate = forecaster.forecast(config, form.model_of(config, start, report.vocab_size), teacher)
    except InputError as error:
        return facts_payload([], note=in_page_words(PretrainConfig, str(error)), tone="error")
    except Exception as error:
        return facts_payload([], note=sentence_of(error, shared=session.settings.shared), tone="error")
    speed, gigabyte = estimate.tokens_per_second, 2**30
    if config.steps is None:
        tokens = speed * parse_duration(config.time_budget)
        length = config.time_budget
    else:
        tokens = float(config.steps * config.batch_size * config.seq_len)
        length = f"{config.steps:,} steps, about {_duration(tokens / speed)}"
    items = [
        ("Time", length),
        ("Throughput on this machine", f"about {_round(speed):,} tokens a second"),
        ("Epochs over the text", f"about {_times(tokens / max(1, report.tokens))}"),
        (
            "Memory",
            f"about {estimate.memory_bytes / gigabyte:.1f} GB of {estimate.available_bytes / gigabyte:.1f} GB free",
        ),
    ]
    tight = estimate.memory_bytes > estimate.available_bytes
    note = (
        "This is more memory than is free: choose a smaller model or more gradient accumulation steps." if tight else ""
    )
    return facts_payload(items, note=note, tone="error" if tight else "plain")


def _round(number: float) -> int:
    """Two digits are all that an estimate is worth."""
    digits = max(0, len(str(int(number))) - 2)
    return round(number / 10**digits) * 10**digits


def _times(count: float) -> str:
    return f"{count:.1f} times" if count < 10 else f"{count:,.0f} times"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
