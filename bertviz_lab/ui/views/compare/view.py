"""What Compare asks: which runs there are, how they differ, their events, and what their models make of a text."""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.ablations import ABLATIONS, WHOLE, ablation_of
from bertviz_lab.config.finetune import TASKS
from bertviz_lab.errors import InputError
from bertviz_lab.figures.attention import attention_body, heads_payload
from bertviz_lab.figures.payload import Payload, figure, message_payload
from bertviz_lab.figures.training.runs import RunView, compared_payload, runs_payload
from bertviz_lab.ui.lazy import interpret
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import RunIds, Text, questions
from bertviz_lab.ui.views.run.view import follow

_MOST = 6
_LONGEST = 64  # tokens of a text whose heads are shown for every model
#: Until somebody has trained: the shipped models with a log of their pretraining.
_FIRST = ("wiki-mini", "tiny-town")
_FIELDS = {field.name: field for field in dataclasses.fields(PretrainConfig)}


def runs(state: AppState, visitor: Visitor) -> dict[str, Any]:
    """Return the `choices` [[name, label], ...], newest run first, those to begin with, and how many may be chosen.

    The page begins with the last two runs, filled up with shipped models; not with those of the ablation study, whose
    outcome is to be predicted first.
    """
    labels = {}
    for run_id in state.models.visible_runs(visitor):
        with contextlib.suppress(InputError):  # it has just been removed
            if state.is_kind(run_id, PretrainConfig):
                labels[run_id] = _label_of(state, run_id)
    first = [run_id for run_id in labels if not _ablation_title(state, run_id)][:2]
    there = logged(state)
    shipped = [name for name in _FIRST if name in there] or there
    return {
        "choices": [*labels.items(), *((name, f"{name} (comes with the lab)") for name in there)],
        "first": [*first, *shipped][: max(2, len(first))],
        "most": _MOST,
    }


def comparison(state: AppState, visitor: Visitor, names: RunIds) -> Payload:
    """Return the settings and curves of the named runs, or a sentence in their place."""
    views = [_view(state, name) for name in _visible(state, visitor, names)]
    if any(view is None for view in views):
        return message_payload("One of these runs was removed meanwhile: choose others.")
    return runs_payload([view for view in views if view], label=lambda name: str(_FIELDS[name].metadata["label"]))


def probes(state: AppState, visitor: Visitor, names: RunIds) -> Payload | None:
    """Return the newest probes of the named runs; None where there are none."""
    logs = []
    for name in _visible(state, visitor, names):
        with contextlib.suppress(InputError):  # it has just been removed
            logs.append((_label_of(state, name), state.log_of(name)))
    return compared_payload(logs)


def example(state: AppState, visitor: Visitor, names: RunIds) -> str:
    """Return a text with a masked token that the first of the models can be asked; "" where it has none."""
    try:
        return state.examples(names[0], visitor).masked[0]
    except (InputError, IndexError):
        return ""


def predictions(state: AppState, visitor: Visitor, names: RunIds, text_a: Text) -> Payload:
    """Return the predictions of each model for the same masked tokens."""
    checkpoints, labels = _opened(state, visitor, names)
    return figure(
        "fill_comparison", names=labels, masks=interpret.compare_fill_mask(checkpoints, text_a, top_k=5).masks
    )


def nsp(state: AppState, visitor: Visitor, names: RunIds, text_a: Text, text_b: Text) -> Payload:
    """Return whether B follows A, by each model that has an NSP head."""
    if not text_b.strip():
        raise InputError("Type a sentence B, and each model predicts whether it follows.")
    checkpoints, labels = _opened(state, visitor, names)
    shares = [
        interpret.next_sentence(checkpoint, text_a, text_b).is_next
        if "next" in interpret.target_kinds(checkpoint)
        else None
        for checkpoint in checkpoints
    ]
    return figure("next_sentences", names=labels, shares=shares)


def attention(state: AppState, visitor: Visitor, names: RunIds, text_a: Text, text_b: Text) -> Payload:
    """Return all heads of each model."""
    checkpoints, labels = _opened(state, visitor, names)
    bodies = []
    for checkpoint in checkpoints:
        trace = interpret.trace_text(checkpoint, text_a, text_b.strip() or None)
        if len(trace.tokens) > _LONGEST:
            raise InputError(f"For the heads of several models the sentence may have {_LONGEST} tokens; shorten it.")
        bodies.append(attention_body(trace.encoding, trace.attentions, windows=checkpoint.config.windows))
    return heads_payload(labels, bodies)


def logged(state: AppState) -> list[str]:
    """Return the shipped models with the log of their pretraining."""
    return [
        name
        for name in state.models.shipped()
        if any(row.get("event") == "RunStarted" and row.get("objective") not in TASKS for row in state.log_of(name))
    ]


def _visible(state: AppState, visitor: Visitor, names: Sequence[str]) -> list[str]:
    """Return the names that may be looked at, each once. Raises `InputError` where there are too many or none."""
    runs = {*state.models.visible_runs(visitor), *state.models.shipped()}
    known = [name for name in dict.fromkeys(names) if name in runs]
    if not known:
        gone = " The one that was chosen is no longer here." if names else ""
        raise InputError(f"Choose one or more runs to compare.{gone}")
    if len(known) > _MOST:
        raise InputError(f"Choose at most {_MOST} runs: more curves cannot be told apart.")
    return known


def _opened(state: AppState, visitor: Visitor, names: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Return the models of the chosen runs, and what people call them. Raises `InputError`."""
    known = _visible(state, visitor, names)
    return [state.models.open(name) for name in known], [_label_of(state, name) for name in known]


def _label_of(state: AppState, name: str) -> str:
    """Return what people call a run: "kind-otter", with what it leaves out of the recipe."""
    if name in state.models.shipped():
        return name
    title, given = _ablation_title(state, name), state.runs.name(name)
    return f"{title} ({given})" if title else given


def _ablation_title(state: AppState, run_id: str) -> str:
    """Return what a run of the ablation study leaves out; "" for another."""
    config = state.runs.config(run_id)
    name = ablation_of(config) if isinstance(config, PretrainConfig) else None
    return "" if name is None else "Full recipe" if name == WHOLE else ABLATIONS[name].title


def _view(state: AppState, name: str) -> RunView | None:
    if name in state.models.shipped():
        return RunView("", name, _settings_of_shipped(state, name), state.log_of(name))
    if not state.is_kind(name, PretrainConfig):  # or it was removed
        return None
    return RunView(name, _label_of(state, name), dataclasses.asdict(state.runs.config(name)))


def _settings_of_shipped(state: AppState, name: str) -> dict[str, Any]:
    """Return the settings of the command in a model's recipe; {} unless there is one command, of a pretraining."""
    from bertviz_lab.training.runs.training_text import shipped_config

    config = shipped_config(state.settings.checkpoints / name)
    return dataclasses.asdict(config) if config else {}


QUESTIONS = questions(runs, comparison, probes, follow, example, slow=[predictions, nsp, attention])
