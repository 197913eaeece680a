"""An export is a whole folder or none."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints import onnx_export
from bertviz_lab.training.checkpoints.onnx_export import export_checkpoint
from tests.little import little_checkpoint

TORCH_RUN = onnx_export._torch_run


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), RuntimeError("I/O error: No space left (os error 28)")],
    ids=["python", "rust"],
)
@pytest.mark.parametrize("step", ["write_checkpoint", "_require_tensors", "export_onnx"])
def test_a_full_disk_is_told_in_one_sentence_and_leaves_no_folder(tmp_path, monkeypatch, step, error):
    def fails(*arguments: object) -> None:
        folder = next(a for a in arguments if isinstance(a, Path))
        (folder / "half").write_bytes(b"x")
        raise error

    monkeypatch.setattr(onnx_export, step, fails)
    with pytest.raises(InputError, match=r"exported cannot be written: No space left on device\.$"):
        export_checkpoint(little_checkpoint(), tmp_path / "exported", onnx=True)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_while_the_weights_are_quantized_is_told_as_such(tmp_path, monkeypatch):
    def fails(*arguments: object, **options: object) -> None:
        raise ValueError("Wire format was corrupt")  # as of a copy that was cut off without a word

    monkeypatch.setattr("onnxruntime.quantization.quantize_dynamic", fails)
    with pytest.raises(ValueError, match="Wire format"):
        export_checkpoint(little_checkpoint(), tmp_path / "exported", onnx=True)
    usage = shutil.disk_usage(tmp_path)._replace(free=1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        export_checkpoint(little_checkpoint(), tmp_path / "exported", onnx=True)
    assert list(tmp_path.iterdir()) == []


def test_graphs_that_are_refused_leave_no_model_without_them(tmp_path, monkeypatch):
    other = little_checkpoint(seed=1)
    monkeypatch.setattr(onnx_export, "_torch_run", lambda model, outputs: TORCH_RUN(other.model, outputs))
    with pytest.raises(InputError, match="differs from the model"):
        export_checkpoint(little_checkpoint(), tmp_path / "exported", onnx=True)
    assert list(tmp_path.iterdir()) == []


def test_what_somebody_puts_into_the_folder_meanwhile_stays_and_a_link_stays_one(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    export_checkpoint(little_checkpoint(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "config.json").is_file()
    (tmp_path / "new").mkdir()
    monkeypatch.setattr(onnx_export, "_require_tensors", lambda *_: (tmp_path / "new" / "mine.txt").write_text("mine"))
    with pytest.raises(InputError, match="Directory not empty"):
        export_checkpoint(little_checkpoint(), tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mine.txt"]


def test_a_folder_below_a_file_and_one_without_a_name_are_refused_in_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(InputError, match=r"file/new cannot be written: (File exists|Not a directory)"):
        export_checkpoint(little_checkpoint(), tmp_path / "file" / "new")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="name a new one"):
        export_checkpoint(little_checkpoint(), Path())
