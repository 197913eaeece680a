"""What a pretraining and a fine-tuning share: the folder, the processes, and the state that a run resumes from."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Generic

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint
from bertviz_lab.training.loop.hardware import Hardware, broadcast_object, choose_hardware, start_accelerator
from bertviz_lab.training.loop.loop import Progress
from bertviz_lab.training.loop.sharding import shard_like, whole
from bertviz_lab.training.loop.trackers import track
from bertviz_lab.training.runs.events import Event, RunStarted
from bertviz_lab.training.runs.notifier import Notifier
from bertviz_lab.training.runs.run_folder import (
    ConfigT,
    failed_writes_explained,
    read_config,
    require_no_other_files,
    write_config,
)

_STATE, _OPTIMIZERS = "trainer.json", "optimizer.safetensors"


def save_training_state(
    folder: Path, progress: Progress, tensors: dict[str, Tensor], hardware: Hardware, **of_task: Any
) -> None:
    """Write the state of a run into the folder of a checkpoint.

    `tensors` are those of `optimizer_tensors`; `of_task` is what its task needs.
    """
    save_file(tensors, folder / _OPTIMIZERS)
    body = {"progress": asdict(progress), "scale": hardware.scaler.state_dict(), "precision": hardware.precision}
    write_json(folder / _STATE, body | of_task)


def read_training_state(folder: Path) -> dict[str, Any]:
    """Return what `save_training_state` wrote as JSON: `progress`, `precision`, `scale` and what the task added."""
    body: dict[str, Any] = json.loads((folder / _STATE).read_text(encoding="utf-8"))
    return body


def load_training_state(
    folder: Path, optimizers: Sequence[torch.optim.Optimizer], hardware: Hardware, seed: int
) -> None:
    """Restore the optimizers, the random generators and the loss scale as a checkpoint has them."""
    state = read_training_state(folder)
    load_optimizers(optimizers, folder / _OPTIMIZERS)
    if hardware.rank:  # the random state that was saved is the main process's; dropout differs between processes
        torch.manual_seed(seed + hardware.rank + 1_000_003 * state["progress"]["step"])
    hardware.scaler.load_state_dict(state["scale"])


def optimizer_tensors(optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """Return every tensor of every optimizer as "optimizer/parameter/name", and torch's random state.

    Of a sharded model they are gathered: every process calls this.
    """
    tensors: dict[str, Tensor] = {"random": torch.get_rng_state()}
    if torch.cuda.is_available():  # dropout on a GPU has a generator of its own
        tensors["random on the GPU"] = torch.cuda.get_rng_state()
    for index, optimizer in enumerate(optimizers):
        for parameter, state in optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"{index}/{parameter}/{name}"] = whole(torch.as_tensor(value)).cpu().contiguous()
    return tensors


def load_optimizers(optimizers: Sequence[torch.optim.Optimizer], path: Path) -> None:
    """Restore the tensors of `optimizer_tensors`; the optimizers must have been built for the same parameters."""
    tensors = load_file(path)
    torch.set_rng_state(tensors.pop("random"))
    on_gpu = tensors.pop("random on the GPU", None)
    if on_gpu is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(on_gpu)
    states: list[dict[int, dict[str, Tensor]]] = [{} for _ in optimizers]
    for key, tensor in tensors.items():
        index, parameter, name = key.split("/", 2)
        states[int(index)].setdefault(int(parameter), {})[name] = tensor
    for optimizer, state in zip(optimizers, states, strict=True):
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        for number, named in state.items():
            state[number] = {name: shard_like(tensor, parameters[number]) for name, tensor in named.items()}
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


class TrainingRun(Generic[ConfigT]):
    """A run in its folder; a subclass has its `events`."""

    def __init__(self, config: ConfigT, folder: str | Path, resume: bool, should_stop: Callable[[], bool]) -> None:
        self.config, self.folder, self.resume, self.should_stop = config, Path(folder), resume, should_stop
        self.accelerator = start_accelerator()
        self.checkpoints = CheckpointManager(self.folder / "checkpoints", config.keep_checkpoints)
        self.saved: SavedCheckpoint | None = None  # that the run resumes from
        self.state: Mapping[str, Any] = {}  # the training state in it

    def events(self) -> Iterator[Event]:
        """Run from the files to the model."""
        raise NotImplementedError

    def reported_events(self, notify: str) -> Iterator[Event]:
        """Run, send the metrics to the tracker of the settings, and the end to the webhook `notify`, "" for none."""
        notifier = Notifier(notify) if self.accelerator.is_main_process else Notifier()
        yield from notifier.watch(self._tracked_events(), self.folder)

    def _tracked_events(self) -> Iterator[Event]:
        with failed_writes_explained(self.folder):
            yield from track(self.events(), self.config, self.folder)

    def open_folder(self, prepared: Path) -> None:
        """Create the folder and write the settings; the main process does this.

        `prepared` marks the data as prepared. A new run removes it, or a later resume would find those of an earlier
        run. Raises `InputError` where files would be overwritten.
        """
        if not self.resume:
            require_no_other_files(self.folder)
            prepared.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.resume and self.config.precision == "auto":  # it is what was chosen before the first step
            with contextlib.suppress(InputError):
                self.config = replace(self.config, precision=read_config(self.folder).precision)
        write_config(self.folder, self.config)

    def change_settings(self, **settings: Any) -> None:
        """Replace settings of the run, and in its folder, where the main process writes them."""
        self.config = replace(self.config, **settings)
        if self.accelerator.is_main_process:
            write_config(self.folder, self.config)

    def share(self) -> None:
        """Give all processes the settings and the checkpoint that the main one has found."""
        self.config, self.saved = broadcast_object(self.accelerator, (self.config, self.saved))
        self.state = read_training_state(self.saved.path) if self.saved else {}

    def choose_hardware(self) -> None:
        """Choose device and precision, which a resumed run keeps: in another it would not be the same run."""
        self.hardware = choose_hardware(
            self.state.get("precision", self.config.precision), self.config.threads, self.accelerator
        )
        self.change_settings(precision=self.hardware.precision)

    def started(self, **facts: Any) -> RunStarted:
        """Return the event of the start, with further `facts` about the run."""
        device, precision, threads = str(self.hardware.device), self.hardware.precision, self.hardware.threads
        return RunStarted(run=self.folder.name, device=device, precision=precision, threads=threads, **facts)
