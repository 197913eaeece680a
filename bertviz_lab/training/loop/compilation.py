"""torch.compile: a layer's operations as a few fused kernels, which pays on a GPU.

Each layer is compiled, not the model as a whole: all share their code, so one compilation serves them, and what stands
around them stays plain Python.
"""

import torch
from torch import nn

from bertviz_lab.errors import InputError
from bertviz_lab.model.encoder import EncoderLayer

_BACKEND = "inductor"
#: Layers, lengths of batches, with and without padding and gradients: each may be compiled once more.
_MOST_VERSIONS = 64


def compile_layers(model: nn.Module, device: torch.device) -> None:
    """Compile the encoder's layers in place; their weights and names stay as they are.

    Raises `InputError` where nothing can be compiled, for lack of a compiler or of Triton.
    """
    try:
        torch.compile(_probe, backend=_BACKEND)(torch.ones(8, device=device))
    except Exception as error:  # of many types, by the backend
        cause = getattr(error, "inner_exception", error)
        reason = (str(cause).strip() or type(cause).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"torch.compile does not work on this machine ({reason}): leave --compile out.") from error
    torch._dynamo.config.recompile_limit = _MOST_VERSIONS
    for module in model.modules():
        if isinstance(module, EncoderLayer):
            module.compile(backend=_BACKEND)


def _probe(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1
