"""The form of a pretraining run as its settings: what fills it in, and what came back from it."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from bertviz_lab.config import RECIPES, BertConfig, PretrainConfig
from bertviz_lab.config.options import options_of
from bertviz_lab.data.corpora.health_report import HealthReport
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.errors import InputError
from bertviz_lab.ui import forms
from bertviz_lab.ui.lazy import Checkpoint
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import RANDOM

_LARGE = 2_000_000  # bytes; a larger text of one's own is worth more minutes
#: The recipe in which the model to start from is a teacher.
DISTIL = "distil"

#: Decide how a text is read and split, which is what the health report depends on.
READING = ("documents", "text_field", "vocab_size", "lowercase", "algorithm", "seq_len")
#: What only a run from random weights does.
OF_RANDOM_WEIGHTS = {"causal_share": 0.0, "shallow_share": 0.0, "word_vectors": False}
#: What a model to start from decides.
INHERITED = (
    *("preset", "family", "layers", "heads", "vocab_size", "algorithm", "lowercase", "share_layers"),
    *OF_RANDOM_WEIGHTS,
)
#: Of these, what a teacher decides: the student has a size of its own.
INHERITED_FROM_TEACHER = ("vocab_size", "add_vocabulary", "algorithm", "lowercase", *OF_RANDOM_WEIGHTS)


def recommended(source: str, size: int = 0) -> dict[str, Any]:
    """Return a sample's own options, or those for `size` bytes of a person's text, which show something soon."""
    page = {"preset": "tiny", "seq_len": 64, "batch_size": 32, "time_budget": "2m" if size < _LARGE else "5m"}
    return page | dict(SAMPLES[source].settings if source in SAMPLES else {})


#: Settings that a chosen text changes; the size of the model stays what the person chose.
_OF_TEXTS = {name for source in (*SAMPLES, forms.OWN) for name in recommended(source)} - {"preset"}
BY_TEXT = sorted(_OF_TEXTS | {"lowercase", "algorithm"})  # which the writing system decides
_OF_RECIPES = {name for recipe in RECIPES.values() for name in recipe}
BY_RECIPE = sorted(_OF_RECIPES - {f.name for f in options_of(PretrainConfig, "command line", "recipe")} | {*BY_TEXT})


def filled_in(recipe: str, source: str, size: int = 0, time_budget: str = "") -> dict[str, Any]:
    """Return the settings that a recipe and a text decide, by name.

    How long to train depends on the text alone, unless a workshop has planned it as `time_budget`; what else suits a
    text goes with the lab's own recipe only.
    """
    settings = asdict(PretrainConfig.of_recipe(recipe, corpus=("a text",))) | {"recipe": recipe}
    suited = recommended(source, size) | ({"time_budget": time_budget} if time_budget else {})
    return settings | (suited if recipe == "lab" else {"time_budget": suited["time_budget"]})


@forms.words_of_page(PretrainConfig)
def config_from(session: AppState, text: forms.Source, values: Mapping[str, Any]) -> PretrainConfig:
    """Return the form as settings of a run. Raises `InputError`, in the words of the page."""
    options = forms.read(PretrainConfig, values)
    chosen = options.pop("init_from", "")
    start = start_of(session, chosen)
    distils = options.get("recipe") == DISTIL
    if not str(options.get("add_vocabulary") or 0).isdecimal():  # a file would be one of this machine
        raise InputError("`add_vocabulary` is a number on this page; a file of words is read by the command line.")
    if distils and not start:
        raise InputError("Distillation needs a teacher, a pretrained model: choose it under Start from.")
    if start:
        inherited = INHERITED_FROM_TEACHER if distils else INHERITED
        options = {name: value for name, value in options.items() if name not in inherited}
        folder = str(session.models.start_folder(chosen))
        options |= {**OF_RANDOM_WEIGHTS, "teacher" if distils else "init_from": folder}
    corpus = text.samples or tuple(path.name for path in text.files)
    config = PretrainConfig.of_recipe(corpus=corpus, threads=session.settings.threads, **options)
    if start and config.seq_len > (longest := longest_of(start, config.recipe)):
        raise InputError(f"{start.name} has a max sequence length of {longest} tokens; lower `seq_len` to that.")
    return _evaluate_short_runs_more_often(config)


def start_of(session: AppState, name: str) -> "Checkpoint | None":
    """Return the model to start from, None for random weights. Raises `InputError`."""
    if name in ("", RANDOM):
        return None
    session.models.start_folder(name)  # refuses whatever is not on the list
    return session.models.open(name)


def longest_of(start: "Checkpoint", recipe: str) -> int:
    """Return the max sequence length of a run from a model; a teacher knows only what it was trained on."""
    return start.known_length if recipe == DISTIL else start.config.max_position_embeddings


def model_of(config: PretrainConfig, start: "Checkpoint | None", vocab_size: int) -> BertConfig:
    """Return the shape of the model that a run trains: its own, or that of the one it starts from."""
    if start is None:
        return config.model_config(vocab_size)
    if config.teacher:
        return config.model_config(start.config.vocab_size)
    return start.config.replace(
        vocab_size=start.config.vocab_size + config.added_pieces,
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
        is_decoder=start.config.is_decoder or not config.bidirectional,
    )


def report_of(session: AppState, text: forms.Source, values: Mapping[str, Any]) -> HealthReport:
    """Return the health report of a text, read and split as the form says. Raises `InputError`."""
    given = {name: value for name, value in values.items() if name in (*READING, "recipe", "init_from")}
    options = forms.read(PretrainConfig, given)
    chosen = options.pop("init_from", "")
    start = start_of(session, chosen)
    config = PretrainConfig.of_recipe(corpus=("checked",), **options)
    options = {name: getattr(config, name) for name in READING} | {"text_field": config.text_field or None}
    return session.examine((*text.samples, *text.files), model=chosen if start else "", **options)


def _evaluate_short_runs_more_often(config: PretrainConfig) -> PretrainConfig:
    seconds = config.time_budget_seconds or 120.0
    changes: dict[str, float] = {}
    for name, share, least in (("eval_every", 10, 3.0), ("checkpoint_every", 8, 5.0)):
        default = float(getattr(PretrainConfig, name))
        if getattr(config, name) == default:
            changes[name] = min(default, max(least, seconds / share))
    return replace(config, **changes)  # type: ignore[arg-type]
