"""Predictions and attention of several models compared."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention.alignment import Alignment, align, merge_attention
from bertviz_lab.interpret.attention.trace import TextTrace, trace_text
from bertviz_lab.interpret.inputs import at_least_one
from bertviz_lab.interpret.predictions.predictions import TOP_K, candidates_of, mask_probabilities
from bertviz_lab.tokenization import Tokenizer, ids_named, token_name
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

    The mask token may be that of any of the models. Candidates of different tokenizers are matched as words
    (`token_name`); where a vocabulary has a word both with and without a space before it, the more probable one counts.

    A vocabulary of fewer than `top_k` tokens gives all. The second text comes after `top_k`: give it by its name.
    Raises `InputError` as `fill_mask` does, for the first model that cannot answer.
    """
    top_k = at_least_one(top_k, TOP_K)
    masks_of_all = {checkpoint.tokenizer.special.mask for checkpoint in checkpoints}
    are_alike = len({checkpoint.tokenizer.fingerprint for checkpoint in checkpoints}) == 1
    tables = []
    for checkpoint in checkpoints:
        own = checkpoint.tokenizer.special.mask
        texts = (_spelt(text, masks_of_all, own), text_b and _spelt(text_b, masks_of_all, own))
        tables.append(mask_probabilities(checkpoint, *texts)[2])
    masks = []
    for rows in zip(*tables, strict=False):  # truncation may drop more masks for one model than for another
        tokens = dict.fromkeys(
            candidate.token if are_alike else token_name(checkpoint.tokenizer, candidate.id)
            for checkpoint, row_V in zip(checkpoints, rows, strict=True)
            for candidate in candidates_of(checkpoint.tokenizer, row_V, top_k)
        )
        masks.append(
            tuple(
                ComparedCandidate(
                    token,
                    tuple(
                        _probability(checkpoint.tokenizer, row_V, token, are_alike)
                        for checkpoint, row_V in zip(checkpoints, rows, strict=True)
                    ),
                )
                for token in tokens
            )
        )
    return FillComparison(tuple(checkpoint.name for checkpoint in checkpoints), tuple(masks))


def _spelt(text: str, masks: Iterable[str], own: str) -> str:
    for mask in masks:
        text = text.replace(mask, own)
    return text


def _probability(tokenizer: Tokenizer, row_V: Tensor, name: str, is_token: bool) -> float | None:
    """The probability of a token, or of the most probable one with a name; None where the vocabulary has none."""
    ids = [tokenizer.id(name)] if is_token else ids_named(tokenizer, name)
    return max((float(row_V[token_id]) for token_id in ids if token_id is not None), default=None)


@dataclass(frozen=True, eq=False)
class AttentionComparison:
    """The attention of two models to one text, between the stretches of `alignment`; each row sums to 1."""

    alignment: Alignment
    first: NDArray[np.float32]  # (layers, heads, stretches, stretches)
    second: NDArray[np.float32]
    token_counts: tuple[int, int]  # of the two models; where they are not all stretches, tokens were put together


def compare_attention(
    first: Checkpoint, second: Checkpoint, text_a: str, text_b: str | None = None
) -> AttentionComparison:
    """Trace a text with two models, and match their tokens by characters (see `align`).

    A mask token may be spelt as either model does. Raises `InputError` where the numbers of layers or heads differ, and
    as `trace_text` and `align` do.
    """
    masks = [checkpoint.tokenizer.special.mask for checkpoint in (first, second)]
    traces = [
        trace_text(checkpoint, _spelt(text_a, masks, own), text_b and _spelt(text_b, masks, own))
        for checkpoint, own in zip((first, second), masks, strict=True)
    ]
    _check_heads(*traces)
    alignment = align(*(trace.encoding for trace in traces))
    return AttentionComparison(
        alignment,
        merge_attention(traces[0].attentions, alignment.stretches_of_first),
        merge_attention(traces[1].attentions, alignment.stretches_of_second),
        (len(traces[0].tokens), len(traces[1].tokens)),
    )


def attention_difference(first: TextTrace, second: TextTrace) -> NDArray[np.float32]:
    """Attention of the second minus that of the first, (layers, heads, tokens, tokens); each row sums to 0.

    The texts may differ; their tokens are matched by position.

    Raises `InputError` where the numbers of layers, heads or tokens differ.
    """
    _check_heads(first, second)
    if len(first.tokens) != len(second.tokens):
        raise InputError(
            f"One text has {len(first.tokens)} tokens and the other {len(second.tokens)}: choose texts of equal length."
        )
    return second.attentions - first.attentions


def _check_heads(first: TextTrace, second: TextTrace) -> None:
    shapes = [trace.attentions.shape[:2] for trace in (first, second)]
    if shapes[0] != shapes[1]:
        sizes = " and ".join(f"{layers} layers of {heads} heads" for layers, heads in shapes)
        raise InputError(
            f"These two models differ in layers or heads ({sizes}), and attention is subtracted head by head: their "
            "tokens can be matched, their heads cannot."
        )
