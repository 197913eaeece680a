"""A model as it was: any snapshot of a run, or of a model that ships with its snapshots, opened as a checkpoint.

What all snapshots of one run share, its shape and its tokenizer, is read once; a step then costs no more than its file.
"""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bertviz_lab.config import BertConfig, FinetuneConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import normalize_names, read_tensors, to_huggingface, weight_files
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import (
    ARCHITECTURES,
    Checkpoint,
    checkpoint_folder,
    read_trained_length,
)
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.checkpoints.snapshots import SHAPE, list_snapshots, snapshot_files, trained_length_at
from bertviz_lab.training.finetuning.scoring import METRICS
from bertviz_lab.training.runs.run_folder import read_config, read_shipped_log


@dataclass(frozen=True)
class SnapshotReader:
    """A folder with snapshots, and what is the same for all of them."""

    folder: Path
    kind: type  # of model, one of ARCHITECTURES
    config: BertConfig
    tokenizer: Tokenizer
    name: str = ""
    last: int | None = None  # the step of a model that ships, which is not kept again among its snapshots

    def steps(self) -> tuple[int, ...]:
        """The steps that can be opened now, the earliest first. A run that goes on adds some and removes others."""
        kept = {step for step, _ in list_snapshots(self.folder / "snapshots")}
        return tuple(sorted(kept if self.last is None else kept | {self.last}))

    def open(self, step: int) -> Checkpoint:
        """The model after `step` steps: 32 bits on the CPU, in evaluation mode.

        Raises `InputError` for a step that has no snapshot, or has none any more because of the room.
        """
        gone = InputError(f"{self.name} has no snapshot of step {step:,} any more: its room was needed for others.")
        path = dict(list_snapshots(self.folder / "snapshots")).get(step)
        if path is None and step != self.last:
            raise gone
        files = snapshot_files(path) if path else weight_files(self.folder)
        try:
            model = _filled(self.kind, self.config, files)
        except InputError as error:
            raise error if files[0].is_file() else gone from error
        name = f"{self.name}, step {step:,}"
        length = trained_length_at(self.folder / "snapshots", step) if path else None
        return Checkpoint(
            model=model,
            tokenizer=self.tokenizer,
            config=self.config,
            name=name,
            path=files[0],
            trained_length=length or read_trained_length(self.folder, self.config),
        )


def open_snapshots(folder: Path, name: str = "") -> SnapshotReader:
    """The history of the run, or of the shipped model, in `folder`; `name` is how a person knows it.

    Raises `InputError` where there are no snapshots, or nothing says what model they are of.
    """
    name = name or folder.name
    if not list_snapshots(folder / "snapshots"):
        raise InputError(
            f"{name} has kept no snapshots, so there is nothing to look back at: train with room for some "
            "(snapshot_room above 0)."
        )
    body = _shape(folder)
    architecture = (body.get("architectures") or [""])[0]
    if architecture not in ARCHITECTURES:
        raise InputError(f"Nothing in {name} says what model its snapshots are of.")
    kind, shape = ARCHITECTURES[architecture], BertConfig.from_dict(body)
    return SnapshotReader(folder, kind, shape, _tokenizer(folder), name, _shipped_step(folder))


def open_snapshot(folder: Path, step: int) -> Checkpoint:
    """The model of a run, or of a shipped model's folder, after `step` steps.

    Who opens many reads the past once: `open_snapshots(folder).open(step)`. Raises `InputError` as those do.
    """
    return open_snapshots(folder).open(step)


def _filled(kind: type, config: BertConfig, files: Sequence[Path]) -> nn.Module:
    """The model with the tensors of its files as its weights; no memory is filled with random numbers first."""
    state = normalize_names(read_tensors(files))
    with torch.device("meta"):
        model: nn.Module = kind(config)
    # Layers that share their weights have several names each; the parameter is the same.
    for name, parameter in list(model.named_parameters(remove_duplicate=False)):
        tensor = state.get(to_huggingface(name).removeprefix("bert."))
        if tensor is None or tensor.shape != parameter.shape:
            lacks = f"it lacks {to_huggingface(name)}, or in another shape"
            raise InputError(f"{files[0].name} is not of this model: {lacks}.")
        where, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(where), leaf, nn.Parameter(tensor))
    return model.eval()


def _shipped_step(folder: Path) -> int | None:
    """The step at which a model that ships was taken from its run, by its log; None for a run, or without a log."""
    rows = read_shipped_log(folder)
    score = next((METRICS.get(row["objective"], "") for row in rows if row.get("event") == "RunStarted"), "")
    trials = [row for row in rows if row.get("event") == "TrialDone"]
    if trials:  # the best of them ships
        return int(max(trials, key=lambda row: row.get(score, 0.0))["best_step"])
    return next((row["step"] for row in rows if row.get("event") == "RunFinished"), None)


def _shape(folder: Path) -> dict[str, Any]:
    """The body of the `config.json` of the model that a run trains, wherever it lies by now."""
    for place in (folder / "snapshots" / SHAPE, *(found / "config.json" for found in _models(folder))):
        with contextlib.suppress(OSError, ValueError):
            body = json.loads(place.read_text(encoding="utf-8"))
            if isinstance(body, dict) and "architectures" in body:
                return body
    return {}


def _tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a run: its own, that of a model it has saved, or that of the model it started from."""
    for place in (folder / "tokenizer", *_models(folder)):
        if (place / "tokenizer.json").is_file() or (place / "vocab.txt").is_file():
            return Tokenizer.load(place)
    config = read_config(folder)
    start = config.model if isinstance(config, FinetuneConfig) else config.init_from
    return Tokenizer.load(checkpoint_folder(start, download=False))


def _models(folder: Path) -> list[Path]:
    """Folders that may hold a model of this history: a shipped model is its own."""
    newest = latest_checkpoint(folder)
    return [*([newest] if newest else []), folder / "model", folder]
