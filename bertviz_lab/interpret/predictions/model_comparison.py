"""Predictions and attention of several models compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention.trace import TextTrace
from bertviz_lab.interpret.predictions.predictions import candidates_of, mask_probabilities
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True)
class ComparedCandidate:
    """A token at one [MASK], with its probability in each model; None where the vocabulary lacks it."""

    token: str
    probabilities: tuple[float | None, ...]


@dataclass(frozen=True)
class FillComparison:
    """For each [MASK] the union of all models' top predictions, the first model's first."""

    names: tuple[str, ...]
    masks: tuple[tuple[ComparedCandidate, ...], ...]


def untrained(checkpoint: Checkpoint, seed: int = 0) -> Checkpoint:
    """The same architecture and vocabulary with random weights, as before training."""
    model = type(checkpoint.model)(checkpoint.config, generator=torch.Generator().manual_seed(seed))
    return replace(checkpoint, model=model.eval(), name="before training", card="", path=None)


@torch.inference_mode()
def compare_fill_mask(
    checkpoints: Sequence[Checkpoint], text: str, top_k: int = 5, text_b: str | None = None
) -> FillComparison:
    """Predict the same masked tokens with several models; each tokenizes the text with its own vocabulary.

    Raises `InputError` as `fill_mask` does, for the first model that cannot answer.
    """
    tables = [mask_probabilities(checkpoint, text, text_b)[2] for checkpoint in checkpoints]
    masks = []
    for rows in zip(*tables, strict=False):  # truncation may drop more masks for one model than for another
        top_candidates = [
            candidates_of(checkpoint.tokenizer, row_V, min(top_k, len(row_V)))
            for checkpoint, row_V in zip(checkpoints, rows, strict=True)
        ]
        tokens = dict.fromkeys(candidate.token for candidates in top_candidates for candidate in candidates)
        ids = {token: [checkpoint.tokenizer.id(token) for checkpoint in checkpoints] for token in tokens}
        masks.append(
            tuple(
                ComparedCandidate(
                    token,
                    tuple(None if i is None else float(row_V[i]) for i, row_V in zip(token_ids, rows, strict=True)),
                )
                for token, token_ids in ids.items()
            )
        )
    return FillComparison(tuple(checkpoint.name for checkpoint in checkpoints), tuple(masks))


def attention_difference(first: TextTrace, second: TextTrace) -> NDArray[np.float32]:
    """Attention of the second minus that of the first, (layers, heads, tokens, tokens); each row sums to 0.

    The texts may differ; their tokens are matched by position.

    Raises `InputError` where the numbers of layers, heads or tokens differ.
    """
    if first.attentions.shape[:2] != second.attentions.shape[:2]:
        raise InputError("These two models differ in layers or heads: their attention cannot be subtracted.")
    if len(first.tokens) != len(second.tokens):
        raise InputError(
            f"One text has {len(first.tokens)} tokens and the other {len(second.tokens)}: choose texts of equal length."
        )
    return second.attentions - first.attentions
