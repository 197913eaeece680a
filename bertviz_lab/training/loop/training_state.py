"""What a checkpoint holds beside the model, for an exact resume: JSON and safetensors, which cannot execute code."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.loop import Progress
from bertviz_lab.training.loop.sharding import shard_like, whole

_STATE, _OPTIMIZERS = "trainer.json", "optimizer.safetensors"


def save_training_state(
    folder: Path,
    progress: Progress,
    tensors: dict[str, Tensor],
    hardware: Hardware,
    **of_task: Any,
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
