"""The top of the page: its name, the one model picker, what the chosen model is, and the run under way."""

import re
from dataclasses import dataclass
from functools import partial

import gradio as gr

from bertviz_lab.config import PretrainConfig
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.training.runs.run_folder import ACTIVE
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.components.facts import facts, facts_payload
from bertviz_lab.ui.components.run_strip import run_strip
from bertviz_lab.ui.error_handling import sentence_of
from bertviz_lab.ui.rpc import Rpc


def _logo() -> str:
    """A small attention map: strong on its diagonal, fainter beside it."""
    shades = {0: "#ffffff", 1: "#a5b4fc", 2: "#6366f1"}
    cells = [
        f'<rect x="{8 + 7.5 * column}" y="{8 + 7.5 * row}" width="5" height="5" rx="1" fill="{shade}"/>'
        for row in range(3)
        for column in range(3)
        for shade in [shades[abs(row - column)]]
    ]
    frame = '<rect width="36" height="36" rx="8" fill="#3730a3"/>'
    return f'<svg viewBox="0 0 36 36" width="36" height="36" aria-hidden="true">{frame}{"".join(cells)}</svg>'


_TITLE = f"""
<header class="title">{_logo()}<div><h1>BertViz Lab</h1>
<p>Train a small BERT on your own text, watch its training dynamics, and look inside it.</p></div></header>
"""


@dataclass(frozen=True)
class Header:
    """The parts that the rest of the page refers to."""

    picker: gr.Dropdown
    about: gr.HTML
    train: gr.Button
    strip: gr.HTML
    direct: Rpc


def create_header(session: AppState) -> Header:
    """Draw the top of the page."""
    with gr.Row(elem_id="title-row"):
        gr.HTML(_TITLE, elem_id="title")
        train = gr.Button("Train your own", scale=0, min_width=170, elem_id="train-your-own")
    with gr.Row(elem_id="model-row"):
        picker = gr.Dropdown(
            session.models.choices(()),
            value=session.models.default() or None,
            allow_custom_value=True,
            label="Model",
            info="Choose one, or type " + ("a hub id." if session.settings.shared else "a folder or a hub id."),
            scale=2,
            min_width=280,
            elem_id="model-picker",
        )
        with gr.Column(scale=3, min_width=280):
            about = facts(label="About this model", elem_id="model-facts")
    strip = run_strip(glance=partial(session.glance), elem_id="run-strip")
    return Header(picker, about, train, strip, Rpc())


def describe(session: AppState, model: str | None) -> str:
    """What a model is, as facts; a model that cannot be opened as the sentence that says why."""
    from bertviz_lab.training.checkpoints.checkpoint import parameter_count

    try:
        checkpoint = session.models.open(model or "")
        config, tokenizer = checkpoint.config, checkpoint.tokenizer
        kind = "WordPiece" if tokenizer.algorithm == "wordpiece" else "BPE"
        items = [
            ("Layers", f"{config.num_hidden_layers}"),
            ("Hidden size", f"{config.hidden_size}"),
            ("Heads", f"{config.num_attention_heads} per layer"),
            *([("Attention", "causal")] if config.is_decoder else []),
            ("Vocabulary", f"{tokenizer.vocab_size:,} ({kind}, {'lower-cased' if tokenizer.lowercase else 'cased'})"),
            ("Parameters", _millions(parameter_count(checkpoint.model))),
            ("Architecture", checkpoint.architecture),
        ]
        trained_on = _trained_on(session, model or session.models.default(), checkpoint.card)
        if trained_on:
            items.append(("Trained on", trained_on))
        missing = checkpoint.report.missing
        note = f"Missing from its files: {', '.join(missing[:3])}; randomly initialised." if missing else ""
        return facts_payload(items, note=note or _progress(session, model or ""))
    except Exception as error:  # whatever happens, the page must live on
        return (
            facts_payload([], note=sentence_of(error), tone="error") if model else message_payload(sentence_of(error))
        )


def _trained_on(session: AppState, model: str, card: str) -> str:
    if session.models.is_run(model):
        config = session.runs.config(model)
        names = [_text_name(name) for name in (config.corpus if isinstance(config, PretrainConfig) else config.train)]
        return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
    line = next((line for line in card.splitlines() if line.startswith("- Text:")), "")
    return line.removeprefix("- Text:").split("(")[0].strip()


def _text_name(path: str) -> str:
    """The name under which a person knows a text; the copies in a run's folder are numbered."""
    return re.sub(r"^\d\d-|^sample:", "", path.replace("\\", "/").split("/")[-1])


def _progress(session: AppState, model: str) -> str:
    if not session.models.is_run(model):
        return ""
    state = session.runs.state(model)
    if state.status not in ACTIVE:
        return ""
    return "Still training: this is its latest checkpoint; everything below is updated with the next one."


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f} million" if count >= 1e5 else f"{count:,}"
