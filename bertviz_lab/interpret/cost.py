"""What a question about a model will take, by arithmetic, before anything is computed for it.

A page that others use too sets `Checkpoint.limits`; without them nothing is refused. Operations are multiplications and
additions: two for each weight that a token meets (Kaplan et al. 2020, section 2.1), and those of attention; a gradient
takes three times a forward pass.
"""

import math

from bertviz_lab.config import BertConfig
from bertviz_lab.config.limits import words_of
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

GRADIENT = 3  # forward passes that one with its gradient takes
_KEPT_BY_HEADS = 3  # matrices (tokens, tokens) of a head at a time: scores, mask or copy, weights
_KEPT_BY_TRACE = 4  # of each head in a trace: scores, weights, and copies as arrays
_KEPT_BY_TERMS = 6  # the same of the three terms of disentangled attention


def forward_operations(config: BertConfig, tokens: int) -> float:
    """Operations of one forward pass over a text of so many tokens, without a head."""
    hidden, layers = config.hidden_size, config.num_hidden_layers
    weights = 4 * hidden**2 + 2 * hidden * config.intermediate_size
    return 2.0 * tokens * layers * (weights + 2 * hidden * tokens)


def affordable_passes(checkpoint: Checkpoint, tokens: int) -> float:
    """How many forward passes over a text of so many tokens one question may take."""
    return checkpoint.limits.operations / forward_operations(checkpoint.config, tokens)


def check_passes(checkpoint: Checkpoint, tokens: int, passes: float, what: str) -> None:
    """Raises `InputError` where so many forward passes are more than one question may take; `what` takes them."""
    allowed = affordable_passes(checkpoint, tokens)
    if passes > allowed:
        raise InputError(
            f"{what} for {tokens:,} tokens takes {passes:,.0f} passes through this model, and one question may take "
            f"{math.floor(allowed):,}: shorten the text, or choose a smaller model."
        )


def check_memory(checkpoint: Checkpoint, tokens: int, *, traced: bool = False) -> None:
    """Raises `InputError` where the attention of a text, all of it in a trace, is more memory than it may take."""
    config = checkpoint.config
    matrices = config.num_attention_heads * _KEPT_BY_HEADS
    if traced:
        kept = _KEPT_BY_TRACE + (_KEPT_BY_TERMS if config.position_embedding_type == "disentangled" else 0)
        matrices += config.num_attention_heads * config.num_hidden_layers * kept
    size = 4 * matrices * tokens**2 + 4 * tokens * (6 * config.hidden_size + 2 * config.intermediate_size)
    if size > checkpoint.limits.memory_bytes:
        raise InputError(
            f"The attention of this model to {tokens:,} tokens needs {words_of('bytes', size)} of memory, and one "
            f"question may take {words_of('bytes', checkpoint.limits.memory_bytes)}: shorten the text."
        )
