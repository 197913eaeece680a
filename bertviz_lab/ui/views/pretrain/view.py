"""What the form of a pretraining run asks: its fields, advice for a text, a health report, the cost, and the start."""

from typing import Any

from bertviz_lab.config import PretrainConfig, parse_duration
from bertviz_lab.config.options import in_page_words
from bertviz_lab.data.corpora.sources import FORMATS
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.figures.training.data import health_payload
from bertviz_lab.ui.forms import fields, form, texts
from bertviz_lab.ui.forms.fields import Values
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.run_quota import limits_sentence
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.forecast import refuse_large
from bertviz_lab.ui.state.models import RANDOM
from bertviz_lab.ui.view import Uploads, View, Word, question

#: Settings besides the text that the forecast depends on.
_FORECAST = (
    "preset layers heads time_budget steps batch_size gradient_accumulation_steps optimizer causal_share "
    "shallow_share share_layers mask_probability dropout precision bidirectional family objective"
).split()


def form_of(state: AppState, visitor: Visitor) -> dict[str, Any]:
    """Return the fields with their defaults, the texts on offer, and what the page allows."""
    choices, limits = texts.choices(), state.settings.limits
    defaults = form.filled_in("lab", choices[0][1], time_budget=_planned(state)) | {"init_from": RANDOM}
    return {
        "sources": [[value, label] for label, value in choices],
        "own": texts.OWN,
        "upload": f"Your own text: .txt, .md, .csv, .jsonl or .zip, up to {fields.upload_size(limits)}",
        "accept": [*FORMATS, ".zip"],
        "groups": fields.describe(PretrainConfig, defaults, {"init_from": state.models.starts(visitor)}),
        "by_text": form.BY_TEXT,
        "by_recipe": form.BY_RECIPE,
        "reading": [*form.READING, "init_from"],
        "forecast": _FORECAST,
        "limits": limits_sentence(limits),
        "training": limits.training,
    }


def starts(state: AppState, visitor: Visitor) -> list[list[str]]:
    """Return the models to start from as [value, label]; each run may add one."""
    return [[value, label] for label, value in state.models.starts(visitor)]


def advise(state: AppState, source: Word, files: Uploads, recipe: Word, start: Word) -> dict[str, Any]:
    """Return a line about the text, what recipe and text recommend, and which fields the chosen model decides."""
    size = sum(file.bytes for file in files) if source == texts.OWN else 0
    settings = form.filled_in(recipe, source, size, _planned(state))
    longest = _longest(state, start)
    settings["seq_len"] = min(settings["seq_len"], longest)
    inherited: tuple[str, ...] = ()
    if start not in ("", RANDOM):
        inherited = form.INHERITED_FROM_TEACHER if recipe == form.DISTIL else form.INHERITED
    owner = "The teacher" if recipe == form.DISTIL else "The model to start from"
    return {
        "about": texts.about(source),
        "values": {name: settings[name] for name in form.BY_RECIPE},
        "longest": longest,
        "disabled": {
            name: "Not with this model." if name in ("causal_share", "shallow_share") else f"{owner} brings its own."
            for name in inherited
        },
    }


def check(state: AppState, source: Word, files: Uploads, values: Values) -> Payload:
    """Return the health report of the chosen text, read and split as the form says."""
    text = texts.chosen(source, files)
    try:
        return health_payload(form.report_of(state, text, values), text.title)
    except InputError as error:
        raise InputError(in_page_words(PretrainConfig, str(error))) from error


def forecast(state: AppState, source: Word, files: Uploads, values: Values) -> Payload:
    """Return how fast this machine trains the chosen model on the chosen text, and how much memory that takes."""
    text = texts.chosen(source, files)
    config = form.config_from(state, text, values)
    report = form.report_of(state, text, values)
    start = form.start_of(state, str(values.get("init_from") or ""))
    teacher = start.config if start and config.teacher else None
    estimate = state.forecaster.forecast(config, form.model_of(config, start, report.vocab_size), teacher)
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


def start(state: AppState, visitor: Visitor, source: Word, files: Uploads, values: Values, key: Word = "") -> str:
    """Start the run that the form describes and return its id; the same `key` starts one run (`RunQuota.start`).

    Raises `InputError` for a form that cannot be used.
    """
    text = texts.chosen(source, files)
    config = form.config_from(state, text, values)
    state.quota.check(visitor, config, key=key)
    # The report is cached: a text that it refuses is refused here, not by a run that fails.
    report = form.report_of(state, text, values)
    model = form.start_of(state, str(values.get("init_from") or ""))
    refuse_large(form.model_of(config, model, report.vocab_size), state.settings.limits)
    run_id = state.quota.start(visitor, config, text.files, key=key)
    log_event("run started", run=run_id)
    return run_id


def _planned(state: AppState) -> str:
    """Return the length of a workshop's runs, by which its plan says who trains when; "" without a workshop."""
    settings = state.settings
    return f"{settings.limits.run_seconds / 60:g}m" if settings.workshop else ""


def _longest(state: AppState, start: str) -> int:
    """Return the max sequence length of a model, or more than any setting for random weights."""
    try:
        model = form.start_of(state, start)
    except InputError:  # the forecast reports it
        model = None
    return model.config.max_position_embeddings if model else 10**6


def _round(number: float) -> int:
    """Round to two significant digits."""
    digits = max(0, len(str(int(number))) - 2)
    return round(number / 10**digits) * 10**digits


def _times(count: float) -> str:
    return f"{count:.1f} times" if count < 10 else f"{count:,.0f} times"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


PRETRAIN = View(
    "pretrain",
    "Pretrain",
    "Train a BERT from scratch on a text, or continue pretraining a model.",
    "train",
    {
        "form": question(form_of),
        "starts": question(starts),
        "advise": question(advise, slow=True),
        "check": question(check, slow=True),
        "forecast": question(forecast, slow=True),
        "start": question(start, slow=True),
    },
)
