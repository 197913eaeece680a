"""Checkpoints: whole or not there, verified before use, the last few and the best kept."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints import checkpoint_manager
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint, latest_checkpoint


def writing(text: str) -> Callable[[Path], None]:
    """Writes two files, one of them in a folder below."""

    def write(folder: Path) -> None:
        (folder / "model.bin").write_text(text * 100)
        (folder / "more").mkdir()
        (folder / "more" / "trainer.json").write_text(json.dumps({"text": text}))

    return write


def fails(error: BaseException) -> Callable[[Path], None]:
    """Writes half, then fails."""

    def write(folder: Path) -> None:
        (folder / "model.bin").write_text("half")
        raise error

    return write


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def flip(path: Path, byte: int = 10) -> None:
    content = bytearray(path.read_bytes())
    content[byte] ^= 1
    path.write_bytes(content)


@pytest.fixture
def two(tmp_path: Path) -> CheckpointManager:
    """The checkpoints of steps 10 and 20."""
    checkpoints = CheckpointManager(tmp_path)
    checkpoints.save(10, writing("a"))
    checkpoints.save(20, writing("b"))
    return checkpoints


def test_where_nothing_was_saved_there_is_nothing_and_a_first_one_that_fails_says_so(tmp_path):
    checkpoints = CheckpointManager(tmp_path / "run" / "checkpoints")
    assert checkpoints.newest() is None
    assert latest_checkpoint(tmp_path / "run") is None
    with pytest.raises(InputError, match="There is none before it"):
        CheckpointManager(tmp_path).save(30, fails(OSError(28, "No space left on device")))
    assert names(tmp_path) == []


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_newest_are_kept(count, tmp_path):
    checkpoints = CheckpointManager(tmp_path, keep=count)
    for step in (9, 10, 11, 100_000_000):
        checkpoints.save(step, writing("x"))
    expected = ["step-00000009", "step-00000010", "step-00000011", "step-100000000"][-count:]
    assert names(tmp_path) == sorted(expected)
    assert checkpoints.newest().step == 100_000_000


def test_the_best_is_kept_also_across_a_restart(tmp_path):
    for step, score in ((1, 3.0), (2, 1.0), (3, float("nan")), (4, 2.0), (5, None), (6, 1.5)):
        CheckpointManager(tmp_path, keep=1).save(step, writing("x"), score)
    assert names(tmp_path) == ["step-00000002", "step-00000006"]
    CheckpointManager(tmp_path, keep=1).save(7, writing("x"), 0.5)
    assert names(tmp_path) == ["step-00000007"]


def change_a_step(folder: Path) -> None:
    path = folder / "checksums.json"
    path.write_text(path.read_text().replace('"step": 20', '"step": 21'))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda folder: (folder / "model.bin").write_text("b" * 99), "model.bin has 99 bytes, not 100"),
        (lambda folder: (folder / "more" / "trainer.json").unlink(), "more/trainer.json is missing"),
        (lambda folder: (folder / "checksums.json").unlink(), "checksums.json is missing"),
        (lambda folder: flip(folder / "model.bin"), "model.bin fails its checksum"),
        (change_a_step, "checksums.json is damaged"),
        (lambda folder: (folder / "checksums.json").write_text("[]"), "checksums.json is damaged"),
    ],
)
def test_a_damaged_checkpoint_is_passed_over_with_the_reason(damage, reason, two, tmp_path):
    damage(tmp_path / "step-00000020")
    assert two.newest() == SavedCheckpoint(tmp_path / "step-00000010", 10, (f"step-00000020: {reason}",))


def test_a_damaged_one_takes_no_place_of_the_good_ones(two, tmp_path):
    flip(tmp_path / "step-00000020" / "model.bin")
    assert two.newest().step == 10
    two.save(15, writing("c"))
    assert names(tmp_path) == ["step-00000010", "step-00000015"]
    flip(tmp_path / "step-00000015" / "model.bin")
    assert two.newest().step == 10
    two.save(25, writing("d"))
    assert names(tmp_path) == ["step-00000010", "step-00000025"]


def test_where_all_are_damaged_nothing_is_begun_anew_unasked(two, tmp_path):
    flip(tmp_path / "step-00000010" / "model.bin")
    (tmp_path / "step-00000020" / "more" / "trainer.json").unlink()
    with pytest.raises(InputError, match=r"is intact \(step-00000020: .* is missing; step-00000010: .*remove that"):
        two.newest()


def test_a_checkpoint_of_a_newer_version_is_refused_not_passed_over(two, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_manager, "FORMAT", checkpoint_manager.FORMAT + 1)
    two.save(30, writing("c"))
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"newer version of the lab .* update the lab"):
        CheckpointManager(tmp_path).newest()


def test_partial_checkpoints_of_a_killed_process_are_removed(two, tmp_path):
    for left in (".step-00000030-ab_12xyz", ".step-00000005-gone"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "model.bin").write_text("half")
    (tmp_path / ".keep-me-").mkdir()
    assert two.newest().step == 20
    assert names(tmp_path) == [".keep-me-", "step-00000010", "step-00000020"]
    (tmp_path / ".step-00000030-ab_12xyz").mkdir()
    two.save(30, writing("c"))
    assert names(tmp_path) == [".keep-me-", "step-00000020", "step-00000030"]


def test_partial_and_interrupted_checkpoints_are_removed_or_restored(two, tmp_path):
    (tmp_path / "step-00000020").rename(tmp_path / ".step-00000020-old")
    (tmp_path / ".step-00000020-newwwwww").mkdir()
    assert two.newest().step == 20
    assert names(tmp_path) == ["step-00000010", "step-00000020"]
    shutil.copytree(tmp_path / "step-00000010", tmp_path / ".step-00000020-old")
    assert (two.newest().path / "model.bin").read_text() == "b" * 100
    assert names(tmp_path) == ["step-00000010", "step-00000020"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        Exception("Error while serializing: I/O error: No space left on device (os error 28)"),
    ],
    ids=["python", "rust"],
)
def test_a_full_disk_names_the_last_good_checkpoint_and_leaves_it(error, two, tmp_path):
    with pytest.raises(InputError) as told:
        two.save(30, fails(error))
    assert str(told.value) == (
        "The checkpoint of step 30 could not be written: No space left on device. "
        f"The last good one, of step 20, is {tmp_path / 'step-00000020'}. "
        f"Free some space for {tmp_path}, then resume with --resume."
    )
    assert names(tmp_path) == ["step-00000010", "step-00000020"]
    assert two.newest().step == 20


@pytest.mark.parametrize("error", [TypeError("a bug"), KeyboardInterrupt()])
def test_an_error_that_is_not_the_disk_s_goes_up_as_it_is(error, two, tmp_path):
    with pytest.raises(type(error)):
        two.save(30, fails(error))
    assert names(tmp_path) == ["step-00000010", "step-00000020"]
