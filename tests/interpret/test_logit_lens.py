import pytest

from bertviz_lab import InputError
from bertviz_lab.interpret import choose_target, encode_inputs, fill_mask, logit_lens
from tests.little import little_checkpoint

TEXT = "the red [MASK] sat on the [MASK]"


def test_another_masked_token_and_another_word_can_be_followed() -> None:
    checkpoint = little_checkpoint()
    inputs = encode_inputs(checkpoint, TEXT)
    position = inputs.encoding.mask_positions(checkpoint.tokenizer.mask_id)[1]
    target = choose_target(checkpoint, inputs, position=position, choice="mat")
    lens = logit_lens(checkpoint, TEXT, target=target)
    asked = fill_mask(checkpoint, TEXT, word="mat").masks[1].asked
    assert lens.target.name == "mat"
    assert (lens.layers[-1].rank, lens.layers[-1].probability) == (
        asked.rank,
        pytest.approx(asked.probability, abs=1e-6),
    )


def test_a_target_that_is_no_masked_token_is_refused() -> None:
    checkpoint = little_checkpoint()
    target = choose_target(checkpoint, encode_inputs(checkpoint, TEXT, "a dog"), "next")
    with pytest.raises(InputError, match="predicts a token, not B "):
        logit_lens(checkpoint, TEXT, "a dog", target=target)
