"""Runs to set beside each other: a visitor's own, and the logs of the models that come with the lab."""

import contextlib
import dataclasses
import shlex
from collections.abc import Sequence
from typing import Any

from bertviz_lab.config import PretrainConfig
from bertviz_lab.config.ablations import ABLATIONS, WHOLE, ablation_of
from bertviz_lab.config.finetune import TASKS
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, message_payload
from bertviz_lab.figures.training.runs import RunView, runs_payload, settings_of
from bertviz_lab.training.runs.run_folder import read_shipped_log
from bertviz_lab.ui.app_state import AppState
from bertviz_lab.ui.controls import collect, label_of

MOST = 6
#: Until somebody has trained: the models that ship and have a log of their pretraining.
_FIRST = ("wiki-mini", "tiny-town")
_FIELDS = {field.name: field for field in dataclasses.fields(PretrainConfig)}


def choices(session: AppState, own: Sequence[str]) -> list[tuple[str, str]]:
    """(label, name) of all that can be set beside each other, the newest run first."""
    found = []
    for run_id in session.models.visible_runs(own):
        if session.is_kind(run_id, PretrainConfig):
            with contextlib.suppress(InputError):  # it has just been removed
                found.append((name_of(session, run_id), run_id))
    return found + [(f"{name} (comes with the lab)", name) for name in logged(session)]


def logged(session: AppState) -> list[str]:
    """Models that ship with the log of their pretraining."""
    found = []
    for name in session.models.shipped():
        if any(
            row.get("event") == "RunStarted" and row.get("objective") not in TASKS for row in _log_of(session, name)
        ):
            found.append(name)
    return found


def beginning(session: AppState, own: Sequence[str]) -> list[str]:
    """What to show before anybody has chosen: the last two runs, filled up with models that ship.

    Not those that take the recipe apart, whose outcome is to be predicted first.
    """
    visible = [run_id for run_id in session.models.visible_runs(own) if session.is_kind(run_id, PretrainConfig)]
    runs = [run_id for run_id in visible if not _told(session, run_id)]
    there = logged(session)
    shipped = [name for name in _FIRST if name in there] or there
    return [*runs[:2], *shipped][: max(2, len(runs[:2]))]


def chosen(session: AppState, own: Sequence[str], names: Any) -> list[str]:
    """The names that may be looked at, each once. Raises `InputError` where there are too many or none."""
    asked = list(dict.fromkeys(str(name) for name in names)) if isinstance(names, (list, tuple)) else []
    visible = set(session.models.visible_runs(own))
    found = [name for name in asked if name in visible or name in session.models.shipped()]
    if not found:
        gone = " The one that was chosen is no longer here." if asked else ""
        raise InputError(f"Choose one or more runs to compare.{gone}")
    if len(found) > MOST:
        raise InputError(f"Choose at most {MOST} runs: more curves cannot be told apart.")
    return found


def draw(session: AppState, own: Sequence[str], names: Any) -> Payload:
    """The comparison of the chosen runs, or a sentence in its place. Raises as `chosen`."""
    from bertviz_lab.data.probes import PROBES

    found = chosen(session, own, names)
    views = [_view(session, name) for name in found]
    if any(view is None for view in views):
        return message_payload("One of these runs was removed meanwhile: choose others.")
    kinds = {name: probes.kinds for name, probes in PROBES.items()}
    return runs_payload([view for view in views if view], kinds, label=_label)


def _label(name: str) -> str:
    return "Text" if name == "corpus" else label_of(_FIELDS[name])


def name_of(session: AppState, name: str) -> str:
    """What people call it: "kind-otter", with what it leaves out of the recipe."""
    if name in session.models.shipped():
        return name
    told = _told(session, name)
    given = session.runs.name(name)
    return f"{told} ({given})" if told else given


def _told(session: AppState, run_id: str) -> str:
    """What a run that takes the recipe apart leaves out; "" for another."""
    config = session.runs.config(run_id)
    name = ablation_of(config) if isinstance(config, PretrainConfig) else None
    return "" if name is None else "Full recipe" if name == WHOLE else ABLATIONS[name].title


def _view(session: AppState, name: str) -> RunView | None:
    if name in session.models.shipped():
        return RunView("", name, _settings_on_card(session, name), _log_of(session, name))
    try:
        config = session.runs.config(name)
        return (
            RunView(name, name_of(session, name), settings_of(config)) if isinstance(config, PretrainConfig) else None
        )
    except InputError:
        return None


def _log_of(session: AppState, name: str) -> list[dict[str, Any]]:
    return read_shipped_log(session.settings.checkpoints / name)


def _settings_on_card(session: AppState, name: str) -> dict[str, Any]:
    """The settings that a model was trained with, read out of the command on its card; {} where there is none."""
    try:
        card = (session.settings.checkpoints / name / "README.md").read_text(encoding="utf-8")
        command = card.split("bertviz_lab pretrain", 1)[1].split("`", 1)[0]
        return _typed(shlex.split(command))
    except (OSError, IndexError, ValueError, InputError):
        return {}


def _typed(words: Sequence[str]) -> dict[str, Any]:
    """The settings of a command line: a flag with a value, with several, or with none."""
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
    options = collect(PretrainConfig, tuple(values), tuple(values.values()))
    return settings_of(PretrainConfig.of_recipe(**{"corpus": corpus or ("unknown",), **options}))
