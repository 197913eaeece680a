"""Files that are whole or absent, and the checkpoints of a run that are kept, passed over or restored."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import Timeout

import bertviz_lab
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints import atomic_io, checkpoint_manager
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder, clean_up, exclusive_lock, write_bytes, write_json
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint, latest_checkpoint
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.finetuning.tasks.base import Prediction, write_predictions
from bertviz_lab.training.runs.run_folder import RunState, write_state
from tests.little import little_checkpoint


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


def test_where_nothing_was_saved_there_is_nothing(tmp_path):
    checkpoints = CheckpointManager(tmp_path / "run" / "checkpoints")
    assert checkpoints.newest() is None
    assert latest_checkpoint(tmp_path / "run") is None


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


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), TypeError("a bug"), KeyboardInterrupt()])
def test_a_checkpoint_that_fails_leaves_the_earlier_ones(error, two, tmp_path):
    with pytest.raises(type(error)):
        two.save(30, fails(error))
    assert names(tmp_path) == ["step-00000010", "step-00000020"]
    assert two.newest().step == 20


def write_folder(folder: Path) -> None:
    with atomic_folder(folder / "f") as fresh:
        (fresh / "a").write_text("a")


WRITERS: dict[str, Callable[[Path], object]] = {
    "bytes": lambda folder: write_bytes(folder / "f", b"abc"),
    "json": lambda folder: write_json(folder / "f", {"a": 1}),
    "state": lambda folder: write_state(folder, RunState()),
    "snapshot": lambda folder: SnapshotWriter(folder, 10**9).save(little_checkpoint().model, 5),
    "predictions": lambda folder: write_predictions(folder / "f", [LabelledText("a", None, "b", 1)], [Prediction("b")]),
    "folder": write_folder,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_flushed_before_it_takes_its_name(name, tmp_path, monkeypatch):
    flushed: list[list[str]] = []

    def fsync(handle: int) -> None:
        flushed.append([path for path in os.listdir(tmp_path) if not path.startswith(".")])

    monkeypatch.setattr(atomic_io.os, "fsync", fsync)
    WRITERS[name](tmp_path)
    assert flushed, "nothing was flushed"
    assert flushed[0] == []
    assert [path for path in os.listdir(tmp_path) if not path.startswith(".")]


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_fails_leaves_no_partial_file(name, tmp_path, monkeypatch):
    def fsync(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic_io.os, "fsync", fsync)
    with pytest.raises(OSError, match="No space left"):
        WRITERS[name](tmp_path)
    assert os.listdir(tmp_path) == []


def test_no_other_module_replaces_files():
    package = Path(bertviz_lab.__file__).parent
    found = [path.name for path in package.rglob("*.py") if re.search(r"os\.(replace|rename)\(", path.read_text())]
    assert found == ["atomic_io.py"]


def test_partial_writes_are_removed_and_a_replaced_folder_is_put_back(tmp_path):
    for name in (".model-ab12", ".model-old"):
        (tmp_path / name).mkdir()
    (tmp_path / ".model-cd34").write_text("half")
    clean_up(tmp_path, "model")
    assert os.listdir(tmp_path) == ["model"]


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    (tmp_path / "private").touch(0o600)
    write_bytes(tmp_path / "private", b"new")
    write_bytes(tmp_path / "other", b"new")
    assert (tmp_path / "private").read_bytes() == b"new"
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "other").stat().st_mode & 0o044


def test_a_lock_is_held_by_one_at_a_time_and_released_at_the_end(tmp_path):
    lock = tmp_path / "lock"
    with exclusive_lock(lock, seconds=0), pytest.raises(Timeout), exclusive_lock(lock, seconds=0):
        pass
    with exclusive_lock(tmp_path / "lock", seconds=0):
        pass


def test_where_the_file_system_has_no_locks_everybody_is_let_in(tmp_path, monkeypatch):
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", unsupported)
    entered = 0
    with exclusive_lock(tmp_path / "lock", seconds=-1):
        entered += 1
    assert entered == 1
