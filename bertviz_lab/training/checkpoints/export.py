"""Export a model as a Hugging Face folder, verified to open in `transformers`."""

import json
from pathlib import Path

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, save_checkpoint


def export_checkpoint(checkpoint: Checkpoint, folder: Path) -> Path:
    """Write the folder and return it. Raises `InputError` where it is not empty, or `transformers` misses a tensor."""
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; name a new folder.")
    path = save_checkpoint(checkpoint, folder)
    _require_transformers_agrees(path)
    return path


def _require_transformers_agrees(folder: Path) -> None:
    """Open an exported folder with `transformers`, which must find exactly the tensors it expects."""
    import transformers

    architecture = json.loads((folder / "config.json").read_text(encoding="utf-8"))["architectures"][0]
    transformers.logging.set_verbosity_error()
    _, info = getattr(transformers, architecture).from_pretrained(folder, output_loading_info=True)
    problems = [*info["missing_keys"], *info["unexpected_keys"]]
    if problems:
        raise InputError(f"transformers does not find its tensors in {folder}: {', '.join(map(str, problems[:3]))}.")
