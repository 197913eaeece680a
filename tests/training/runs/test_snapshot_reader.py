"""Snapshots opened as the models that they were, of runs and of shipped models, whatever lies beside them by now."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from bertviz_lab import BertForSequenceClassification, BertForTokenClassification, save_checkpoint
from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import state_for_huggingface
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.checkpoints.snapshots import SHAPE, SnapshotWriter, is_snapshot_step, list_snapshots
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from tests.little import little_checkpoint
from tests.model.support import MASKED_LM, build, same_weights, small_config
from tests.training.support import finish, short_run


def history(folder, seeds=(0, 1), **options):
    """A shipped model with a snapshot for each seed, at steps 0, 10 ...; its last one is the model itself."""
    models = [little_checkpoint(seed=seed, **options) for seed in seeds]
    save_checkpoint(models[-1], folder)
    for place, checkpoint in enumerate(models):
        SnapshotWriter(folder / "snapshots", 10**9).save(checkpoint.model, 10 * place)
    return models


def same(opened, kept):
    """Whether two models have the same weights but for the rounding to 16 bits."""
    pairs = zip(opened.model.parameters(), kept.model.parameters(), strict=True)
    return all(torch.equal(one, other.half().float()) for one, other in pairs)


@pytest.mark.parametrize("shape", [{}, {"share_layers": True}])
def test_every_step_of_a_shipped_model_is_opened_in_32_bits(tmp_path, shape):
    models = history(tmp_path / "m", **shape)
    past = open_snapshots(tmp_path / "m")
    assert past.steps() == (0, 10)
    for step, kept in zip(past.steps(), models, strict=True):
        opened = past.open(step)
        assert same(opened, kept)
        assert {p.dtype for p in opened.model.parameters()} == {torch.float32}
        assert not opened.model.training
        assert opened.config == kept.config


def test_a_model_that_ships_is_the_last_step_of_its_own_history(tmp_path):
    models = history(tmp_path / "m")
    (tmp_path / "m" / "snapshots" / "step-00000010.safetensors").unlink()
    assert open_snapshots(tmp_path / "m").steps() == (0,)
    log = [{"event": "StepDone", "step": 25}, {"event": "RunFinished", "step": 30}]
    (tmp_path / "m" / "training.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in log), encoding="utf-8")
    past = open_snapshots(tmp_path / "m")
    assert past.steps() == (0, 30)
    assert same_weights(past.open(30).model, models[-1].model)
    with pytest.raises(InputError, match="no snapshot of step 25"):
        past.open(25)


def test_of_several_trials_the_best_is_the_one_that_ships(tmp_path):
    history(tmp_path / "m", kind=BertForSequenceClassification, num_labels=2)
    log = [{"event": "RunStarted", "objective": "classification", "step": 0}]
    for trial, accuracy in enumerate((0.5, 0.9, 0.7)):
        log.append({"event": "TrialDone", "step": 50 * trial + 50, "best_step": 50 * trial + 40, "accuracy": accuracy})
    log.append({"event": "RunFinished", "step": 150})
    (tmp_path / "m" / "training.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in log), encoding="utf-8")
    assert open_snapshots(tmp_path / "m").steps()[-1] == 90


@pytest.mark.parametrize("kind", [BertForSequenceClassification, BertForTokenClassification])
def test_models_of_a_task_have_their_heads(tmp_path, kind):
    models = history(tmp_path / "m", kind=kind, num_labels=3, id2label=("a", "b", "c"))
    opened = open_snapshots(tmp_path / "m").open(10)
    assert isinstance(opened.model, kind)
    assert same(opened, models[1])
    assert opened.config.labels == ("a", "b", "c")


def test_a_run_can_be_looked_back_at_before_it_has_a_checkpoint(text, tmp_path):
    run = tmp_path / "run"
    finish(short_run(text), run)
    last = load_checkpoint(run / "model")
    (run / "snapshots" / SHAPE).rename(tmp_path / "shape")
    assert same(open_snapshots(run).open(12), last), "without a configuration it is that of the model"
    (tmp_path / "shape").rename(run / "snapshots" / SHAPE)
    for left in ("model", "checkpoints"):
        shutil.rmtree(run / left)
    past = open_snapshots(run)
    assert past.steps() == (0, 1, 2, 5, 10, 12)
    assert same(past.open(12), last)
    assert past.tokenizer.vocab_size == last.tokenizer.vocab_size


def test_a_missing_snapshot_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="has no snapshots"):
        open_snapshots(tmp_path)
    history(tmp_path / "m")
    past = open_snapshots(tmp_path / "m", "kind")
    (tmp_path / "m" / "snapshots" / "step-00000010.safetensors").unlink()
    with pytest.raises(InputError, match="kind has no snapshot of step 10 any more"):
        past.open(10)
    (tmp_path / "m" / "snapshots" / "step-00000000.safetensors").write_bytes(b"half a file")
    with pytest.raises(InputError, match=r"step-00000000.safetensors is damaged"):
        past.open(0)


def test_snapshots_of_another_model_or_without_a_configuration_are_refused(tmp_path):
    history(tmp_path / "m")
    other = little_checkpoint(hidden_size=16, intermediate_size=32)
    SnapshotWriter(tmp_path / "other", 10**9).save(other.model, 20)
    shutil.copy(tmp_path / "other" / "step-00000020.safetensors", tmp_path / "m" / "snapshots")
    with pytest.raises(InputError, match="does not belong to this model"):
        open_snapshots(tmp_path / "m").open(20)
    history(tmp_path / "m")
    (tmp_path / "m" / "snapshots" / SHAPE).unlink()
    (tmp_path / "m" / "config.json").unlink()
    with pytest.raises(InputError, match="No configuration in m says what model"):
        open_snapshots(tmp_path / "m")


def test_steps_are_spaced_by_their_logarithm():
    found = [step for step in range(1_001) if is_snapshot_step(step)]
    assert found == [0, 1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 500, 700, 1_000]


def test_a_snapshot_is_the_model_in_16_bits_but_for_what_they_cannot_hold(tmp_path):
    model = build(MASKED_LM, small_config())
    path = SnapshotWriter(tmp_path / "s", 10**9).save(model, 5)
    kept, whole = load_file(path), state_for_huggingface(model)
    assert kept.keys() == whole.keys()
    assert all(torch.equal(kept[name], whole[name].half()) for name in whole)
    with torch.no_grad():
        model.mlm.bias[0] = 2e5  # the mean of house prices in the bias of a regression, for example
    path = SnapshotWriter(tmp_path / "s", 10**9).save(model, 5)
    assert load_file(path)["cls.predictions.bias"][0] == 2e5


def test_a_full_room_keeps_the_ends_and_room_for_none_keeps_none(tmp_path):
    model = build(MASKED_LM, small_config())
    assert SnapshotWriter(tmp_path / "s", 0).save(model, 0) == ""
    assert not (tmp_path / "s").exists()
    size = 2 * sum(p.numel() for p in model.parameters())
    snapshots = SnapshotWriter(tmp_path / "s", 4 * size)
    for step in (0, 1, 2, 5, 10, 20, 30):
        snapshots.save(model, step)
    steps = [step for step, _ in list_snapshots(tmp_path / "s")]
    assert len(steps) == 4
    assert (steps[0], steps[-1]) == (0, 30)
