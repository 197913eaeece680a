"""Which trials a fine-tuning has, and how a run counts on over them."""

import itertools
import json
from dataclasses import replace

import pytest

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import GRIDS
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.finetuning import finetune
from bertviz_lab.training.finetuning.predict import evaluate_task, predict_with
from bertviz_lab.training.finetuning.setup import Trial, progress_of, seed_statistics, shifted, trials_of
from bertviz_lab.training.runs.events import (
    CheckpointSaved,
    EvalDone,
    Preparing,
    RunFinished,
    SnapshotSaved,
    StepDone,
    final_scores,
    format_event,
)
from tests.training.finetuning.support import examples, finish, write
from tests.training.support import identical, resumes_exactly, weights


def settings(**changes) -> FinetuneConfig:
    return FinetuneConfig(train=("a.csv",), **changes)


def test_one_trial_has_the_settings_and_needs_no_name():
    assert trials_of(settings(seed=7), 3e-4) == (Trial("", 7, 3e-4, 32, 4),)
    assert trials_of(settings(learning_rate=1e-5, batch_size=8, epochs=2), 3e-4) == (Trial("", 0, 1e-5, 8, 2),)


@pytest.mark.parametrize("grid", GRIDS)
def test_a_grid_tries_every_combination_once_for_each_seed(grid):
    trials = trials_of(settings(grid=grid, seeds=2), 1e-4)
    cells = [(trial.learning_rate, trial.batch_size, trial.epochs, trial.seed) for trial in trials]
    assert sorted(cells) == sorted(itertools.product(*GRIDS[grid], (0, 1)))
    assert len({trial.name for trial in trials}) == len(trials), "no two are called the same"


def test_a_grid_of_rates_keeps_batch_size_and_epochs_and_random_weights_come_last():
    trials = trials_of(settings(grid="rates", batch_size=8, epochs=2), 4e-4)
    assert [trial.learning_rate for trial in trials] == [4e-4, 2e-4, 1e-4]
    assert {(trial.batch_size, trial.epochs) for trial in trials} == {(8, 2)}
    assert trials_of(settings(grid="rates", learning_rate=1e-3), 4e-4)[0].learning_rate == 1e-3
    trials = trials_of(settings(seeds=2, random_baseline=True), 1e-4)
    assert [trial.random for trial in trials] == [False, False, True]
    assert trials[-1].name == "random weights"
    assert not any(trial.random for trial in trials_of(settings(model="random", random_baseline=True), 1e-4))


DONE = [{"step": 8, "seconds": 2.0, "tokens": 100}, {"step": 20, "seconds": 5.0, "tokens": 300}]
STEP = StepDone(4, 1.0, 40, 0.5, 1e-3, 1.0, 40.0, 3.0, {"accuracy": 0.5})


@pytest.mark.parametrize(
    ("event", "moved"),
    [
        (STEP, StepDone(24, 6.0, 340, 0.5, 1e-3, 1.0, 40.0, 3.0 + 10 * 0.25, {"accuracy": 0.5})),
        (EvalDone(4, 1.0, 40, {"loss": 1.0}), EvalDone(24, 6.0, 340, {"loss": 1.0})),
        (CheckpointSaved(4, "x"), CheckpointSaved(24, "x")),
        (SnapshotSaved(4, "x"), SnapshotSaved(24, "x")),
        (RunFinished(4, 1.0, "finished", "x", ""), RunFinished(24, 6.0, "finished", "x", "")),
        (Preparing("read", 0, 0, ""), Preparing("read", 0, 0, "")),
    ],
)
def test_events_of_a_trial_count_on_from_those_before(event, moved):
    assert shifted(event, progress_of(DONE), later_steps=10) == moved
    assert shifted(event, progress_of([]), later_steps=0) == event


def test_trials_that_differ_in_their_seed_alone_are_summed_up():
    alike = {"learning_rate": 1e-3, "batch_size": 8, "epochs": 2, "random": False}
    rows = [
        {**alike, "seed": seed, "name": f"rate 0.001, seed {seed}", "scores": {"accuracy": accuracy, "loss": 1.0}}
        for seed, accuracy in enumerate((0.5, 0.7))
    ]
    (family,) = seed_statistics([*rows, {**alike, "seed": 0, "random": True, "name": "random weights", "scores": {}}])
    assert (family["name"], family["count"]) == ("rate 0.001", 2)
    assert family["mean"] == pytest.approx({"accuracy": 0.6, "loss": 1.0})
    assert family["deviation"] == pytest.approx({"accuracy": 0.02**0.5, "loss": 0.0})


def report(folder):
    return json.loads((folder / "report.json").read_text())


def chosen(body):
    """All of a report that a choice is made by."""
    trials = [{name: value for name, value in row.items() if name != "seconds"} for row in body["trials"]]
    return body["scores"], trials, body["metric"], body["labels"], body["guess"]


def test_another_test_file_changes_no_weight_and_no_choice(files, tmp_path):
    rows = examples("classification", 48)[24:]
    wrong = [replace(row, label={"good": "bad", "bad": "so so", "so so": "good"}[row.label]) for row in rows]
    for name, tested in (("right", rows), ("wrong", tuple(wrong)), ("short", rows[:3]), ("none", ())):
        test = (str(write(tmp_path / f"{name}.tsv", tested)),) if tested else ()
        finish(files.config(test=test, seeds=2, epochs=4, dropout=0.0), tmp_path / name)
    plain = report(tmp_path / "none")
    for name in ("right", "wrong", "short"):
        assert identical(weights(tmp_path / name / "model"), weights(tmp_path / "none" / "model"))
        assert chosen(report(tmp_path / name)) == chosen(plain)
    assert plain["test"] is None
    assert report(tmp_path / "right")["test"]["scores"] != report(tmp_path / "wrong")["test"]["scores"]


def test_the_test_scores_are_those_of_the_saved_model_and_every_score_names_its_split(files, tmp_path):
    test = str(write(tmp_path / "test.tsv", examples("classification", 48)[24:]))
    events = finish(files.config(test=(test,)), tmp_path / "run")
    body = report(tmp_path / "run")
    assert (body["split"], body["test"]["split"]) == ("validation", "test")
    assert body["examples"]["test"] == 24
    checkpoint = load_checkpoint(tmp_path / "run" / "model")
    assert evaluate_task(checkpoint, [test], "classification", threads=1) == body["test"]["scores"]
    assert final_scores(tmp_path / "run", [])["test"] == body["test"]
    names = [type(event).__name__ for event in events]
    assert names[-2:] == ["FinalTestDone", "RunFinished"]
    assert names.count("FinalTestDone") == 1
    lines = [format_event(event) for event in events]
    assert any(line.startswith("validation accuracy") or line.startswith("validation loss") for line in lines)
    assert any(line.startswith("best validation ") for line in lines)
    assert lines[-2].startswith("test loss")
    validation, tested = checkpoint.card.split("## Test scores on test.tsv")
    assert "## Validation scores on" in validation
    assert f"| Accuracy | {body['test']['scores']['accuracy']:.1%} |" in tested


def test_a_run_that_was_stopped_tests_its_model_only_when_it_has_finished(files, tmp_path):
    config = files.config(test=(str(write(tmp_path / "test.tsv", examples("classification", 48)[24:])),))
    assert resumes_exactly(config, tmp_path, steps=3, run=finish)
    assert report(tmp_path / "parts")["test"] == report(tmp_path / "whole")["test"]
    assert load_checkpoint(tmp_path / "parts" / "model").card.count("## Test scores") == 1


def test_every_seed_is_scored_on_the_test_set_once_all_have_been_trained(files, tmp_path, monkeypatch):
    test = str(write(tmp_path / "test.tsv", examples("classification", 48)[24:]))
    trained: list[int] = []

    def scored(*args, **options):
        trained.append(len(list((tmp_path / "run").glob("seeds/*"))))
        return predict_with(*args, **options)

    monkeypatch.setattr(finetune, "predict_with", scored)
    finish(files.config(test=(test,), seeds=2), tmp_path / "run")
    assert trained == [2, 2]
    finish(files.config(test=(test,), seed=1), tmp_path / "second")
    body = report(tmp_path / "run")["test"]
    (family,) = body["families"]
    scores = [body["scores"]["accuracy"], report(tmp_path / "second")["test"]["scores"]["accuracy"]]
    assert family["count"] == 2
    if report(tmp_path / "run")["scores"] == report(tmp_path / "run")["trials"][0]["scores"]:  # the first was chosen
        assert family["mean"]["accuracy"] == pytest.approx(sum(scores) / 2)
    assert not (tmp_path / "run" / "seeds").exists()
