"""Sharded training with FSDP2: each process holds a part of every weight, gradient and moment.

For models that do not fit on a device. A layer's weights are gathered for its forward and backward pass and dropped
again; a step's result is that of plain data parallelism. Where the whole model is needed, to save or to ask it, every
process takes part in gathering it, and the main one gets it. Source: Rajbhandari et al. 2020 (ZeRO, stage 3).
"""

import os
import warnings

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from bertviz_lab.model.encoder import EncoderLayer


def is_sharded(accelerator: Accelerator) -> bool:
    """Return whether the launcher asks for FSDP (`accelerate launch --use_fsdp`), which Accelerate has on GPUs only."""
    return accelerator.num_processes > 1 and os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"


def shard_model(model: nn.Module, device: torch.device, processes: int) -> nn.Module:
    """Shard each layer, then the rest, in place. Layer by layer they move to `device`, which never holds the whole."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard  # takes seconds

    # The outputs are views, and nothing here changes them in place.
    warnings.filterwarnings("ignore", r"FSDP2-wrapped module .* returned a view", UserWarning)
    mesh = init_device_mesh(device.type, (processes,))
    for module in dict.fromkeys(model.modules()):
        if isinstance(module, EncoderLayer):
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def whole_model(model: nn.Module, is_main: bool) -> nn.Module:
    """Return a copy of a sharded model in the main process's memory, in evaluation mode; any other model as it is.

    Every process calls this; those that are not the main one get the sharded model back.
    """
    if not hasattr(model, "set_requires_gradient_sync"):  # of an FSDPModule
        return model
    state = {}
    for name, tensor in model.state_dict().items():  # one at a time is whole on the device
        gathered = whole(tensor)
        if is_main:
            state[name] = gathered.cpu()
    if not is_main:
        return model
    (kind,) = (base for base in type(model).__bases__ if base.__name__ != "FSDPModule")
    copy: nn.Module = kind(model.config, generator=torch.Generator())  # not the run's random stream
    copy.load_state_dict(state)
    return copy.eval()


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor of which each process holds a part, gathered; every process calls this."""
    gathered: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor  # a DTensor
    return gathered


def shard_like(tensor: Tensor, parameter: Tensor) -> Tensor:
    """Return a moment as its parameter is: sharded in the same way, or as it is."""
    if not hasattr(parameter, "full_tensor") or tensor.shape != parameter.shape:
        return tensor
    from torch.distributed.tensor import DTensor, distribute_tensor

    assert isinstance(parameter, DTensor)
    mesh = parameter.device_mesh
    return distribute_tensor(tensor.to(mesh.device_type), mesh, parameter.placements)
