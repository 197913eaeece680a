"""The bias of the MLM head begins as log token frequencies, so that nothing has to be learnt to predict common tokens.

A natural bias for language models (Meister et al. 2023): a bias moves by no more than the learning rate in a step, and
frequencies differ by factors of ten thousand.
"""

import torch
from numpy.typing import NDArray
from torch import nn

from bertviz_lab.model.heads import MaskedLMHead


@torch.no_grad()
def begin_with_frequencies(model: nn.Module, counts: NDArray) -> None:
    """Set the bias of a model's MLM head, if it has one, from how often each token occurs, (vocabulary).

    The logarithms are shifted to a mean of zero, as softmax allows; a token that does not occur counts once.
    """
    logarithms = torch.from_numpy(counts).clamp(min=1).log()
    for head in (module for module in model.modules() if isinstance(module, MaskedLMHead)):
        if head.bias is not None:
            head.bias.copy_(logarithms - logarithms.mean())
