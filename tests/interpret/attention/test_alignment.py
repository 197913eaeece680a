"""Stretches of a text that two tokenizers share, and attention between them."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab import InputError
from bertviz_lab.interpret.comparison import align, merge_attention
from bertviz_lab.tokenization import Encoding


def encoding(
    text_a: str, pieces_a: str, text_b: str | None = None, pieces_b: str = "", separators: int = 1
) -> Encoding:
    """An encoding whose pieces stand in the text in this order; `separators` between a pair."""
    rows: list[tuple[str, int, int, tuple[int, int]]] = [("[CLS]", 0, 1, (0, 0))]
    for side, (text, pieces) in enumerate([(text_a, pieces_a)] + ([] if text_b is None else [(text_b, pieces_b)])):
        end = 0
        for piece in pieces.split():
            start = end if piece == "▁" else text.index(piece, end)
            end = start if piece == "▁" else start + len(piece)
            rows.append((piece, side, 0, (start, end)))
        count = separators if text_b is not None and side == 0 else 1
        rows += [("[SEP]", side, 1, (0, 0))] * count
    tokens, sides, special, offsets = zip(*rows, strict=True)
    ones = (1,) * len(rows)
    return Encoding(text_a, text_b, ones, tokens, sides, ones, special, offsets, (None,) * len(rows))


def test_tokens_that_overlap_or_separate_are_one_stretch() -> None:
    text = "unbelievable cats"
    aligned = align(encoding(text, "un believ able cats"), encoding(text, "unbel iev able ca ts"))
    assert aligned.tokens == ("[CLS]", "unbeliev", "able", "cats", "[SEP]")
    assert aligned.stretches_of_first == (0, 1, 1, 2, 3, 4)
    assert aligned.stretches_of_second == (0, 1, 1, 2, 3, 3, 4)
    assert aligned.special_tokens_mask == (1, 0, 0, 0, 1)
    aligned = align(
        encoding("the cat", "the cat", "a dog", "a dog"), encoding("the cat", "the cat", "a dog", "a dog", separators=2)
    )
    assert aligned.tokens == ("[CLS]", "the", "cat", "[SEP]", "a", "dog", "[SEP]")
    assert aligned.stretches_of_second == (0, 1, 2, 3, 3, 4, 5, 6)
    assert aligned.token_type_ids == (0, 0, 0, 0, 1, 1, 1)


def test_tokens_without_characters_or_counterparts_belong_to_a_neighbour() -> None:
    aligned = align(encoding("on mats", "on mats"), encoding("on mats", "on ▁ mats"))
    assert aligned.stretches_of_second == (0, 1, 2, 2, 3)
    aligned = align(encoding("on ~ mats", "on mats"), encoding("on ~ mats", "on ~ mats"))
    assert aligned.tokens == ("[CLS]", "on", "mats", "[SEP]")
    assert aligned.stretches_of_second == (0, 1, 1, 2, 3)


def test_attention_to_several_tokens_is_summed_and_from_several_averaged() -> None:
    weights = np.array([[0.5, 0.25, 0.25], [0.1, 0.3, 0.6], [0.3, 0.5, 0.2]])
    np.testing.assert_allclose(merge_attention(weights, (0, 1, 1)), [[0.5, 0.5], [0.2, 0.8]], atol=1e-7)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.lists(st.integers(1, 4), min_size=1, max_size=8))
def test_every_stretch_has_tokens_of_both_models_and_rows_sum_to_one(cuts: list[int], other_cuts: list[int]) -> None:
    text = "abcdefghijklmnopqrstuvwxyz"[: min(sum(cuts), sum(other_cuts))]
    encodings = []
    for lengths in (cuts, other_cuts):
        ends = np.minimum(np.cumsum([0, *lengths]), len(text))
        encodings.append(encoding(text, " ".join(text[a:b] for a, b in pairwise(ends))))
    aligned = align(*encodings)
    stretches = set(range(len(aligned.tokens)))
    assert "".join(aligned.tokens[1:-1]) == text
    for encoded, places in zip(encodings, (aligned.stretches_of_first, aligned.stretches_of_second), strict=True):
        assert set(places) == stretches
        assert list(places) == sorted(places)
        weights = np.random.default_rng(0).dirichlet(np.ones(len(encoded)), (2, len(encoded)))
        np.testing.assert_allclose(merge_attention(weights, places).sum(-1), 1, atol=1e-6)


def test_other_texts_and_texts_that_are_too_long_are_refused() -> None:
    first = encoding("the cat", "the cat")
    with pytest.raises(InputError, match="the same text"):
        align(first, encoding("the cats", "the cats"))
    with pytest.raises(InputError, match="too long for one of the models"):
        align(first, dataclasses.replace(first, dropped_a=("sat",)))
