"""LoRA: low-rank adapters of the attention's query and value matrices are trained in place of the backbone.

Hu et al. 2021, through the PEFT library. What is saved is merged, W + s B A, so that it is a plain model.
"""

import importlib.util
from copy import deepcopy
from pathlib import Path

import torch
from torch import nn

from bertviz_lab.errors import InputError
from bertviz_lab.model.heads import BertHead
from bertviz_lab.model.weights import read_tensors, write_tensors

_TARGETS = ["query", "value"]  # section 7.1: for a number of parameters the best pair
_SCALING = 2  # alpha / r
_FILE = "adapters.safetensors"


def require_peft() -> None:
    """Raises `InputError` where the PEFT library is not installed."""
    if importlib.util.find_spec("peft") is None:
        raise InputError("`lora` needs the PEFT library: pip install 'bertviz-lab[lora]'.")


def add_adapters(model: nn.Module, rank: int) -> None:
    """Put adapters into a model, in place: they and its head are trained, everything else is frozen.

    The matrices A are drawn from torch's global generator; B is zero, so that the model computes what it did.
    """
    from peft import LoraConfig, inject_adapter_in_model

    inject_adapter_in_model(LoraConfig(r=rank, lora_alpha=_SCALING * rank, target_modules=_TARGETS), model)
    for name, parameter in model.named_parameters():
        of_head = isinstance(model, BertHead) and not name.startswith("bert.")
        parameter.requires_grad_(of_head or ".lora_" in name)


@torch.no_grad()
def merged(model: nn.Module) -> nn.Module:
    """Return a copy without adapters whose matrices have what they learned; the model itself where it has none."""
    adapted = [name for name, module in model.named_modules() if hasattr(module, "lora_A")]
    if not adapted:
        return model
    plain = deepcopy(model)
    for name in adapted:
        layer = plain.get_submodule(name)
        layer.merge()  # type: ignore[operator]
        parent, _, child = name.rpartition(".")
        setattr(plain.get_submodule(parent), child, layer.get_base_layer())  # type: ignore[operator]
    return plain


def save_adapters(model: nn.Module, folder: Path) -> None:
    """Write what is trained, exactly as it is, into a checkpoint."""
    trained = {name: p.detach().cpu().clone().contiguous() for name, p in model.named_parameters() if p.requires_grad}
    write_tensors(trained, folder / _FILE)


@torch.no_grad()
def load_adapters(model: nn.Module, folder: Path) -> None:
    """Put back what `save_adapters` wrote."""
    for name, tensor in read_tensors([folder / _FILE]).items():
        model.get_parameter(name).copy_(tensor)
