"""The tokens of two models on one text matched by characters, and attention between the stretches that both have.

A stretch is the shortest piece of a text that is whole tokens in both models: tokens that overlap are in one. Attention
to several tokens is summed and attention from several is averaged, so that rows sum to 1 as before (Clark et al. 2019,
"What Does BERT Look At?", section 4.1, from tokens to words).
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Encoding

_Span = tuple[int, int]


@dataclass(frozen=True)
class Alignment:
    """The stretches of a text, or a pair, in two models; the special tokens at one place are one of them."""

    tokens: tuple[str, ...]  # of the first model where it has one token there, else the text itself
    segment_ids: tuple[int, ...]
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
        segment_ids=tuple(first.token_type_ids[group[0]] for group in groups),
        special_tokens_mask=tuple(first.special_tokens_mask[group[0]] for group in groups),
        stretches_of_first=in_first,
        stretches_of_second=in_second,
    )


def merge_attention(attentions: NDArray[np.floating], stretches: Sequence[int]) -> NDArray[np.float32]:
    """Attention between tokens, (..., tokens, tokens), as attention between stretches, (..., stretches, stretches).

    `stretches` has the index of each token's. Attention is summed over keys and averaged over queries.
    """
    membership = np.eye(max(stretches) + 1, dtype=np.float32)[list(stretches)]  # (tokens, stretches)
    return (membership / membership.sum(0)).T @ attentions @ membership


def _spans(encoding: Encoding) -> list[_Span]:
    """Where each token lies on one axis for both texts: special tokens, text A, special tokens, text B, special tokens.

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
    """Where each stretch begins, so that every one has tokens of both models."""
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
