"""Progressive stacking: a run begins with a few layers, and the others join while it trains (Gong et al. 2019).

A shallow model takes more steps in the same time, and its first heads find their tokens sooner. Here the model has all
its layers from the start, so that it can be saved, scored and looked into at any time: those that have not joined yet
have output projections of zero. Such a layer adds nothing to the hidden states, and nothing but its LayerNorms is
computed in training; when it joins, it begins from there, and the model goes on as it was (Chen et al. 2016, Net2Net).
"""

import torch
from torch import nn

from bertviz_lab.model.encoder import Encoder, EncoderLayer


@torch.no_grad()
def start_shallow(model: nn.Module, layers: int) -> None:
    """Before a training: the layers of an encoder from `layers` on, counted from 0, add nothing."""
    for layer in (layer for encoder in _encoders(model) for layer in _layers(encoder)[layers:]):
        for projection in (layer.attention.output, layer.output):
            projection.weight.zero_()
            if projection.bias is not None:
                projection.bias.zero_()


def use_layers(model: nn.Module, layers: int) -> None:
    """Train the first `layers` layers of an encoder; the others, which must add nothing, are left out."""
    for encoder in _encoders(model):
        for index, layer in enumerate(_layers(encoder)):
            layer.is_idle = index >= layers


def _encoders(model: nn.Module) -> list[Encoder]:
    return [module for module in model.modules() if isinstance(module, Encoder)]


def _layers(encoder: Encoder) -> list[EncoderLayer]:
    return [layer for layer in encoder.layers if isinstance(layer, EncoderLayer)]
