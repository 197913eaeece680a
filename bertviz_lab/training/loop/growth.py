"""Models that grow: more layers while they train, more positions, more width.

Progressive stacking: a run trains a quarter of the layers first, then half, then all (after Gong et al. 2019).

Shallow steps are faster, and a shallow model's heads find their tokens sooner. The model has all its layers from the
start, so that it can be saved, scored and inspected at any time: the output projections of layers that have not joined
are zero. Such a layer adds nothing, and in training only its LayerNorms are computed. Unlike Gong et al., who copy the
layers below, a layer that joins begins there, so that the model goes on as it was (Chen et al. 2016, Net2Net).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model.embeddings import Embeddings
from bertviz_lab.model.encoder import EncoderLayer
from bertviz_lab.model.heads import MaskedLMHead
from bertviz_lab.training.loop.sharding import shard_like, whole

#: Of the part of a run that trains few layers, the fraction that trains a quarter of them; the rest trains half.
SHALLOWEST = 0.75


def layers_at(share: float, layers: int, done: float) -> int:
    """Return how many layers are trained when a fraction `done` of a run is over: all of them from `share` on."""
    if done >= share:
        return layers
    return max(1, layers // (4 if done < SHALLOWEST * share else 2))


def joined_layers(model: nn.Module) -> tuple[bool, ...]:
    """Of each layer of an encoder whether it adds anything; one that has not joined does not."""
    return tuple(any(bool(p.any()) for p in _projections(layer)) for layer in _layers(model))


def joining_note(joined: Sequence[bool]) -> str:
    """Return which layers have not joined the training, as in a run that was stopped early; "" where all have."""
    idle = [str(place) for place, has_joined in enumerate(joined, 1) if not has_joined]
    if not idle:
        return ""
    *others, last = idle
    layers = f"Layers {', '.join(others)} and {last} have" if others else f"Layer {last} has"
    heads = f"{'their' if others else 'its'} heads are as they began, and add nothing."
    return f"{layers} not joined the training (progressive stacking): {heads}"


class ProgressiveStacking:
    """The layers that a run trains: the ones that are due, and the ones already trained.

    Of a model that `is_new`, with random weights, the layers that are not due begin with zeros.
    """

    def __init__(self, model: nn.Module, share: float, fraction_done: Callable[[], float], *, is_new: bool):
        self._layers, self._share, self._fraction_done = _layers(model), share, fraction_done
        if is_new:
            with torch.no_grad():
                for projection in chain.from_iterable(map(_projections, self._layers[self._due() :])):
                    projection.zero_()
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


def _layers(model: nn.Module) -> list[EncoderLayer]:
    return [module for module in model.modules() if isinstance(module, EncoderLayer)]


def _projections(layer: EncoderLayer) -> list[nn.Parameter]:
    return [*layer.attention.output.parameters(), *layer.output.parameters()]


_VARIANCE = 0.9  # of the trained vectors, which the axes that are rotated explain
_EDGE = 2  # positions at each end of a text, where [CLS] and [SEP] stand, which differ from those within
_FEWEST = 16  # trained positions from which others can be continued


@torch.no_grad()
def extend_positions(model: nn.Module, known: int, length: int) -> bool:
    """Continue the position embeddings from the `known` trained positions to `length`; returns whether there are any.

    Trained vectors lie near a few waves along the positions. On their main axes one rotation carries each position
    to the next (orthogonal Procrustes, Schönemann 1966); carried on, it places the others at the same distances from
    their neighbors, so that heads that look to a neighbour find it. Copies of the trained vectors would not do:
    such heads then find several neighbors.
    """
    if not _FEWEST <= known < length:
        return False
    extended = False
    for module in model.modules():
        if not isinstance(module, Embeddings) or module.position is None:
            continue
        table = whole(module.position.weight).clone()
        rows = table[module.offset : module.offset + length]
        if rows.any():
            trained_LD = rows[_EDGE : known - _EDGE].cpu().double()
            rows[known:] = continued(trained_LD, len(rows) - known + _EDGE)[_EDGE:].to(rows)
            module.position.weight.copy_(shard_like(table, module.position.weight))
            extended = True
    return extended


def continued(trained_LD: Tensor, more: int) -> Tensor:
    """Return the next `more` vectors (more, hidden) of a sequence of vectors (positions, hidden)."""
    mean_D = trained_LD.mean(0)
    _, sizes, axes_KD = torch.linalg.svd(trained_LD - mean_D, full_matrices=False)
    explained = sizes.square().cumsum(0) / sizes.square().sum()
    axes_KD = axes_KD[: int((explained < _VARIANCE).sum()) + 1]
    trained_LK = (trained_LD - mean_D) @ axes_KD.T
    left_KK, _, right_KK = torch.linalg.svd(trained_LK[:-1].T @ trained_LK[1:])
    rotation_KK, next_K, further_LK = left_KK @ right_KK, trained_LK[-1], []
    for _ in range(more):
        next_K = next_K @ rotation_KK
        further_LK.append(next_K)
    return mean_D + torch.stack(further_LK) @ axes_KD


_SPREAD = 0.25  # of the copies' weights, in terms of the weights; 0.05 and 1 are hardly worse after 200 steps


def wider_config(config: BertConfig, factor: int) -> BertConfig:
    """Return the shape `factor` times as wide, in more heads. Raises `InputError` for a family other than BERT."""
    if factor > 1 and config.model_type != "bert":
        raise InputError(f"Only a BERT can be made wider, and this model is {config.family.title}.")
    return config.replace(
        hidden_size=factor * config.hidden_size,
        num_attention_heads=factor * config.num_attention_heads,
        intermediate_size=factor * config.intermediate_size,
    )


@torch.no_grad()
def widened(narrow: nn.Module, factor: int, seed: int = 0) -> nn.Module:
    """Return a model of `wider_config`, which may raise, with the same predictions, in training mode."""
    assert isinstance(narrow.config, BertConfig)
    generator = torch.Generator().manual_seed(seed)
    wide = type(narrow)(wider_config(narrow.config, factor))
    for module, source in zip(wide.modules(), narrow.modules(), strict=True):
        for name, parameter in module.named_parameters(recurse=False):
            weights: Tensor = source.get_parameter(name)
            if len(parameter) > len(weights):  # units of the module's output
                weights = torch.cat([weights] * factor)
            if parameter.ndim == 2 and parameter.shape[1] > weights.shape[1]:
                is_table = isinstance(module, nn.Embedding)
                weights = torch.cat([weights] * factor, 1) if is_table else _divided(weights, factor, generator)
            parameter.copy_(weights)
    for module in wide.modules():
        if isinstance(module, MaskedLMHead):  # its decoder is the embedding table, which has each unit `factor` times
            for parameter in module.norm.parameters():
                parameter.div_(factor)
    return wide


@torch.no_grad()
def with_more_tokens(model: nn.Module, parts: Mapping[int, Sequence[int]], vocab_size: int) -> nn.Module:
    """Return a model of `vocab_size` tokens, in training mode; each new id begins as the mean of its `parts`.

    So do the rows of the word embeddings, which are the decoder too, and its bias. `parts` has ids of the old
    vocabulary; ids without parts are padding, which begins as the mean of all.
    """
    assert isinstance(model.config, BertConfig)
    larger = type(model)(model.config.replace(vocab_size=vocab_size))
    for name, parameter in larger.named_parameters():
        weights = model.get_parameter(name)
        if not name.endswith(("embeddings.word.weight", "mlm.bias")):
            parameter.copy_(weights)
            continue
        padding = weights.mean(0, keepdim=True).expand(vocab_size - len(weights), *weights.shape[1:])
        parameter.copy_(torch.cat([weights, padding]))
        for token_id, ids in parts.items():
            parameter[token_id] = weights[list(ids)].mean(0)
    return larger


def _divided(weight_ON: Tensor, factor: int, generator: torch.Generator) -> Tensor:
    """Return weights of `factor` copies of each input, (outputs, factor x inputs), which add up to the input's."""
    weight_FON = weight_ON.expand(factor, -1, -1) / factor
    noise_FON = torch.randn(weight_FON.shape, generator=generator) * _SPREAD * weight_FON.std()
    return torch.cat([*(weight_FON + noise_FON - noise_FON.mean(0))], 1)
