"""The learning rate: a default peak by model size, and linear warm-up and decay over a run (Devlin et al., A.2)."""

from collections.abc import Sequence

import torch

from bertviz_lab.config import BertConfig

#: Peak learning rates that worked best for minutes of training, by hidden size: smaller models take larger steps.
_LEARNING_RATES = ((128, 2e-3), (256, 1.2e-3), (512, 7e-4), (768, 3e-4))
#: The same for fine-tuning: a base-size model takes the middle of the paper's grid.
_FINETUNING_RATES = ((128, 1e-3), (256, 4e-4), (512, 1e-4), (768, 3e-5))


def default_learning_rate(config: BertConfig, finetuning: bool = False) -> float:
    """The default peak learning rate for a size of model."""
    for hidden, rate in _FINETUNING_RATES if finetuning else _LEARNING_RATES:
        if config.hidden_size <= hidden:
            return rate
    return 2e-5 if finetuning else 1e-4


def lr_schedule(progress: float, warmup: float) -> float:
    """The fraction of the peak learning rate at `progress` (0 to 1): linear warm-up, then linear decay to zero."""
    if progress < warmup:
        return progress / warmup
    return max(0.0, (1.0 - progress) / (1.0 - warmup))


def set_learning_rate(optimizers: Sequence[torch.optim.Optimizer], rate: float) -> None:
    """Set the learning rate of every parameter group, times the group's own factor."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group.get("factor", 1.0)
