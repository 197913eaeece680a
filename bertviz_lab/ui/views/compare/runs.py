"""Runs that can be compared: a visitor's own, and the logs of the shipped models; their settings and curves."""

import contextlib
import dataclasses
import re
import shlex
from collections.abc import Sequence
from typing import Any

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.ablations import ABLATIONS, WHOLE, ablation_of
from bertviz_lab.config.finetune import TASKS
from bertviz_lab.config.options import from_form
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload
from bertviz_lab.figures.training.runs import RunView, compared_payload, runs_payload, settings_of
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import RunIds

MOST = 6
#: Until somebody has trained: the models that ship and have a log of their pretraining.
_FIRST = ("wiki-mini", "tiny-town")
_FIELDS = {field.name: field for field in dataclasses.fields(PretrainConfig)}


def choices(state: AppState, visitor: Visitor) -> list[tuple[str, str]]:
    """(name, label) of all that can be compared, the newest run first."""
    runs = []
    for run_id in state.models.visible_runs(visitor):
        if state.is_kind(run_id, PretrainConfig):
            with contextlib.suppress(InputError):  # it has just been removed
                runs.append((run_id, label_of_run(state, run_id)))
    return runs + [(name, f"{name} (comes with the lab)") for name in logged(state)]


def logged(state: AppState) -> list[str]:
    """Models that ship with the log of their pretraining."""
    return [name for name in state.models.shipped() if any(_begins_pretraining(row) for row in state.log_of(name))]


def _begins_pretraining(row: dict[str, Any]) -> bool:
    return row.get("event") == "RunStarted" and row.get("objective") not in TASKS


def first(state: AppState, visitor: Visitor) -> list[str]:
    """Return what to show before anybody has chosen: the last two runs, filled up with models that ship.

    Not those of the ablation study, whose outcome is to be predicted first.
    """
    visible = [run_id for run_id in state.models.visible_runs(visitor) if state.is_kind(run_id, PretrainConfig)]
    runs = [run_id for run_id in visible if not _ablation_title(state, run_id)]
    there = logged(state)
    shipped = [name for name in _FIRST if name in there] or there
    return [*runs[:2], *shipped][: max(2, len(runs[:2]))]


def visible(state: AppState, visitor: Visitor, names: Sequence[str]) -> list[str]:
    """Return the names that may be looked at, each once. Raises `InputError` where there are too many or none."""
    runs = set(state.models.visible_runs(visitor))
    known = [name for name in dict.fromkeys(names) if name in runs or name in state.models.shipped()]
    if not known:
        gone = " The one that was chosen is no longer here." if names else ""
        raise InputError(f"Choose one or more runs to compare.{gone}")
    if len(known) > MOST:
        raise InputError(f"Choose at most {MOST} runs: more curves cannot be told apart.")
    return known


def comparison(state: AppState, visitor: Visitor, names: RunIds) -> Payload:
    """Return the settings and curves of the named runs, or a sentence in their place. Raises as `visible`."""
    views = [_view(state, name) for name in visible(state, visitor, names)]
    if any(view is None for view in views):
        return message_payload("One of these runs was removed meanwhile: choose others.")
    return runs_payload([view for view in views if view], label=_label)


def probes(state: AppState, visitor: Visitor, names: RunIds) -> Payload | None:
    """Return the newest probes of the named runs; None where none was asked any. Raises as `visible`."""
    logs = []
    for name in visible(state, visitor, names):
        with contextlib.suppress(InputError):  # it has just been removed
            logs.append((label_of_run(state, name), state.log_of(name)))
    return compared_payload(logs)


def _label(name: str) -> str:
    return str(_FIELDS[name].metadata["label"])


def label_of_run(state: AppState, name: str) -> str:
    """Return what people call it: "kind-otter", with what it leaves out of the recipe."""
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
        return RunView("", name, _settings_on_card(state, name), state.log_of(name))
    try:
        config = state.runs.config(name)
    except InputError:
        return None
    if not isinstance(config, PretrainConfig):
        return None
    return RunView(name, label_of_run(state, name), settings_of(config))


def _settings_on_card(state: AppState, name: str) -> dict[str, Any]:
    """The settings that a model was trained with, read out of the command on its card; {} unless there is one."""
    try:
        card = (state.settings.checkpoints / name / "README.md").read_text(encoding="utf-8")
        (command,) = re.findall(r"bertviz_lab pretrain([^`]*)`", card)  # of several stages none says it all
        return _typed(shlex.split(command))
    except (OSError, IndexError, ValueError, InputError):
        return {}


def _typed(words: Sequence[str]) -> dict[str, Any]:
    """Return the settings of a command line: a flag with a value, with several, or with none."""
    given: dict[str, list[str]] = {}
    flag = ""
    for word in words:
        if word.startswith("--"):
            flag = word[2:].replace("-", "_")
            given[flag] = []
        elif flag:
            given[flag].append(word)
    corpus = tuple(given.pop("corpus", ()))
    values: dict[str, Any] = {}
    for name, texts in given.items():
        if name in _FIELDS:
            values[name] = " ".join(texts) if texts else True
        elif name.removeprefix("no_") in _FIELDS:
            values[name.removeprefix("no_")] = False
    options = from_form(PretrainConfig, values)
    return settings_of(PretrainConfig.of_recipe(**{"corpus": corpus or ("unknown",), **options}))
