"""A run in one line."""

from bertviz_lab.training.runs.summary import RunSummary

STARTED = {"event": "RunStarted", "step": 0, "objective": "mlm+nsp", "parameters": 1000}


def test_pretraining_is_judged_by_its_newest_mlm_accuracy() -> None:
    evals = [{"event": "EvalDone", "step": step, "mlm_accuracy": 0.1 * step} for step in (0, 1, 2)]
    summary = RunSummary().after([STARTED, *evals])
    assert (summary.objective, summary.parameters) == ("mlm+nsp", 1000)
    assert (summary.measure, summary.score) == ("mlm_accuracy", 0.2)
    assert summary == RunSummary().after([STARTED]).after(evals)


def test_a_log_without_a_score_has_none() -> None:
    assert RunSummary().after([]).score is None
    assert RunSummary().after([STARTED, {"event": "EvalDone", "step": 3, "mlm_accuracy": None}]).score is None


def test_a_fine_tuning_is_judged_by_its_best_trial_not_by_its_random_baseline() -> None:
    started = STARTED | {"objective": "tokens"}
    rows = [
        {"event": "EvalDone", "step": 5, "f1": 0.9},
        {"event": "TrialDone", "name": "seed 0", "step": 5, "f1": 0.7},
        {"event": "TrialDone", "name": "seed 1", "step": 9, "f1": 0.6},
        {"event": "EvalDone", "step": 12, "f1": 0.1},
        {"event": "TrialDone", "name": "random weights", "step": 14, "f1": 0.8},
    ]
    summary = RunSummary().after([started, *rows])
    assert (summary.measure, summary.score) == ("f1", 0.7)


def test_labels_that_mark_no_entities_are_judged_by_accuracy() -> None:
    started = STARTED | {"objective": "tokens"}
    summary = RunSummary().after([started, {"event": "EvalDone", "step": 5, "accuracy": 0.5}])
    assert summary.measure == "accuracy"
