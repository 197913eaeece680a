"""The tokens of two models on one text matched by characters, and attention between the stretches that both have.

A stretch is the shortest piece of a text that is whole tokens in both models: tokens that overlap are in one. Attention
to several tokens is summed and attention from several is averaged, so that rows sum to 1 as before (Clark et al. 2019,
"What Does BERT Look At?", section 4.1, from tokens to words).
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention import TextTrace, trace_text
from bertviz_lab.interpret.predictions import candidates_of, mask_probabilities
from bertviz_lab.tokenization import Encoding, Tokenizer, ids_named, token_name
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

_Span = tuple[int, int]


@dataclass(frozen=True)
class Alignment:
    """The stretches of a text, or a pair, in two models; the special tokens at one place are one of them."""

    tokens: tuple[str, ...]  # of the first model where it has one token there, else the text itself
    token_type_ids: tuple[int, ...]
    special_tokens_mask: tuple[int, ...]
    stretches_of_first: tuple[int, ...]  # for each token of the first model the index of its stretch
    stretches_of_second: tuple[int, ...]


def align(first: Encoding, second: Encoding) -> Alignment:
    """Match the tokens of one text in two models.

    A token whose characters the other model leaves out is in the stretch before it. The texts must be the same but for
    the spelling of the mask token, so their lengths are compared and not their characters. Raises `InputError` where
    they are not equally long, or one of them is longer than a model can read.
    """
    if [len(first.text_a), len(first.text_b or "")] != [len(second.text_a), len(second.text_b or "")]:
        raise InputError("Tokens are matched by their characters: both models must be given the same text.")
    if any((first.dropped_a, first.dropped_b, second.dropped_a, second.dropped_b)):
        raise InputError("This text is too long for one of the models, so their tokens cannot be matched: shorten it.")
    spans = _spans(first), _spans(second)
    starts = _starts(*spans)
    in_first, in_second = (tuple(bisect_right(starts, start) - 1 for start, _ in of_model) for of_model in spans)
    groups = [[at for at, stretch in enumerate(in_first) if stretch == index] for index in range(len(starts))]
    return Alignment(
        tokens=tuple(_name(first, group) for group in groups),
        token_type_ids=tuple(first.token_type_ids[group[0]] for group in groups),
        special_tokens_mask=tuple(first.special_tokens_mask[group[0]] for group in groups),
        stretches_of_first=in_first,
        stretches_of_second=in_second,
    )


def merge_attention(attentions: NDArray[np.floating], stretches: Sequence[int]) -> NDArray[np.float32]:
    """Merge attention between tokens, (..., tokens, tokens), to stretches, (..., stretches, stretches).

    `stretches` has the index of each token's. Attention is summed over keys and averaged over queries.
    """
    membership = np.eye(max(stretches) + 1, dtype=np.float32)[list(stretches)]  # (tokens, stretches)
    return (membership / membership.sum(0)).T @ attentions @ membership


def _spans(encoding: Encoding) -> list[_Span]:
    """Return the place of each token on one axis for both texts: special tokens, A, special tokens, B, special tokens.

    The special tokens at one place, such as RoBERTa's two separators, share one point. A token without characters, such
    as Unigram's "▁" alone, lies where the next one does.
    """
    begins = (1, 2 + len(encoding.text_a))  # of each text
    special = (0, begins[1] - 1, begins[1] + len(encoding.text_b or ""))  # before A, after it, after B
    spans: list[_Span | None] = []
    texts_begun = 0
    columns = (encoding.special_tokens_mask, encoding.token_type_ids, encoding.offsets)
    for is_special, side, (start, end) in zip(*columns, strict=True):
        if is_special:
            spans.append((special[texts_begun], special[texts_begun] + 1))
        else:
            texts_begun = max(texts_begun, side + 1)
            spans.append((begins[side] + start, begins[side] + end) if end > start else None)
    following: _Span = (special[2], special[2] + 1)
    placed = []
    for span in reversed(spans):
        following = span or following
        placed.append(following)
    return placed[::-1]


def _starts(first: Sequence[_Span], second: Sequence[_Span]) -> list[int]:
    """Return where each stretch begins, so that every one has tokens of both models."""
    stretches: list[tuple[int, int, set[int]]] = []  # start, end, and whose tokens it has
    for start, end, model in sorted([(*span, 0) for span in first] + [(*span, 1) for span in second]):
        if stretches and start < stretches[-1][1]:
            from_start, longest, models = stretches[-1]
            stretches[-1] = (from_start, max(longest, end), models | {model})
        else:
            stretches.append((start, end, {model}))
    # What one model alone has is part of the stretch before it.
    return [stretches[0][0], *(start for start, _, models in stretches[1:] if len(models) == 2)]


def _name(encoding: Encoding, tokens: Sequence[int]) -> str:
    if len(tokens) == 1 or encoding.special_tokens_mask[tokens[0]]:
        return " ".join(encoding.tokens[at] for at in tokens)
    text = (encoding.text_a, encoding.text_b or "")[encoding.token_type_ids[tokens[0]]]
    return text[encoding.offsets[tokens[0]][0] : encoding.offsets[tokens[-1]][1]]


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
    """Return the same architecture and vocabulary with random weights, as before training."""
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
    masks_of_all = {checkpoint.tokenizer.special.mask for checkpoint in checkpoints}
    are_alike = len({checkpoint.tokenizer.fingerprint for checkpoint in checkpoints}) == 1
    tables = []
    for checkpoint in checkpoints:
        own = checkpoint.tokenizer.special.mask
        texts = (_spelt(text, masks_of_all, own), text_b and _spelt(text_b, masks_of_all, own))
        tables.append(mask_probabilities(checkpoint, *texts)[2])
    masks = []
    for rows in zip(*tables, strict=False):  # truncation may drop more masks for one model than for another
        models = [(checkpoint.tokenizer, row_V) for checkpoint, row_V in zip(checkpoints, rows, strict=True)]
        tokens = dict.fromkeys(
            candidate.token if are_alike else token_name(tokenizer, candidate.id)
            for tokenizer, row_V in models
            for candidate in candidates_of(tokenizer, row_V, top_k)
        )
        shares = {token: tuple(_probability(*model, token, are_alike) for model in models) for token in tokens}
        masks.append(tuple(ComparedCandidate(*compared) for compared in shares.items()))
    return FillComparison(tuple(checkpoint.name for checkpoint in checkpoints), tuple(masks))


def _spelt(text: str, masks: Iterable[str], own: str) -> str:
    for mask in masks:
        text = text.replace(mask, own)
    return text


def _probability(tokenizer: Tokenizer, row_V: Tensor, name: str, is_token: bool) -> float | None:
    """Return the probability of a token, or of the most probable one with a name; None if there is none."""
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
    """Return attention of the second minus that of the first, (layers, heads, tokens, tokens); each row sums to 0.

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
