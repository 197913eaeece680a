"""Open any snapshot of a run, or of a model that ships with its snapshots, as a checkpoint.

The configuration and the tokenizer are shared by all snapshots and read once; then each step costs only its weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bertviz_lab.config import BertConfig, FinetuneConfig
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.names import METRICS
from bertviz_lab.model.weights import load_state, read_tensors, weight_files
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.tokenization.tokenizer_files import holds_tokenizer
from bertviz_lab.training.checkpoints.atomic_io import read_object
from bertviz_lab.training.checkpoints.checkpoint import (
    ARCHITECTURES,
    Checkpoint,
    checkpoint_folder,
    read_trained_length,
)
from bertviz_lab.training.checkpoints.checkpoint_manager import latest_checkpoint
from bertviz_lab.training.checkpoints.snapshots import SHAPE, list_snapshots, snapshot_files, trained_length_at
from bertviz_lab.training.runs.run_folder import SHIPPED_LOG, read_config, read_log


@dataclass(frozen=True)
class SnapshotReader:
    """A folder with snapshots, and what they share."""

    folder: Path
    kind: type  # of model, one of ARCHITECTURES
    config: BertConfig
    tokenizer: Tokenizer
    name: str = ""
    last: int | None = None  # the step of a shipped model, whose weights are not repeated among its snapshots

    def steps(self) -> tuple[int, ...]:
        """Return the steps that can be opened now, the earliest first; a run in progress adds and removes some."""
        kept = {step for step, _ in list_snapshots(self.folder / "snapshots")}
        return tuple(sorted(kept if self.last is None else kept | {self.last}))

    def open(self, step: int) -> Checkpoint:
        """Return the model after `step` steps: 32 bits on the CPU, in evaluation mode.

        Raises `InputError` for a step that has no snapshot, or whose snapshot was removed to save space.
        """
        removed = InputError(
            f"{self.name} has no snapshot of step {step:,} any more: it was removed to make room for others."
        )
        path = dict(list_snapshots(self.folder / "snapshots")).get(step)
        if path is None and step != self.last:
            raise removed
        files = snapshot_files(path) if path else weight_files(self.folder)
        try:
            model = _load_model(self.kind, self.config, files)
        except InputError as error:
            raise error if files[0].is_file() else removed from error
        length = trained_length_at(self.folder / "snapshots", step) if path else None
        length = length or read_trained_length(self.folder, self.config)
        name = f"{self.name}, step {step:,}"
        return Checkpoint(model, self.tokenizer, self.config, name=name, path=files[0], trained_length=length)


def open_snapshots(folder: str | Path, name: str = "") -> SnapshotReader:
    """Return the snapshots of the run, or of the shipped model, in `folder`; `name` is used in messages.

    Raises `InputError` where there are no snapshots, or nothing says what model they belong to.
    """
    folder = Path(folder)
    name = name or folder.name
    if not list_snapshots(folder / "snapshots"):
        raise InputError(f"{name} has no snapshots: train with room for some (snapshot_room above 0).")
    body = _shape(folder)
    architecture = str((body.get("architectures") or [""])[0])
    shape = BertConfig.from_dict(body)
    kind = shape.family.kind_name(architecture)
    if kind is None:
        raise InputError(f"No configuration in {name} says what model its snapshots belong to.")
    return SnapshotReader(folder, ARCHITECTURES[kind], shape, _tokenizer(folder), name, _shipped_step(folder))


def _load_model(kind: type, config: BertConfig, files: Sequence[Path]) -> nn.Module:
    """Return the model with the tensors of its files as weights, without random initialization."""
    with torch.device("meta"):
        model: nn.Module = kind(config)
    try:
        missing = load_state(model.to_empty(device="cpu"), read_tensors(files)).missing
    except InputError as error:
        raise InputError(f"{files[0].name} does not belong to this model: {error}") from error
    if missing:
        raise InputError(f"{files[0].name} does not belong to this model: {missing[0]} is missing.")
    return model.eval()


def _shipped_step(folder: Path) -> int | None:
    """Return the step of a shipped model, by its log; None for a run, or without a log."""
    rows = read_log(folder, name=SHIPPED_LOG)[0]
    objective = next((row["objective"] for row in rows if row.get("event") == "RunStarted"), "")
    (score, *_) = METRICS.get(objective, ("",))
    trials = [row for row in rows if row.get("event") == "TrialDone"]
    if trials:  # the best trial ships
        return int(max(trials, key=lambda row: row.get(score, 0.0))["best_step"])
    return next((row["step"] for row in rows if row.get("event") == "RunFinished"), None)


def _shape(folder: Path) -> dict[str, Any]:
    """Return the body of the `config.json` of the model that a run trains, wherever there is one."""
    places = (folder / "snapshots" / SHAPE, *(model / "config.json" for model in _models(folder)))
    return next((body for body in map(read_object, places) if "architectures" in body), {})


def _tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of a run: its own, or that of a saved model, or that of the model it started from."""
    for path in (folder / "tokenizer", *_models(folder)):
        if holds_tokenizer(path):
            return Tokenizer.load(path)
    config = read_config(folder)
    start = config.model if isinstance(config, FinetuneConfig) else config.init_from
    return Tokenizer.load(checkpoint_folder(start, download=False))


def _models(folder: Path) -> list[Path]:
    """Folders that may hold a model of this run; a shipped model is in the folder itself."""
    newest = latest_checkpoint(folder)
    return [*([newest] if newest else []), folder / "model", folder]
