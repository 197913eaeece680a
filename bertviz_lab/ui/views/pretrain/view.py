"""What the form of a pretraining run asks: its fields, advice for a text, a health report, the cost, and the start."""

import contextlib
from typing import Any

from bertviz_lab.config import PretrainConfig, parse_duration
from bertviz_lab.data.corpora.sources import FORMATS
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.figures.training.data import health_payload
from bertviz_lab.ui import forms
from bertviz_lab.ui.forms import Values
from bertviz_lab.ui.server.run_quota import limits_sentence
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.forecast import refuse_large
from bertviz_lab.ui.state.models import RANDOM
from bertviz_lab.ui.view import Uploads, Word, questions
from bertviz_lab.ui.views.pretrain import run_settings

#: Settings besides the text that the forecast depends on.
_FORECAST = (
    "preset layers heads time_budget steps batch_size gradient_accumulation_steps optimizer causal_share "
    "shallow_share share_layers mask_probability dropout precision bidirectional family objective"
).split()
#: At about so many tokens the NSP accuracy of wiki-tiny and wiki-mini left its majority-class baseline.
_TOKENS_OF_NSP = 20_000_000
_OWN_TEXT = "Separate documents by three blank lines; the more text, the better."


def form(state: AppState, visitor: Visitor) -> dict[str, Any]:
    """Return the fields with their defaults, the texts on offer, and what the page allows."""
    sources, limits = forms.source_choices(SAMPLES, "My own text"), state.settings.limits
    defaults = run_settings.filled_in("lab", sources[0][0], time_budget=_planned(state)) | {"init_from": RANDOM}
    return {
        "sources": sources,
        "own": forms.OWN,
        "upload": f"A .txt, .md, .csv, .jsonl or .zip file, or a dump of Wikipedia, up to {forms.upload_size(limits)}",
        "accept": [*FORMATS, ".zip", ".xml", ".bz2"],
        "groups": forms.describe(PretrainConfig, defaults, {"init_from": state.models.starts(visitor)}),
        "by_text": run_settings.BY_TEXT,
        "reading": [*run_settings.READING, "init_from"],
        "forecast": _FORECAST,
        "limits": limits_sentence(limits),
        "training": limits.training,
    }


def starts(state: AppState, visitor: Visitor) -> list[tuple[str, str]]:
    """Return the models to start from as (value, label); each run may add one."""
    return state.models.starts(visitor)


def advise(state: AppState, source: Word, files: Uploads, recipe: Word, start: Word) -> dict[str, Any]:
    """Return a line about the text, what recipe and text recommend, and which fields the chosen model decides."""
    size = sum(file.bytes for file in files) if source == forms.OWN else 0
    settings = run_settings.filled_in(recipe, source, size, _planned(state))
    if size:
        paths = [file.path for file in files]
        with contextlib.suppress(InputError):  # the report says so
            settings |= state.remembered(("writing", *paths), lambda: state.files.suited_settings(paths))
    longest = _longest(state, start, recipe)
    settings["seq_len"] = min(settings["seq_len"], longest)
    inherited: tuple[str, ...] = ()
    if start not in ("", RANDOM):
        distils = recipe == run_settings.DISTIL
        inherited = run_settings.INHERITED_FROM_TEACHER if distils else run_settings.INHERITED
    owner = "The teacher" if recipe == run_settings.DISTIL else "The model to start from"
    return {
        "about": SAMPLES[source].description if source in SAMPLES else _OWN_TEXT,
        "values": {name: settings[name] for name in run_settings.BY_RECIPE},
        "longest": longest,
        "disabled": {
            name: "Not with this model." if name in run_settings.OF_RANDOM_WEIGHTS else f"{owner} brings its own."
            for name in inherited
        },
    }


@forms.words_of_page(PretrainConfig)
def check(state: AppState, source: Word, files: Uploads, values: Values) -> Payload:
    """Return the health report of the chosen text, read and split as the form says."""
    text = forms.chosen_source("text", SAMPLES, source, files)
    return health_payload(run_settings.report_of(state, text, values), text.title)


def forecast(state: AppState, source: Word, files: Uploads, values: Values) -> Payload:
    """Return how fast this machine trains the chosen model on the chosen text, and how much memory that takes."""
    text = forms.chosen_source("text", SAMPLES, source, files)
    config = run_settings.config_from(state, text, values)
    report = run_settings.report_of(state, text, values)
    start = run_settings.start_of(state, str(values.get("init_from") or ""))
    teacher = start.config if start and config.teacher else None
    estimate = state.forecaster.forecast(config, run_settings.model_of(config, start, report.vocab_size), teacher)
    state.expect_run()
    speed, gigabyte = estimate.tokens_per_second, 2**30
    if config.steps is None:
        tokens = speed * parse_duration(config.time_budget)
        length = config.time_budget
    else:
        tokens = float(config.steps * config.batch_size * config.seq_len)
        length = f"{config.steps:,} steps, about {_duration(tokens / speed)}"
    epochs = tokens / max(1, report.tokens)
    memory, free = estimate.memory_bytes / gigabyte, estimate.available_bytes / gigabyte
    items = [
        ("Time", length),
        ("Throughput on this machine", f"about {_two_digits(speed)} tokens a second"),
        ("Epochs", f"about {_two_digits(epochs)}"),
        ("Memory", f"about {memory:.1f} GB of {free:.1f} GB free"),
    ]
    if memory <= free:
        learns_nsp = start is None and report.nsp_possible and config.objective == "mlm+nsp"
        return facts_payload(items, note=_expectation(source, tokens) if learns_nsp else "")
    note = "This is more memory than is free: choose a smaller model or more gradient accumulation steps."
    return facts_payload(items, note=note, tone="error")


def _expectation(source: str, tokens: float) -> str:
    """Return that so many tokens are too few, by the logs of the models that were trained on Wikipedia; else ""."""
    if source == "tiny-town" or tokens >= _TOKENS_OF_NSP:
        return ""
    return (
        f"About {tokens / 1e6:.1f} million tokens will be read. The lab's own models learned NSP after about "
        f"{_TOKENS_OF_NSP // 10**6} million of Wikipedia, and masked tokens somewhat earlier: train longer, or start "
        "from wiki-mini if the text is English."
    )


def start(state: AppState, visitor: Visitor, source: Word, files: Uploads, values: Values, key: Word = "") -> str:
    """Start the run of the form and return its id; the same `key` starts one run (`RunQuota.start`)."""
    text = forms.chosen_source("text", SAMPLES, source, files)
    config = run_settings.config_from(state, text, values)
    state.quota.check(visitor, config, key=key)
    # The report is cached: a text that it refuses is refused here, not by a run that fails.
    report = run_settings.report_of(state, text, values)
    model = run_settings.start_of(state, str(values.get("init_from") or ""))
    refuse_large(run_settings.model_of(config, model, report.vocab_size), state.settings.limits)
    return state.quota.start(visitor, config, text.files, key=key)


def _planned(state: AppState) -> str:
    """Return the length of a workshop's runs, by which its plan says who trains when; "" without a workshop."""
    settings = state.settings
    return f"{settings.limits.run_seconds / 60:g}m" if settings.workshop else ""


def _longest(state: AppState, start: str, recipe: str) -> int:
    """Return the max sequence length of a model, or more than any setting for random weights."""
    try:
        model = run_settings.start_of(state, start)
    except InputError:  # the forecast reports it
        model = None
    return run_settings.longest_of(model, recipe) if model else 10**6


def _two_digits(value: float) -> str:
    """Return a number above 0 with its first two digits, such as 0.8, 2.5 or 69,000: it is an estimate."""
    digits = max(0, len(str(int(value))) - 2)
    return f"{value:.1f}" if value < 10 else f"{round(value / 10**digits) * 10**digits:,}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


QUESTIONS = questions(form, starts, slow=[advise, check, forecast, start])
