"""A trained model made wider, which computes what it did and has more to learn with.

Every hidden unit, attention head and intermediate unit is copied, and what reads a unit divides its weight among the
copies (Net2WiderNet, Chen et al. 2016; for BERT: bert2BERT, Chen et al. 2022). The division is drawn at random, so that
the copies get different gradients and come apart.
"""

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.errors import InputError
from bertviz_lab.model.heads import MaskedLMHead

_SPREAD = 0.25  # of the copies' weights, in terms of the weights; 0.05 and 1 are hardly worse after 200 steps


def wider_config(config: BertConfig, factor: int) -> BertConfig:
    """The shape `factor` times as wide: heads keep their size. Raises `InputError` for a family other than BERT."""
    if factor > 1 and config.model_type != "bert":
        raise InputError(f"Only a BERT can be made wider, and this model is {config.family.title}.")
    return config.replace(
        hidden_size=factor * config.hidden_size,
        num_attention_heads=factor * config.num_attention_heads,
        intermediate_size=factor * config.intermediate_size,
    )


@torch.no_grad()
def widened(narrow: nn.Module, factor: int, seed: int = 0) -> nn.Module:
    """A model of `wider_config` with the same predictions, in training mode. Raises `InputError` as that does."""
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


def _divided(weight_ON: Tensor, factor: int, generator: torch.Generator) -> Tensor:
    """Weights of `factor` copies of each input, (outputs, factor x inputs), whose sum is the weight of the input."""
    weight_FON = weight_ON.expand(factor, -1, -1) / factor
    noise_FON = torch.randn(weight_FON.shape, generator=generator) * _SPREAD * weight_FON.std()
    return torch.cat([*(weight_FON + noise_FON - noise_FON.mean(0))], 1)
