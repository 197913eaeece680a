import numpy as np
import pytest

from bertviz_lab import BertForMaskedLM, Checkpoint, InputError, Tokenizer
from bertviz_lab.interpret import attention_difference, compare_fill_mask, fill_mask, trace_text, untrained
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
