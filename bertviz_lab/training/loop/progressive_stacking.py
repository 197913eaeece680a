"""Progressive stacking: a run trains a quarter of the layers first, then half, then all (after Gong et al. 2019).

Shallow steps are faster, and a shallow model's heads find their tokens sooner. The model has all its layers from the
start, so that it can be saved, scored and looked into at any time: the output projections of those that have not joined
are zero. Such a layer adds nothing, and in training only its LayerNorms are computed. Unlike Gong et al., who copy the
layers below, a layer that joins begins there, so that the model goes on as it was (Chen et al. 2016, Net2Net).
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn

from bertviz_lab.model.encoder import EncoderLayer


def layers_at(share: float, layers: int, done: float) -> int:
    """How many of the layers are trained when a fraction `done` of a run is over; some are until `share` of it is."""
    if done >= share:
        return layers
    return max(1, layers // (4 if done < share / 2 else 2))


def joined_layers(model: nn.Module) -> tuple[bool, ...]:
    """Of each layer of an encoder whether it adds anything; one that has not joined does not."""
    return tuple(any(bool(p.any()) for p in _projections(layer)) for layer in _layers(model))


def joining_note(joined: Sequence[bool]) -> str:
    """Which layers have not joined the training, as in a run that was stopped early; "" where all have."""
    idle = [str(place) for place, has_joined in enumerate(joined, 1) if not has_joined]
    if not idle:
        return ""
    if len(idle) > 1:
        layers, heads = f"Layers {', '.join(idle[:-1])} and {idle[-1]} have", "their heads"
    else:
        layers, heads = f"Layer {idle[0]} has", "its heads"
    return f"{layers} not joined the training (progressive stacking): {heads} are as they began, and add nothing."


class ProgressiveStacking:
    """Which layers of a model a run trains: those that are due, and those that have been trained before.

    Of a model that `is_new`, with random weights, the layers that are not due begin with zeros.
    """

    def __init__(self, model: nn.Module, share: float, fraction_done: Callable[[], float], *, is_new: bool):
        self._layers, self._share, self._fraction_done = _layers(model), share, fraction_done
        if is_new:
            for layer in self._layers[self._due() :]:
                _zero(layer)
        self._joined = max((place for place, joined in enumerate(joined_layers(model), 1) if joined), default=0)
        self.update()

    @property
    def is_growing(self) -> bool:
        """Whether some layers have not joined yet."""
        return self._joined < len(self._layers)

    @property
    def note(self) -> str:
        """What is to be said of the layers that have not joined; "" where all have."""
        return joining_note([place < self._joined for place in range(len(self._layers))])

    def update(self) -> None:
        """Let the layers join that are due, before a step."""
        self._joined = max(self._joined, self._due())
        for place, layer in enumerate(self._layers):
            layer.is_idle = place >= self._joined

    def _due(self) -> int:
        return layers_at(self._share, len(self._layers), self._fraction_done())


@torch.no_grad()
def _zero(layer: EncoderLayer) -> None:
    for parameter in _projections(layer):
        parameter.zero_()


def _layers(model: nn.Module) -> list[EncoderLayer]:
    return [module for module in model.modules() if isinstance(module, EncoderLayer)]


def _projections(layer: EncoderLayer) -> list[nn.Parameter]:
    return [*layer.attention.output.parameters(), *layer.output.parameters()]
