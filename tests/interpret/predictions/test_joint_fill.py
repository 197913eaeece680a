import math

import pytest
import torch

from bertviz_lab import InputError
from bertviz_lab.interpret import fill_mask, joint_fill
from tests.little import little_checkpoint

TEXT = "the [MASK] cat [MASK] on the [MASK]"


def test_one_masked_token_is_filled_as_fill_mask_does() -> None:
    checkpoint = little_checkpoint()
    text = "the red [MASK] sat"
    best = fill_mask(checkpoint, text, 3).masks[0].candidates
    found = joint_fill(checkpoint, text, beams=3)
    assert [f.tokens for f in found.joint] == [(c.token,) for c in best]
    assert math.exp(found.joint[0].log_probability) == pytest.approx(best[0].probability, abs=1e-6)
    assert found.joint[0].ids == found.independent.ids


def test_independent_masked_tokens_are_the_first_guesses_of_fill_mask() -> None:
    checkpoint = little_checkpoint()
    found = joint_fill(checkpoint, TEXT)
    firsts = [mask.candidates[0] for mask in fill_mask(checkpoint, TEXT).masks]
    assert found.independent.tokens == tuple(c.token for c in firsts)
    assert found.independent.probabilities == pytest.approx([c.probability for c in firsts], abs=1e-6)


def test_with_one_way_each_masked_token_is_filled_in_the_text_as_it_then_is() -> None:
    checkpoint = little_checkpoint()
    (way,) = joint_fill(checkpoint, TEXT, beams=1).joint
    ids, left = torch.tensor([checkpoint.tokenizer.encode(TEXT).ids]), [0, 1, 2]
    positions = (ids[0] == checkpoint.tokenizer.mask_id).nonzero()[:, 0].tolist()
    for blank in way.order:
        with torch.no_grad():
            table = checkpoint.model(ids).prediction_logits[0].softmax(-1)
        assert blank == max(left, key=lambda place: float(table[positions[place]].max()))
        assert way.ids[blank] == int(table[positions[blank]].argmax())
        assert way.probabilities[blank] == pytest.approx(float(table[positions[blank]].max()), abs=1e-5)
        ids[0, positions[blank]] = way.ids[blank]
        left.remove(blank)
    assert way.log_probability == pytest.approx(sum(map(math.log, way.probabilities)), abs=1e-5)


def test_ways_are_different_and_the_best_comes_first() -> None:
    found = joint_fill(little_checkpoint(), TEXT, beams=8).joint
    assert len({way.ids for way in found}) == 8
    scores = [way.log_probability for way in found]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("text", "message"), [("no blank", "Put"), ("[MASK] " * 21, "too many")])
def test_nothing_to_fill_and_too_much_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        joint_fill(little_checkpoint(), text)
