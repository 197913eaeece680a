"""Two models on one question, or one model before and after training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention import TextTrace
from bertviz_lab.interpret.predictions import fill_mask
from bertviz_lab.training.checkpoint import Checkpoint


@dataclass(frozen=True)
class ComparedCandidate:
    """A token in one blank, with its probability in each model; None where a vocabulary does not have it."""

    token: str
    probabilities: tuple[float | None, ...]


@dataclass(frozen=True)
class FillComparison:
    """For each blank the likeliest tokens of all models together, the first model's first."""

    names: tuple[str, ...]
    blanks: tuple[tuple[ComparedCandidate, ...], ...]


def untrained(checkpoint: Checkpoint, seed: int = 0) -> Checkpoint:
    """The same architecture and vocabulary with weights as before training: what it says is chance."""
    model = type(checkpoint.model)(checkpoint.config, generator=torch.Generator().manual_seed(seed))
    return replace(checkpoint, model=model.eval(), name="before training", card="", path=None)


def compare_fills(checkpoints: Sequence[Checkpoint], text: str, top_k: int = 5) -> FillComparison:
    """Ask several models for the same blanks; each splits the text by its own vocabulary.

    Raises `InputError` as `fill_mask` does, for the first model that cannot answer.
    """
    least = min(checkpoint.config.vocab_size for checkpoint in checkpoints)
    fills = [fill_mask(checkpoint, text, min(top_k, least)) for checkpoint in checkpoints]
    full = [fill_mask(checkpoint, text, checkpoint.config.vocab_size) for checkpoint in checkpoints]
    blanks = []
    for place in range(min(len(fill.masks) for fill in fills)):
        tokens = dict.fromkeys(c.token for fill in fills for c in fill.masks[place].candidates)
        tables = [{c.token: c.probability for c in fill.masks[place].candidates} for fill in full]
        blanks.append(tuple(ComparedCandidate(token, tuple(t.get(token) for t in tables)) for token in tokens))
    return FillComparison(tuple(checkpoint.name for checkpoint in checkpoints), tuple(blanks))


def attention_difference(one: TextTrace, other: TextTrace) -> NDArray[np.float32]:
    """Attention of the second less that of the first, (layers, heads, tokens, tokens); each row sums to 0.

    Raises `InputError` where the two have not as many layers, heads and tokens.
    """
    if one.attentions.shape[:2] != other.attentions.shape[:2]:
        raise InputError("These two models differ in layers or heads: their attention cannot be subtracted.")
    if len(one.tokens) != len(other.tokens):
        raise InputError(
            f"One text has {len(one.tokens)} tokens and the other {len(other.tokens)}: choose texts of equal length."
        )
    return other.attentions - one.attentions
