"""Training runs and their results: the workspace Runs, apart from what follows a run while it trains."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from bertviz_lab.figures.training.curves import replay_payload
from bertviz_lab.figures.training.finetuning import per_class_payload, reliability_payload, slices_payload
from bertviz_lab.figures.training.probes import learning_payload
from bertviz_lab.figures.training.runs import RunView, runs_payload
from bertviz_lab.interpret import Results
from bertviz_lab.show.view import View, chart, view
from bertviz_lab.training.runs.events import Event, to_json
from bertviz_lab.ui.views.run.result_payloads import confusion_view, listed_view, trials_view

#: As `pretrain` and `finetune` yield them, or as the rows of a run's `events.jsonl`.
Events = Iterable[Event | Mapping[str, Any]]


def learning_curves(events: Events, title: str = "") -> View:
    """Show the curves of a run: losses, accuracies, perplexity, learning rate.

    `events` are what `pretrain` or `finetune` yields, or the rows of a run's `events.jsonl`.
    """
    return view("loss", "Learning curves", replay_payload(_rows(events), title), 640)


def compare_runs(runs: Mapping[str, tuple[Mapping[str, Any], Events]]) -> View:
    """Show several runs, (settings, events) by their names: the settings that differ, and their curves."""
    views = [RunView("", name, settings, _rows(events)) for name, (settings, events) in runs.items()]
    return view("comparison", "Comparison of runs", runs_payload(views), 900)


def probes(events: Events) -> View:
    """Show the minimal-pair probes of a run over training. Raises `ValueError` for a run that has none."""
    payload = learning_payload(_rows(events))
    if payload is None:
        raise ValueError("There are no probes in these events.")
    return chart("Minimal-pair probes", payload, 560)


def confusion_matrix(results: Results) -> View:
    """Show true and predicted labels; the scores of each for words and several labels; else scores by length."""
    return chart("Confusion matrix", confusion_view(results), 480)


def label_scores(results: Results) -> View:
    """Show precision, recall and F1 of each label. Raises `ValueError` for a task without labels."""
    if results.report is None:
        raise ValueError("There are no labels in this task.")
    return chart("Scores of each label", per_class_payload(results.report))


def reliability(results: Results) -> View:
    """Show the reliability diagram: accuracy against confidence."""
    return chart("Reliability diagram", reliability_payload(results.calibration()))


def slices(results: Results) -> View:
    """Show the score by length and by label."""
    return chart("Slices", slices_payload(results.slices(), results.measure))


def trials(results: Results) -> View:
    """Show the trials of a run side by side. Raises `ValueError` if there is only one."""
    payload = trials_view(results)
    if payload is None:
        raise ValueError("There is one trial only.")
    return chart("Trials", payload)


def examples(results: Results) -> View:
    """Show the held-out examples with their predictions, errors first."""
    return view("examples", "Held-out examples", listed_view(results, results.picked()), 560)


def _rows(events: Events) -> list[Mapping[str, Any]]:
    return [event if isinstance(event, Mapping) else json.loads(to_json(event)) for event in events]
