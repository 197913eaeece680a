"""A model as a new folder for others, with ONNX graphs if they are wanted: it is there when all of it is written."""

from dataclasses import replace
from pathlib import Path

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder, disk_error
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, write_checkpoint
from bertviz_lab.training.checkpoints.onnx_export import FOLDER, OnnxReport, export_onnx


def export_checkpoint(checkpoint: Checkpoint, folder: Path, *, onnx: bool = False) -> OnnxReport | None:
    """Write a new folder and open it with `transformers`, which must find exactly the tensors it expects.

    With `onnx` the graphs are in it, and what was measured of them in its card. Raises `InputError` where the folder
    is not empty or cannot be written, `transformers` misses a tensor, or the graphs are refused; then nothing is left.
    """
    if not folder.name or (folder.exists() and not (folder.is_dir() and not any(folder.iterdir()))):
        raise InputError(f"{folder} is not an empty folder; name a new one.")
    report, folder = None, folder.resolve()  # where it is a link to a folder, that is filled
    try:
        with atomic_folder(folder) as fresh:
            write_checkpoint(checkpoint, fresh)
            _require_tensors(checkpoint, fresh, folder)
            if onnx:
                report = export_onnx(checkpoint, fresh)
                card = f"{checkpoint.card.rstrip()}\n\n{report.card_section()}\n".lstrip()
                (fresh / "README.md").write_text(card, encoding="utf-8")
            if folder.exists():
                folder.rmdir()  # fails if something has been put there meanwhile
    except Exception as error:
        reason = disk_error(error) or (isinstance(error, OSError) and error.strerror)
        if not reason:
            raise
        raise InputError(f"{folder} cannot be written: {reason}.") from error
    return replace(report, path=folder / FOLDER) if report else None


def _require_tensors(checkpoint: Checkpoint, written: Path, folder: Path) -> None:
    """Raises `InputError` where `transformers` misses a tensor or has no place for it."""
    import transformers  # takes seconds

    transformers.logging.set_verbosity_error()
    _, info = getattr(transformers, checkpoint.architecture).from_pretrained(written, output_loading_info=True)
    if problems := [*info["missing_keys"], *info["unexpected_keys"]]:
        raise InputError(f"transformers does not find its tensors in {folder}: {', '.join(map(str, problems[:3]))}.")
