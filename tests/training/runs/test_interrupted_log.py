"""A run's log across kills, second sittings and full disks: every step is told once."""

import errno
import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.training.loop.training_run import TrainingRun
from bertviz_lab.training.runs.events import CheckpointSaved, EvalDone, Event, Preparing, RunFinished, to_json
from bertviz_lab.training.runs.run_folder import read_log, read_state, record
from tests.training.runs.test_run_folder import EVENTS, STARTED, STEP


def sitting(first: int, last: int, *, saves: int | None = None) -> list[Event]:
    """A run that goes on after step `first`, through step `last`, with a checkpoint on the way."""
    events: list[Event] = [Preparing("resume", 0, 0, ""), replace(STARTED, step=first)]
    for step in range(first + 1, last + 1):
        events.append(replace(STEP, step=step, loss=1 / step))
        if step == saves:
            events += [EvalDone(step, 0.0, 0, {"mlm_loss": 2 / step}), CheckpointSaved(step, f"step-{step}")]
    return events


def told(folder: Path, *names: str) -> list[tuple]:
    return [(row["event"], row["step"], row.get("loss")) for row in read_log(folder)[0] if row["event"] in names]


def test_the_log_of_a_resumed_run_has_every_step_once(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "torn").mkdir()
    list(record(sitting(0, 12, saves=5), tmp_path / "whole"))
    list(record(sitting(0, 9, saves=5), tmp_path / "torn"))
    list(record(sitting(5, 7), tmp_path / "torn"))
    with (tmp_path / "torn" / "events.jsonl").open("ab") as log:
        log.write(b'{"event": "StepDone", "step": 8, "lo')
    list(record(sitting(5, 12), tmp_path / "torn"))
    names = ("StepDone", "EvalDone", "CheckpointSaved")
    assert told(tmp_path / "torn", *names) == told(tmp_path / "whole", *names)
    assert told(tmp_path / "torn", "RunStarted") == [("RunStarted", step, None) for step in (0, 5)]
    assert b"\n\n" not in (tmp_path / "torn" / "events.jsonl").read_bytes()
    assert read_state(tmp_path / "torn").step == 12


def test_the_log_of_a_resumed_run_does_not_have_the_stop(tmp_path):
    stop = [CheckpointSaved(5, "step-5"), EvalDone(5, 0.0, 0, {}), RunFinished(5, 0.0, "stopped", "model", "")]
    list(record([*sitting(0, 5), *stop], tmp_path))
    list(record(sitting(5, 6), tmp_path))
    names = [row["event"] for row in read_log(tmp_path)[0]]
    assert names[-5:] == ["StepDone", "CheckpointSaved", "Preparing", "RunStarted", "StepDone"]
    assert "RunFinished" not in names


def test_a_stop_while_a_run_prepared_to_resume_is_no_end_of_it(tmp_path):
    list(record(sitting(0, 5), tmp_path))  # killed between saving step 5 and telling so
    list(record([Preparing("read", 0, 0, ""), RunFinished(0, 0.0, "stopped", "", "")], tmp_path))
    end = RunFinished(6, 0.0, "finished", "model", "")
    list(record([*sitting(5, 6), end], tmp_path))
    assert told(tmp_path, "StepDone") == [("StepDone", step, 1 / step) for step in range(1, 7)]
    assert told(tmp_path, "RunFinished") == [("RunFinished", 6, None)]
    list(record([Preparing("read", 0, 0, ""), RunFinished(0, 0.0, "stopped", "", "")], tmp_path))
    assert [row["event"] for row in read_log(tmp_path)[0]][-1] == "RunFinished", "the newest end stays"


def test_a_run_killed_at_its_end_has_its_last_checkpoint_in_the_log_once(tmp_path):
    end = [CheckpointSaved(5, "step-5"), EvalDone(5, 0.0, 0, {}), RunFinished(5, 0.0, "finished", "model", "")]
    list(record([*sitting(0, 5), *end[:2]], tmp_path))
    passed = list(record([*sitting(5, 5), *end], tmp_path))
    assert passed[-3:] == end
    names = [row["event"] for row in read_log(tmp_path)[0]]
    assert names[-5:] == ["CheckpointSaved", "Preparing", "RunStarted", "EvalDone", "RunFinished"]
    assert names.count("CheckpointSaved") == names.count("EvalDone") == 1


def test_the_log_of_a_restarted_run_has_nothing_of_the_first_attempt(tmp_path):
    list(record(sitting(0, 9), tmp_path))
    list(record(sitting(0, 3), tmp_path))
    assert told(tmp_path, "StepDone") == [("StepDone", step, 1 / step) for step in (1, 2, 3)]


def test_a_reader_of_a_log_that_was_cut_gets_it_from_the_beginning(tmp_path):
    list(record(sitting(0, 9), tmp_path))
    _, end = read_log(tmp_path)
    list(record(sitting(5, 6), tmp_path))
    rows, again = read_log(tmp_path, end)
    assert [row["step"] for row in rows if row["event"] == "StepDone"] == [1, 2, 3, 4, 5, 6]
    assert again == (tmp_path / "events.jsonl").stat().st_size
    assert read_log(tmp_path, again) == ([], again)


def test_one_process_at_a_time_writes_a_run(tmp_path):
    first = record(EVENTS, tmp_path)
    next(first)
    with pytest.raises(InputError, match="Another process is training in"):
        next(record(EVENTS, tmp_path))
    first.close()
    assert len(list(record(EVENTS, tmp_path))) == len(EVENTS)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_log_that_cannot_be_written_ends_the_run_with_one_sentence(tmp_path):
    checkpoint = tmp_path / "checkpoints" / "step-00000005"
    checkpoint.mkdir(parents=True)
    passed: list[Event] = []
    with files_of_at_most(2000), pytest.raises(InputError) as told:
        passed.extend(record(sitting(0, 100), tmp_path))  # as far as it comes
    assert str(told.value) == (
        f"{tmp_path} could not be written: File too large. "
        f"The last checkpoint, {checkpoint}, is untouched: free some space, then resume with `resume=True`."
    )
    state = read_state(tmp_path)
    assert (state.status, state.message) == ("failed", str(told.value))
    content = (tmp_path / "events.jsonl").read_bytes()
    assert content.endswith(b"\n")
    assert content.decode().splitlines() == [to_json(event) for event in passed]


def test_a_log_that_may_not_be_written_is_said_before_a_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    list(record(EVENTS, tmp_path))

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("bertviz_lab.training.runs.run_folder.os.truncate", refuse)
    with pytest.raises(
        InputError, match=r"could not be written: Permission denied\..*allow writing there, then resume"
    ):
        next(record(EVENTS, tmp_path))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "?"), "No space left on device. No checkpoint was saved yet: free some space"),
        (OSError(errno.EROFS, "?"), "Read-only file system. No checkpoint was saved yet: allow writing there"),
        (OSError(errno.EDQUOT, "?"), "Disk quota exceeded. No checkpoint was saved yet: free some space"),
        (Exception("I/O error: No space left on device (os error 28)"), "No space left on device"),  # of safetensors
        (PermissionError(errno.EACCES, "?", "run/model/.new"), "Permission denied. No checkpoint .*: allow writing"),
    ],
)
def test_a_failed_write_anywhere_in_the_run_has_the_same_message(
    error: Exception, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "run"

    class Failing(TrainingRun[PretrainConfig]):
        def events(self) -> Iterator[Event]:
            yield EVENTS[0]
            raise error

    run = Failing(PretrainConfig(corpus=("sample:tiny-town",)), folder, False, lambda: False)
    with pytest.raises(InputError, match=message):
        list(record(run.reported_events(""), folder))
    assert re.search(message, read_state(folder).message)
