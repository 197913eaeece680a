"""Weights at log-spaced steps: which are kept, how large they are, and that they are those of the step."""

import torch
from safetensors.torch import load_file

from bertviz_lab.model.weights import state_for_huggingface
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter, is_snapshot_step, list_snapshots
from bertviz_lab.training.runs.events import SnapshotSaved
from tests.model.support import MASKED_LM, build, small_config
from tests.training.support import finish, short_run, weights


def test_steps_are_spaced_by_their_logarithm():
    found = [step for step in range(1_001) if is_snapshot_step(step)]
    assert found == [0, 1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 500, 700, 1_000]


def test_a_snapshot_is_the_model_in_16_bits(tmp_path):
    model = build(MASKED_LM, small_config())
    path = SnapshotWriter(tmp_path / "s", 10**9).save(model, 5)
    kept, whole = load_file(path), state_for_huggingface(model)
    assert kept.keys() == whole.keys()
    assert all(torch.equal(kept[name], whole[name].half()) for name in whole)


def test_what_16_bits_cannot_hold_is_kept_in_32(tmp_path):
    model = build(MASKED_LM, small_config())
    with torch.no_grad():
        model.mlm.bias[0] = 2e5  # the mean of house prices in the bias of a regression, for example
    path = SnapshotWriter(tmp_path / "s", 10**9).save(model, 5)
    assert load_file(path)["cls.predictions.bias"][0] == 2e5


def test_a_room_that_is_full_loses_what_lies_closest_to_others(tmp_path):
    model = build(MASKED_LM, small_config())
    size = 2 * sum(p.numel() for p in model.parameters())
    snapshots = SnapshotWriter(tmp_path / "s", 4 * size)
    for step in (0, 1, 2, 5, 10, 20, 30):
        snapshots.save(model, step)
    steps = [step for step, _ in list_snapshots(tmp_path / "s")]
    assert len(steps) == 4
    assert (steps[0], steps[-1]) == (0, 30)


def test_without_room_for_two_there_are_none(tmp_path):
    model = build(MASKED_LM, small_config())
    assert SnapshotWriter(tmp_path / "s", 0).save(model, 0) == ""
    assert not (tmp_path / "s").exists()


def test_a_run_keeps_them_and_the_last_is_its_model(text, tmp_path):
    events = finish(short_run(text), tmp_path / "run")
    found = list_snapshots(tmp_path / "run" / "snapshots")
    assert [step for step, _ in found] == [0, 1, 2, 5, 10, 12]
    assert [event.step for event in events if isinstance(event, SnapshotSaved)] == [0, 1, 2, 5, 10, 12]
    last, model = load_file(found[-1][1]), weights(tmp_path / "run" / "model")
    assert all(torch.equal(last[name], model[name].half()) for name in model)
    first = load_file(found[0][1])
    assert any(not torch.equal(last[name], first[name]) for name in model)
