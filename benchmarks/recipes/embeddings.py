"""Embedding tables, and the decoder that reads them, that begin or learn otherwise than the lab's."""

import copy
import math
from collections.abc import Iterable

import torch
from torch import nn

from bertviz_lab.model.embeddings import Embeddings
from bertviz_lab.model.heads import MaskedLMHead
from bertviz_lab.model.layers import Embedding


def scale_words(model: nn.Module, factor: float) -> None:
    """Make the word embeddings larger or smaller, relative to positions and segments."""
    with torch.no_grad():
        for embeddings in _embeddings(model):
            embeddings.word.weight.mul_(factor)


def untie_decoder(model: nn.Module) -> None:
    """Give the MLM head a table of its own, which begins as the word embeddings."""
    (embeddings,) = _embeddings(model)
    (head,) = (module for module in model.modules() if isinstance(module, MaskedLMHead))
    head.decoder = copy.deepcopy(embeddings.word)
    head.register_forward_pre_hook(lambda head, inputs: (inputs[0], head.decoder.weight))


def begin_with_sines(model: nn.Module, deviation: float) -> None:
    """Give learned position embeddings sines and cosines to begin with (Vaswani et al. 2017, section 3.5)."""
    with torch.no_grad():
        for embeddings in _embeddings(model):
            positions_LD = embeddings.position.weight
            length, size = positions_LD.shape
            angles = torch.arange(length)[:, None] * 10_000 ** (-torch.arange(0, size, 2) / size)
            positions_LD.copy_(deviation * math.sqrt(2) * torch.stack([angles.sin(), angles.cos()], -1).flatten(1))


def scale_rate(optimizer: torch.optim.Optimizer, model: nn.Module, factor: float) -> None:
    """Move the embedding tables to groups whose learning rate is `factor` times the others'."""
    tables = {id(module.weight) for module in model.modules() if isinstance(module, Embedding)}
    for group in list(optimizer.param_groups):
        apart = [parameter for parameter in group["params"] if id(parameter) in tables]
        if apart:
            group["params"] = [parameter for parameter in group["params"] if id(parameter) not in tables]
            optimizer.add_param_group({**group, "params": apart, "factor": factor})


def _embeddings(model: nn.Module) -> Iterable[Embeddings]:
    return (module for module in model.modules() if isinstance(module, Embeddings))
