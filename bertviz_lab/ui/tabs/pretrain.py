"""Pretrain, the upper half: choose a text, see whether it is fit, choose size and time, press Train."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from bertviz_lab.config import PretrainConfig, parse_duration
from bertviz_lab.data.readers.sources import FORMATS
from bertviz_lab.errors import InputError
from bertviz_lab.figures.health import health_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui import controls, texts
from bertviz_lab.ui.components.facts import facts, facts_payload
from bertviz_lab.ui.components.health_cards import health_cards
from bertviz_lab.ui.components.notice import notice
from bertviz_lab.ui.forecast import Forecaster
from bertviz_lab.ui.session import Session
from bertviz_lab.ui.wiring import QUIET, TYPING, sentence_of

_FILE_TYPES = [*FORMATS, ".zip"]
#: A folder of the server, and how many of its cores are used, are not a visitor's to choose.
_NOT_ON_THE_PAGE = ("corpus", "tokenizer", "threads")
_IN_VIEW = ("preset", "time_budget")
#: Set anew for each text that is chosen; the size of the model stays what the person chose.
_SUITED = ("seq_len", "batch_size", "time_budget")


@dataclass(frozen=True)
class PretrainForm:
    """The form: `inputs` are the source, the files and one value for each of `names`."""

    names: tuple[str, ...]
    inputs: list[Any]
    train: gr.Button
    message: gr.HTML
    # Called when the page opens, like any tab: the report of the text that is chosen by default.
    show_text: Any
    text_outputs: list[Any]


def create_pretrain(session: Session) -> PretrainForm:
    """Draw the form and join its parts; what Train does is joined by the caller."""
    forecaster = Forecaster()
    gr.HTML("<h2>1. Choose a text</h2>")
    with gr.Row():
        with gr.Column(scale=3, min_width=280):
            options = texts.choices()
            source = gr.Radio(options, value=options[0][1], show_label=False, container=False, elem_id="text-source")
            about = facts(
                facts_payload([], note=texts.about(options[0][1])), label="About this text", elem_id="text-about"
            )
        files = gr.File(
            label="Your own text: .txt, .md, .csv, .jsonl or .zip",
            file_count="multiple",
            file_types=_FILE_TYPES,
            scale=2,
            min_width=260,
            height=150,
            elem_id="text-files",
        )
    gr.HTML("<h2>2. What the text holds</h2>")
    health = health_cards(elem_id="text-health")
    gr.HTML("<h2>3. Choose a model and train it</h2>")
    defaults = texts.recommended(options[0][1])
    with gr.Row(equal_height=False):
        chosen = controls.draw(PretrainConfig, _IN_VIEW, defaults)
    with gr.Accordion("Words and documents", open=False, elem_id="options-text"), gr.Row():
        chosen |= controls.draw(PretrainConfig, controls.names_of(PretrainConfig, "text", _NOT_ON_THE_PAGE), defaults)
    with gr.Accordion("Advanced settings", open=False, elem_id="options-advanced"), gr.Row():
        rest = controls.names_of(PretrainConfig, "basic", (*_NOT_ON_THE_PAGE, *_IN_VIEW))
        rest += controls.names_of(PretrainConfig, "advanced", _NOT_ON_THE_PAGE)
        chosen |= controls.draw(PretrainConfig, rest, defaults)
    forecast = facts(label="What this will take", elem_id="forecast")
    train = gr.Button("Train", variant="primary", size="lg", elem_id="train")
    message = notice(elem_id="train-message")

    names = tuple(chosen)
    inputs = [source, files, *chosen.values()]
    show = partial(show_text, session, forecaster, names)
    outputs = [health, forecast]
    heavy = {"concurrency_id": "reading", "concurrency_limit": 2}
    suited = [chosen[name] for name in _SUITED]
    selected = [source.input(texts_about, source, about, **QUIET)]
    selected += [
        trigger(source_of, [source, files], [source, about], **QUIET)
        for trigger in (files.upload, files.clear, files.delete)
    ]
    for selection in selected:
        selection.then(recommend, [source, files], suited, **QUIET).then(show, inputs, outputs, **TYPING | heavy)
    for name in texts.READING:
        chosen[name].change(show, inputs, outputs, **TYPING | heavy)
    for name in ("preset", "time_budget", "steps", "batch_size", "optimizer"):
        chosen[name].change(partial(forecast_line, session, forecaster, names), inputs, forecast, **TYPING | heavy)
    return PretrainForm(names, inputs, train, message, show, outputs)


def texts_about(source: str) -> str:
    """The line under the samples."""
    return facts_payload([], note=texts.about(source))


def source_of(source: str, files: list[str] | None) -> tuple[str, str]:
    """An upload chooses itself."""
    source = texts.OWN if files else source
    return source, texts_about(source)


def recommend(source: str, files: list[str] | None) -> list[Any]:
    """Length of examples, their number in a step, and time that suit the text that was chosen."""
    try:
        size = sum(path.stat().st_size for path in texts.chosen(source, files).files)
    except (InputError, OSError):
        size = 0
    found = texts.recommended(source, size)
    return [found[name] for name in _SUITED]


def show_text(
    session: Session, forecaster: Forecaster, names: tuple[str, ...], source: str, files: list[str] | None, *values: Any
) -> Iterator[tuple[str, str]]:
    """The health report of the chosen text, after a word that it is being read; then what training will take."""
    try:
        text = texts.chosen(source, files)
        options = texts.reading_options(names, values)
        yield message_payload(f"Reading {text.title} …"), ""
        report = session.examine(text.paths, **options)
        yield health_payload(report, text.title), ""
        yield health_payload(report, text.title), forecast_line(session, forecaster, names, source, files, *values)
    except Exception as error:  # whatever happens, the page must live on
        yield message_payload(controls.in_page_words(PretrainConfig, sentence_of(error))), ""


def forecast_line(
    session: Session, forecaster: Forecaster, names: tuple[str, ...], source: str, files: list[str] | None, *values: Any
) -> str:
    """How fast this machine will train the chosen model on the chosen text, and how much memory that takes."""
    try:
        text = texts.chosen(source, files)
        config = config_from(session, text, names, values)
        report = session.examine(text.paths, **texts.reading_options(names, values))
        found = forecaster.forecast(config, report.vocab_size)
    except InputError as error:
        return facts_payload([], note=controls.in_page_words(PretrainConfig, str(error)), tone="error")
    except Exception as error:
        return facts_payload([], note=sentence_of(error), tone="error")
    speed, gigabyte = found.tokens_per_second, 2**30
    if config.steps is None:
        tokens = speed * parse_duration(config.time_budget)
        length = config.time_budget
    else:
        tokens = float(config.steps * config.batch_size * config.seq_len)
        length = f"{config.steps:,} steps, about {_duration(tokens / speed)}"
    items = [
        ("Time", length),
        ("Speed here", f"about {_round(speed):,} tokens a second"),
        ("Reads the text", f"about {_times(tokens / max(1, report.tokens))}"),
        ("Memory", f"about {found.memory_bytes / gigabyte:.1f} GB of {found.available_bytes / gigabyte:.1f} GB free"),
    ]
    tight = found.memory_bytes > found.available_bytes
    note = "This is more memory than is free: choose a smaller model or fewer examples in one step." if tight else ""
    return facts_payload(items, note=note, tone="error" if tight else "plain")


def config_from(session: Session, text: texts.Text, names: tuple[str, ...], values: Any) -> PretrainConfig:
    """The form as settings of a run. Raises `InputError`, in the words of the page."""
    try:
        options = controls.collect(PretrainConfig, names, values)
        corpus = text.corpus or tuple(path.name for path in text.files)
        config = PretrainConfig(corpus=corpus, threads=session.settings.threads, **options)
    except InputError as error:
        raise InputError(controls.in_page_words(PretrainConfig, str(error))) from error
    return _prompt(config)


def _prompt(config: PretrainConfig) -> PretrainConfig:
    """Short runs are looked at and saved more often than the defaults say, so that the page has something to show."""
    seconds = config.time_budget_seconds or 120.0
    changes: dict[str, float] = {}
    for name, share, least in (("eval_every", 10, 3.0), ("checkpoint_every", 8, 5.0)):
        default = float(getattr(PretrainConfig, name))
        if getattr(config, name) == default:
            changes[name] = min(default, max(least, seconds / share))
    return replace(config, **changes)  # type: ignore[arg-type]


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
