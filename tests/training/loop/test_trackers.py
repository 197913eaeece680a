"""Curves for other eyes."""

import struct
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event as TensorBoardEvent

from bertviz_lab.errors import InputError
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.loop.trackers import track
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs.events import EvalDone, ProbesDone, RunFinished, RunStarted, StepDone
from bertviz_lab.training.runs.run_folder import discard_failed_run, record
from tests.training.support import short_run

EVENTS = [
    RunStarted("run", 0, 2, None, 10, 5, "mlm", "fp32", "cpu", 1, {}),
    StepDone(1, 0.1, 10, 6.5, 1e-3, 0.7, 100.0, 1.0, {"mlm_loss": 6.25}),
    EvalDone(2, 0.2, 20, {"mlm_accuracy": 0.5}),
    ProbesDone(2, 0.2, 20, "english", {"word_order": 0.75}),
    RunFinished(2, 0.2, "finished", "model", ""),
]


def scalars(folder: Path) -> Counter:
    """How often each curve has a point at each step, in all TensorBoard files of a folder."""
    points: Counter = Counter()
    for path in folder.rglob("events.out*"):
        content, offset = path.read_bytes(), 0
        while offset < len(content):  # length, its checksum, the event, its checksum
            (length,) = struct.unpack_from("<Q", content, offset)
            event = TensorBoardEvent.FromString(content[offset + 12 : offset + 12 + length])
            points.update((value.tag, event.step) for value in event.summary.value if value.HasField("simple_value"))
            offset += length + 16
    return points


def session(first: int, steps: range) -> list:
    """The events of a session that starts from step `first` and reports these."""
    losses = [StepDone(step, 0.1, 10, 6.5, 1e-3, 0.7, 100.0, 1.0, {}) for step in steps]
    return [RunStarted("run", first, 100, None, 10, 5, "mlm", "fp32", "cpu", 1, {}), *losses]


def test_tensorboard_files_hold_the_curves_and_without_a_tracker_the_events_pass(text, tmp_path):
    assert list(track(EVENTS, short_run(text), tmp_path)) == EVENTS
    assert not list(tmp_path.iterdir())
    assert list(track(EVENTS, short_run(text, tracker="tensorboard"), tmp_path)) == EVENTS
    points = {tag for tag, _ in scalars(tmp_path / "tensorboard")}
    assert points >= {"train/mlm_loss", "train/tokens_per_second", "held_out/mlm_accuracy", "probes/word_order"}


def test_a_resumed_run_adds_to_its_curves_and_repeats_no_point(text, tmp_path):
    config = short_run(text, tracker="tensorboard")
    list(track(session(0, range(1, 10)), config, tmp_path))
    list(track(session(5, range(6, 8)), config, tmp_path))  # killed before it had caught up
    list(track(session(5, range(6, 13)), config, tmp_path))
    points = scalars(tmp_path / "tensorboard")
    assert {step for tag, step in points if tag == "train/loss"} == set(range(1, 13))
    assert set(points.values()) == {1}
    assert len(list(tmp_path.rglob("hparams.yml"))) == 1


def test_a_run_in_place_of_a_failed_one_has_curves_of_its_own(text, tmp_path):
    config = short_run(text, tracker="tensorboard")

    def failing():
        yield from session(0, range(1, 4))
        raise InputError("no more")

    with pytest.raises(InputError):
        list(track(record(failing(), tmp_path), config, tmp_path))
    assert discard_failed_run(tmp_path)
    list(track(session(0, range(1, 4)), config, tmp_path))
    assert scalars(tmp_path)["train/loss", 1] == 2


def test_pretraining_and_fine_tuning_from_python_send_their_curves_and_resume_them(text, files, tmp_path):
    config = short_run(text, tracker="tensorboard", probes=False)
    list(pretrain(replace(config, steps=4), tmp_path / "run"))
    list(pretrain(replace(config, steps=8), tmp_path / "run", resume=True))
    points = scalars(tmp_path / "run" / "tensorboard")
    assert set(points.values()) == {1}
    assert {4, 8} <= {step for tag, step in points if tag == "train/loss"}
    with pytest.raises(InputError, match="no tracker 'tensorbord'"):
        list(pretrain(replace(config, tracker="tensorbord"), tmp_path / "refused"))
    list(finetune(files.config(epochs=1, tracker="tensorboard"), tmp_path / "task"))
    assert ("held_out/accuracy", 2) in scalars(tmp_path / "task")


def test_a_tracker_that_is_not_installed_or_does_not_start_is_one_clear_line(text, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="tracker comet_ml is not installed"):
        list(track(EVENTS, short_run(text, tracker="comet_ml"), tmp_path))

    def refuse(self):
        raise RuntimeError("not logged in.\nCall login() first")

    monkeypatch.setattr("accelerate.tracking.TensorBoardTracker.start", refuse)
    with pytest.raises(InputError, match=r"^The tracker tensorboard could not be started: not logged in\.$"):
        list(track(EVENTS, short_run(text, tracker="tensorboard"), tmp_path))
