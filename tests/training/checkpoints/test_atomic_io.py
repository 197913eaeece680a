"""Atomic writes: one module for all, flushed to the disk before a name is taken."""

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import Timeout

import bertviz_lab
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.training.checkpoints import atomic_io
from bertviz_lab.training.checkpoints.atomic_io import (
    atomic_folder,
    exclusive_lock,
    remove_partial_writes,
    write_bytes,
    write_json,
)
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.finetuning.tasks.base import Prediction, write_predictions
from bertviz_lab.training.runs.run_folder import RunState, write_state
from tests.little import little_checkpoint


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


def test_partial_writes_are_removed_and_a_replaced_folder_is_kept(tmp_path):
    for name in (".model-ab12", ".model-old"):
        (tmp_path / name).mkdir()
    (tmp_path / ".model-cd34").write_text("half")
    remove_partial_writes(tmp_path / "model")
    assert os.listdir(tmp_path) == [".model-old"]


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
