"""A run's folder: written so that whoever reads it, whenever, reads something whole."""

import os
from dataclasses import replace

import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.errors import InputError
from bertviz_lab.training.runs.events import (
    CheckpointSaved,
    EvalDone,
    Preparing,
    RunFinished,
    RunStarted,
    StepDone,
    to_json,
)
from bertviz_lab.training.runs.run_folder import (
    RunState,
    discard_failed_run,
    next_state,
    read_config,
    read_log,
    read_state,
    record,
    write_config,
)

STARTED = RunStarted("r", 4, 10, None, 100, 53, "mlm", "fp32", "cpu", 1, {"mlm_loss": 4.0})
STEP = StepDone(5, 2.5, 640, 3.5, 1e-3, 1.0, 256.0, 7.5, {"mlm_loss": 3.5})
EVENTS = [
    Preparing("read", 0, 0, "Reading the corpus"),
    STARTED,
    STEP,
    EvalDone(5, 2.5, 640, {"mlm_loss": 3.25}),
    CheckpointSaved(5, "run/checkpoints/step-00000005"),
    RunFinished(5, 2.5, "stopped", "run/model", ""),
]


def test_recorded_events_are_passed_on_and_logged(tmp_path):
    assert list(record(EVENTS, tmp_path)) == EVENTS
    lines = (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines == [to_json(event) for event in EVENTS]
    rows, end = read_log(tmp_path)
    assert [row["event"] for row in rows] == [type(event).__name__ for event in EVENTS]
    assert end == (tmp_path / "events.jsonl").stat().st_size


def test_neither_what_a_full_disk_left_nor_a_reader_that_leaves_fails_a_run(tmp_path):
    (tmp_path / "events.jsonl").touch()  # and no state
    assert discard_failed_run(tmp_path)
    stream = record(iter(EVENTS), tmp_path)
    next(stream)
    next(stream)
    stream.close()
    assert read_state(tmp_path).status == "training"
    assert len(read_log(tmp_path)[0]) == 2
    list(record(EVENTS, tmp_path))
    assert not discard_failed_run(tmp_path), "a run that was stopped"


def test_an_event_is_on_disk_before_it_is_passed_on(tmp_path):
    for count, event in enumerate(record(EVENTS, tmp_path), 1):
        assert len(read_log(tmp_path)[0]) == count
        assert read_state(tmp_path).status == {Preparing: "preparing", RunFinished: "stopped"}.get(
            type(event), "training"
        )


def test_the_state_follows_the_events(tmp_path):
    seen = [read_state(tmp_path) for _ in record(EVENTS, tmp_path)]
    assert [state.step for state in seen] == [0, 4, 5, 5, 5, 5]
    assert [state.total_steps for state in seen] == [None, 10, 10, 10, 10, 10]
    assert seen[0].message == "Reading the corpus"
    assert seen[1].message == ""
    assert (seen[2].seconds, seen[2].eta_seconds) == (2.5, 7.5)
    assert [state.model for state in seen] == ["", "", "", "", "run/checkpoints/step-00000005", "run/model"]
    assert seen[-1].eta_seconds is None
    assert {state.pid for state in seen} == {os.getpid()}
    assert seen[-1].updated > 0


def test_an_input_error_is_the_last_event_and_is_raised_again(tmp_path):
    def events():
        yield from EVENTS[:5]
        raise InputError("The loss is infinite or NaN before step 6.")

    with pytest.raises(InputError, match="before step 6"):
        list(record(events(), tmp_path))
    last = (tmp_path / "events.jsonl").read_text().splitlines()[-1]
    expected = "The loss is infinite or NaN before step 6."
    assert last == to_json(RunFinished(5, 2.5, "failed", "run/checkpoints/step-00000005", expected))
    state = read_state(tmp_path)
    assert (state.status, state.message, state.step) == ("failed", expected, 5)
    assert state.model == "run/checkpoints/step-00000005"


def test_folders_that_hold_no_run_or_cannot_be_created_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        next(record(EVENTS, tmp_path / "file" / "run"))
    with pytest.raises(InputError, match="holds no run") as error:
        read_state(tmp_path)
    assert tmp_path.name not in str(error.value)


def test_a_second_session_starts_from_the_state_of_the_first(tmp_path):
    list(record(EVENTS, tmp_path))

    def fails_at_once():
        yield Preparing("read", 0, 0, "Reading the corpus")
        raise InputError("The text is gone.")

    with pytest.raises(InputError):
        list(record(fails_at_once(), tmp_path))
    state = read_state(tmp_path)
    assert (state.step, state.model, state.status) == (5, "run/model", "failed")
    assert len(read_log(tmp_path)[0]) == len(EVENTS) + 2


def test_a_half_written_line_waits_until_it_is_whole(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"event": "A"}\n{"event": "B", "te')
    rows, end = read_log(tmp_path)
    assert rows == [{"event": "A"}]
    assert read_log(tmp_path, end) == ([], end)
    with path.open("ab") as file:
        file.write('xt": "é"}\n'.encode())
    rows, end = read_log(tmp_path, end)
    assert rows == [{"event": "B", "text": "é"}]
    assert end == path.stat().st_size


DAMAGED = [
    *("", "{", "[]", "null", '"text"', "[" * 20_000, '{"status": "asleep"}', '{"status": ["failed"]}', '{"step": "3"}'),
    *('{"step": 2.5}', '{"seconds": NaN}', '{"seconds": null}', '{"updated": 1' + "0" * 400 + "}", '{"pid": true}'),
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_state_is_a_failed_run_that_came_as_far_as_its_log(content, tmp_path):
    (tmp_path / "state.json").write_text(content)
    os.utime(tmp_path / "state.json", (7, 7))
    assert read_state(tmp_path).status == "failed"
    (tmp_path / "events.jsonl").write_text("".join(to_json(event) + "\n" for event in EVENTS[:-1]))
    state = read_state(tmp_path)
    assert (state.status, state.step, state.total_steps, state.seconds, state.updated) == ("failed", 5, 10, 2.5, 7)
    assert "damaged" in state.message
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write(to_json(EVENTS[-1]) + "\n")
    state = read_state(tmp_path)
    assert (state.status, state.model, state.message) == ("stopped", "run/model", "")


@pytest.mark.parametrize("content", [None, "{", "[]", "null"])
def test_a_folder_without_settings_cannot_be_resumed(content, tmp_path):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError, match="no run to resume"):
        read_config(tmp_path)


def test_a_finished_run_keeps_its_checkpoint_where_no_model_was_written():
    state = RunState(model="run/checkpoints/step-00000005", step=3)
    assert next_state(state, RunFinished(3, 1.0, "failed", "", "no disk")).model == "run/checkpoints/step-00000005"


def test_a_step_report_does_not_wait_for_the_disk_and_a_checkpoint_does(tmp_path, monkeypatch):
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append("fsync"))
    steps = [StepDone(n, 1.0, 10, 2.0, 0.1, 1e-3, 5.0, 1.0, {}) for n in range(1, 4)]
    counts = []
    for _ in record([*steps, CheckpointSaved(3, "somewhere")], tmp_path):
        counts.append(len(flushed))
    assert counts[:3] == [0, 0, 0]
    assert counts[3] >= 2, "the log, with the lines before it, and the state"
    assert [row["step"] for row in read_log(tmp_path)[0]] == [1, 2, 3, 3]


def test_settings_are_written_only_where_they_differ(tmp_path):
    config = PretrainConfig(corpus=("a.txt", "b.txt"), steps=6)
    file = tmp_path / "config.json"
    write_config(tmp_path, config)
    os.utime(file, (1, 1))
    write_config(tmp_path, config)
    assert file.stat().st_mtime == 1
    write_config(tmp_path, replace(config, steps=7))
    assert read_config(tmp_path).steps == 7
