"""Optimizer and random-generator states as tensors in a safetensors file, which cannot execute code."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor


def save_optimizers(optimizers: Sequence[torch.optim.Optimizer], path: Path) -> None:
    """Write every tensor of every optimizer as "optimizer/parameter/name", and torch's random state."""
    tensors: dict[str, Tensor] = {"random": torch.get_rng_state()}
    if torch.cuda.is_available():  # dropout on a GPU has a generator of its own
        tensors["random on the GPU"] = torch.cuda.get_rng_state()
    for index, optimizer in enumerate(optimizers):
        for parameter, state in optimizer.state_dict()["state"].items():
            for name, value in state.items():
                tensors[f"{index}/{parameter}/{name}"] = torch.as_tensor(value).cpu().contiguous()
    save_file(tensors, path)


def load_optimizers(optimizers: Sequence[torch.optim.Optimizer], path: Path) -> None:
    """Restore what `save_optimizers` wrote; the optimizers must have been built for the same parameters."""
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
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
