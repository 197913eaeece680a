"""fp16 weights at log-spaced steps of a run: the model after 0, 1, 2, 5, 10, 20 ... steps, and at the end.

A folder of safetensors files, `snapshots/step-00000010.safetensors`, under Hugging Face's names, with the shape of the
model beside them. Their total size is limited: beyond it, the snapshot is removed whose neighbors are nearest in the
logarithm of the step.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.model.weights import state_for_huggingface, write_tensors
from bertviz_lab.training.checkpoints.atomic_io import atomic_file, clean_up, list_steps, read_object, write_json

#: The `config.json` of the model, so that the first snapshots can be opened before there is a checkpoint.
SHAPE = "config.json"
#: Step -> trained length of the model from that step on.
LENGTHS = "trained_length.json"


def is_snapshot_step(step: int) -> bool:
    """Return whether a step is 0, or 1, 2 or 5 times a power of ten; above 100 also 1.5, 3 or 7 times."""
    first = str(step).rstrip("0")
    return step == 0 or first in ("1", "2", "5") or (step > 100 and first in ("15", "3", "7"))


class SnapshotWriter:
    """The snapshots of one run; `room` is the limit of their total size in bytes."""

    def __init__(self, folder: Path, room: int) -> None:
        self.folder, self.room = folder, room

    def save(self, model: nn.Module, step: int, *, trained_length: int | None = None, write: bool = True) -> str:
        """Save the weights of `step` and remove others beyond the limit; returns the path, "" where two do not fit.

        `trained_length` is the model's at this step, in tokens. Of several processes one is to `write`; all get the
        path.
        """
        size = 2 * sum(p.numel() for p in model.parameters())
        capacity = self.room // max(1, size)
        if capacity < 2:
            return ""
        path = self.folder / f"step-{step:08d}.safetensors"
        if not write:
            return str(path)
        self.folder.mkdir(exist_ok=True)
        if isinstance(config := getattr(model, "config", None), BertConfig):
            body = {"architectures": [config.family.class_name(type(model).__name__)], **config.to_dict()}
            if read_object(self.folder / SHAPE) != body:
                write_json(self.folder / SHAPE, body)
        earlier = {at: length for at, length in read_lengths(self.folder).items() if at < step}
        if trained_length is not None and (not earlier or earlier[max(earlier)] != trained_length):
            write_json(self.folder / LENGTHS, earlier | {step: trained_length})
        clean_up(self.folder, "step-*")
        with atomic_file(path) as fresh:
            write_tensors({name: _in_16_bits(t) for name, t in state_for_huggingface(model).items()}, fresh)
        kept = [(at, file) for at, file in list_snapshots(self.folder) if at <= step or file == path]
        while len(kept) > capacity:
            kept.pop(_most_redundant([at for at, _ in kept]))
        for _, file in set(list_snapshots(self.folder)) - set(kept):
            file.unlink(missing_ok=True)
        return str(path)


def _in_16_bits(tensor: Tensor) -> Tensor:
    """Return a tensor as fp16, or as it is where that overflows, as the head of a regression on large numbers does."""
    half = tensor.to(torch.float16)
    return half if bool(half.isfinite().all()) else tensor


def trained_length_at(folder: Path, step: int) -> int | None:
    """Return tokens of the longest inputs that the model of a snapshot was trained on; None where nothing says so."""
    earlier = {at: length for at, length in read_lengths(folder).items() if at <= step}
    return earlier[max(earlier)] if earlier else None


def read_lengths(folder: Path) -> dict[int, int]:
    """Return from which step on the models in a folder of snapshots were trained on inputs of how many tokens."""
    try:
        return {int(step): int(length) for step, length in read_object(folder / LENGTHS).items()}
    except (ValueError, TypeError):
        return {}


def snapshot_files(snapshot: Path) -> list[Path]:
    """Return the files of a snapshot; a shipped one may be sharded: `step-00000010.2.safetensors` and so on."""
    return [snapshot, *sorted(snapshot.parent.glob(f"{snapshot.stem}.*{snapshot.suffix}"))]


def list_snapshots(folder: Path) -> list[tuple[int, Path]]:
    """(step, file) of the snapshots in a folder, the earliest first."""
    return list_steps(folder, ".safetensors")


def _most_redundant(steps: Sequence[int]) -> int:
    """Return the index, never the first or last, whose neighbors are nearest to each other in the logarithm."""
    inner = range(1, len(steps) - 1)
    return min(inner, key=lambda index: math.log1p(steps[index + 1]) - math.log1p(steps[index - 1]), default=0)
