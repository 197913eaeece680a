"""Curves for other eyes."""

import pytest

from bertviz_lab.errors import InputError
from bertviz_lab.training.runs.events import EvalDone, ProbesDone, RunFinished, RunStarted, StepDone
from bertviz_lab.training.runs.trackers import track
from tests.training.support import short_run

EVENTS = [
    RunStarted("run", 0, 2, None, 10, 5, "mlm", "fp32", "cpu", 1, {}),
    StepDone(1, 0.1, 10, 6.5, 1e-3, 0.7, 100.0, 1.0, {"mlm_loss": 6.25}),
    EvalDone(2, 0.2, 20, {"mlm_accuracy": 0.5}),
    ProbesDone(2, 0.2, 20, "english", {"word_order": 0.75}),
    RunFinished(2, 0.2, "finished", "model", ""),
]


def test_without_a_tracker_the_events_pass(text, tmp_path):
    assert list(track(EVENTS, short_run(text), tmp_path)) == EVENTS
    assert not list(tmp_path.rglob("events.out*"))


def test_tensorboard_files_hold_the_curves(text, tmp_path):
    assert list(track(EVENTS, short_run(text, tracker="tensorboard"), tmp_path)) == EVENTS
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("events.out*"))
    for name in (b"train/mlm_loss", b"train/tokens_per_second", b"held_out/mlm_accuracy", b"probes/word_order"):
        assert name in content


def test_an_unknown_tracker_is_refused_with_those_there_are(text, tmp_path):
    with pytest.raises(InputError, match=r"no tracker 'tensorbord'; Accelerate knows .*tensorboard"):
        list(track(EVENTS, short_run(text, tracker="tensorbord"), tmp_path))


def test_a_tracker_that_is_not_installed_is_named(text, tmp_path):
    with pytest.raises(InputError, match="tracker comet_ml is not installed"):
        list(track(EVENTS, short_run(text, tracker="comet_ml"), tmp_path))
