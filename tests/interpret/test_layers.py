import numpy as np
import pytest
import torch

from bertviz_lab import InputError
from bertviz_lab.interpret import choose_target, encode_inputs, fill_mask, logit_lens, norms_by_layer
from tests.little import little_checkpoint

TEXT = "the red [MASK] sat on the [MASK]"


def test_another_mask_and_word_can_be_followed_and_nothing_but_a_mask() -> None:
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
    checkpoint = little_checkpoint()
    target = choose_target(checkpoint, encode_inputs(checkpoint, TEXT, "a dog"), "next")
    with pytest.raises(InputError, match="predicts a token, not B "):
        logit_lens(checkpoint, TEXT, "a dog", target=target)


TEXT_A, TEXT_B = "the red cat sat", "a small dog ran"


def test_norms_are_those_of_what_the_modules_of_each_layer_put_out() -> None:
    checkpoint = little_checkpoint()
    norms = norms_by_layer(checkpoint, TEXT_A, TEXT_B)
    outputs: dict[str, list[torch.Tensor]] = {"attention": [], "output": [], "output_norm": []}
    for layer in checkpoint.model.bert.encoder.layers:
        for name, seen in outputs.items():
            getattr(layer, name).register_forward_hook(lambda _, __, output, seen=seen: seen.append(output[0]))
    ids, segments = (torch.tensor([row]) for row in (norms.encoding.ids, norms.encoding.token_type_ids))
    with torch.no_grad():
        checkpoint.model.bert(ids, token_type_ids=segments)
    for name, values in (
        ("attention", norms.attention),
        ("output", norms.feed_forward),
        ("output_norm", norms.hidden[1:]),
    ):
        truth = torch.stack(outputs[name]).norm(dim=-1)
        np.testing.assert_allclose(values, truth.numpy(), rtol=1e-4)


def test_layers_that_share_parameters_are_measured_one_by_one() -> None:
    norms = norms_by_layer(little_checkpoint(share_layers=True), TEXT_A)
    assert norms.feed_forward.shape[0] == 2
    assert not np.allclose(norms.feed_forward[0], norms.feed_forward[1])
