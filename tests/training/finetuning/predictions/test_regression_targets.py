"""Regression targets are standardized in training, and every saved model predicts the original unit."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.finetuning.predict import predict_with
from bertviz_lab.training.finetuning.tasks.regression import TargetScaler, head_state
from bertviz_lab.training.runs.events import RunFinished
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.training.finetuning.support import examples, finish, write
from tests.training.support import identical


def rescaled(path, scale=1.0, offset=0.0, outlier=None, count=32):
    """The examples of a regression in another unit; the fifth may be an outlier."""
    rows = [replace(row, label=row.label * scale + offset) for row in examples("regression", count)]
    if outlier is not None:
        rows[4] = replace(rows[4], label=outlier)
    return str(write(path, tuple(rows)))


def predicted(folder):
    """The numbers predicted for the first eight examples."""
    return np.array([float(p.label) for p in predict_with(load_checkpoint(folder), examples("regression", 8))[0]])


def test_a_single_target_of_a_million_neither_ends_the_run_nor_spoils_the_model(files, tmp_path):
    train = rescaled(tmp_path / "train.tsv", outlier=1e6)
    options = {"epochs": 24, "learning_rate": 5e-3, "dropout": 0.0, "metric": "loss"}
    config = files.config("regression", train=(train,), **options)
    events = finish(config, tmp_path / "run")
    assert isinstance(events[-1], RunFinished)
    assert events[-1].reason == "finished"
    scores = json.loads((tmp_path / "run" / "report.json").read_text())["scores"]
    assert scores["spearman"] > 0.9
    assert scores["mae"] < 0.3, "targets lie between 10 and 11.5"


@pytest.mark.parametrize(("scale", "offset"), [(1e4, 5e6), (1e-4, 0.0)])
def test_training_is_the_same_in_every_unit_and_predictions_come_back_in_it(scale, offset, files, tmp_path):
    for name, unit in (("plain", (1.0, 0.0)), ("other", (scale, offset))):
        data = rescaled(tmp_path / f"{name}.tsv", *unit)
        options = {"train": (data,), "eval": (data,), "epochs": 6, "learning_rate": 5e-3, "dropout": 0.0}
        finish(files.config("regression", **options), tmp_path / name)
    plain, other = (predicted(tmp_path / name / "model") for name in ("plain", "other"))
    np.testing.assert_allclose((other - offset) / scale, plain, rtol=2e-3)
    assert np.abs(plain - 10.75).max() < 1.5


def test_a_regression_model_predicts_its_unit_everywhere_and_is_fine_tuned_further(files, tmp_path):
    data = rescaled(tmp_path / "data.tsv", 1000.0)
    config = files.config("regression", train=(data,), eval=(data,))
    finish(config, tmp_path / "run")
    for folder in (tmp_path / "run" / "model", latest_checkpoint(tmp_path / "run")):
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        rows = examples("regression", 8)
        with torch.inference_mode():
            told = [float(model(**tokenizer(row.text_a, return_tensors="pt")).logits) for row in rows]
        np.testing.assert_allclose(told, predicted(folder), rtol=1e-4)
        assert 8_000 < np.mean(told) < 13_000
    past = open_snapshots(tmp_path / "run")
    first, _ = predict_with(past.open(past.steps()[0]), examples("regression", 8))
    assert 8_000 < np.mean([float(p.label) for p in first]) < 13_000
    finish(replace(config, model=str(tmp_path / "run" / "model")), tmp_path / "again", should_stop=lambda: True)
    told = [predicted(folder) for folder in (tmp_path / "run" / "model", latest_checkpoint(tmp_path / "again"))]
    np.testing.assert_allclose(*told, rtol=1e-4)


@pytest.mark.parametrize("outlier", [1e6, -1e6, 1e30])
def test_mean_and_deviation_are_those_of_the_targets_without_the_outlier(outlier):
    targets = np.random.default_rng(0).normal(50.0, 10.0, 100)
    scaler = TargetScaler.fit([*targets, outlier])
    assert scaler.mean == pytest.approx(50.0, abs=3)
    assert 7 < scaler.std < 13


@pytest.mark.parametrize("targets", [[3.0], [3.0, 3.0, 3.0], [0.0] * 99 + [5.0]])
def test_equal_targets_have_a_deviation_to_divide_by(targets):
    scaler = TargetScaler.fit(targets)
    assert np.isfinite(scaler.standardize(np.array(targets))).all()


@pytest.mark.parametrize(
    ("targets", "message"),
    [([1.0, 2.0, 1e39], "beyond 3.4e38"), ([1.7e9 + n for n in range(20)], "Subtract the same number")],
)
def test_targets_that_32_bits_cannot_hold_are_refused(targets, message):
    with pytest.raises(InputError, match=message):
        TargetScaler.fit(targets)


def test_the_head_is_bit_for_bit_the_same_after_it_predicted_the_original_unit():
    head = torch.nn.Linear(8, 1)
    before = head_state(head)
    with TargetScaler(3.7, 0.123).original_unit(head):
        assert not identical(head_state(head), before)
    assert identical(head_state(head), before)
