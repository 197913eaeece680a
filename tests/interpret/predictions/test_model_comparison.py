"""Two models, or two texts, beside each other: their predictions, and the attention of tokens that are matched."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab import BertForMaskedLM, Checkpoint, InputError, Tokenizer
from bertviz_lab.interpret import attention_difference, compare_fill_mask, fill_mask, trace_text, untrained
from bertviz_lab.interpret.comparison import align, merge_attention
from bertviz_lab.tokenization import Encoding
from tests.little import little_checkpoint

TEXT = "the red [MASK] sat"


def test_the_untrained_twin_has_the_same_shape_and_other_weights() -> None:
    checkpoint = little_checkpoint()
    twin = untrained(checkpoint, seed=1)
    assert twin.config == checkpoint.config
    assert twin.tokenizer is checkpoint.tokenizer
    assert fill_mask(twin, TEXT) != fill_mask(checkpoint, TEXT)
    assert fill_mask(twin, TEXT) == fill_mask(untrained(checkpoint, seed=1), TEXT)


def test_every_candidate_has_its_probability_in_both_models() -> None:
    one, other = little_checkpoint(), little_checkpoint(seed=1)
    (mask,) = compare_fill_mask([one, other], TEXT, top_k=3).masks
    assert 3 <= len(mask) <= 6
    for candidate in mask:
        for checkpoint, probability in zip((one, other), candidate.probabilities, strict=True):
            asked = fill_mask(checkpoint, TEXT, word=candidate.token).masks[0].asked
            assert probability == pytest.approx(asked.probability, abs=1e-6)


def test_a_token_that_one_vocabulary_lacks_has_no_probability_there() -> None:
    one = little_checkpoint()
    tokenizer = Tokenizer.train(["zebra zebra zebra the red sat"] * 9, vocab_size=60)
    model = BertForMaskedLM(one.config.replace(vocab_size=tokenizer.vocab_size)).eval()
    other = Checkpoint(model, tokenizer, model.config, name="zebra")
    (mask,) = compare_fill_mask([one, other], TEXT, top_k=50).masks
    by_token = {candidate.token: candidate.probabilities for candidate in mask}
    assert by_token["zebra"][0] is None
    assert by_token["the"][0] is not None
    assert by_token["the"][1] is not None


FRENCH = ["The café près de la forêt est fermé. The\nThe end"] * 200


def of_vocabulary(algorithm: str, *preferred: str) -> Checkpoint:
    """A model of a vocabulary of its own that predicts some tokens, the first most of all."""
    tokenizer = Tokenizer.train(FRENCH, vocab_size=400, algorithm=algorithm, lowercase=False)
    checkpoint = little_checkpoint(kind=BertForMaskedLM, tokenizer=tokenizer)
    for place, token in enumerate(preferred, 1):
        checkpoint.model.mlm.bias.data[tokenizer.id(token)] = 100 / place
    return checkpoint


@pytest.mark.parametrize("preferred", [("The", "ĠThe"), ("ĠThe", "The"), ("The",), ("ĠThe",), ("The", "Ã", "ê")])
def test_the_top_prediction_of_a_model_has_its_own_probability(preferred: tuple[str, ...]) -> None:
    bpe, pieces = of_vocabulary("bpe", *preferred), of_vocabulary("wordpiece", "end")
    top = fill_mask(bpe, "[MASK] café", top_k=1).masks[0].candidates[0]
    assert top.token == preferred[0]
    for checkpoints, place in (([bpe, pieces], 0), ([pieces, bpe], 1)):
        (candidates,) = compare_fill_mask(checkpoints, "[MASK] café", top_k=3).masks
        (found,) = (candidate for candidate in candidates if candidate.token == "The")
        assert found.probabilities[place] == pytest.approx(top.probability, abs=1e-6)
        assert found.probabilities[1 - place] is not None


def test_a_word_beyond_ascii_is_one_word_in_both_vocabularies() -> None:
    bpe, pieces = of_vocabulary("bpe", "ĠcafÃ©"), of_vocabulary("wordpiece", "café")
    (candidates,) = compare_fill_mask([bpe, pieces], "The [MASK] est fermé", top_k=1).masks
    assert [candidate.token for candidate in candidates] == ["café"]
    assert candidates[0].probabilities == pytest.approx((1, 1), abs=1e-3)


def test_the_difference_of_a_text_to_itself_is_nothing_and_rows_sum_to_nothing() -> None:
    one = trace_text(little_checkpoint(), "the red cat sat")
    other = trace_text(little_checkpoint(seed=1), "the red cat sat")
    assert (attention_difference(one, one) == 0).all()
    np.testing.assert_allclose(attention_difference(one, other).sum(-1), 0, atol=1e-6)
    np.testing.assert_array_equal(attention_difference(one, other), other.attentions - one.attentions)


def test_what_does_not_fit_together_is_refused() -> None:
    one = trace_text(little_checkpoint(), "the red cat sat")
    with pytest.raises(InputError, match="equal length"):
        attention_difference(one, trace_text(little_checkpoint(), "the red cat"))
    with pytest.raises(InputError, match="layers or heads"):
        attention_difference(one, trace_text(little_checkpoint(num_hidden_layers=3), "the red cat sat"))


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
