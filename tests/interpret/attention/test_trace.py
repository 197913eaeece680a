"""A trace has what the model computed, and a head that is removed changes it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bertviz_lab import BertForNextSentencePrediction, BertForSequenceClassification, InputError
from bertviz_lab.interpret import (
    ablate_heads,
    attention_scores,
    choose_target,
    class_scores,
    encode_inputs,
    fill_mask,
    head_metrics,
    logit_lens,
    norms_by_layer,
    rollout,
    trace_text,
)
from tests.little import little_checkpoint

TEXT_A, TEXT_B = "the red cat sat", "a small dog ran"


def test_a_trace_has_the_attention_and_hidden_states_of_the_model() -> None:
    checkpoint = little_checkpoint()
    trace, arguments = trace_text(checkpoint, TEXT_A, TEXT_B), encode_inputs(checkpoint, TEXT_A, TEXT_B).arguments()
    out = checkpoint.model(**arguments, output_attentions=True, output_hidden_states=True)
    for ours, theirs in ((trace.attentions, out.attentions), (trace.hidden_states, out.hidden_states)):
        assert np.array_equal(ours, torch.cat(theirs).detach().numpy())


def test_a_term_that_the_scores_do_not_have_is_an_error() -> None:
    trace = trace_text(little_checkpoint(), "the red cat")
    scores = attention_scores(trace)
    np.testing.assert_array_equal(scores.values("query_key"), scores.values("score"))
    for term in ("bogus", "relative_bias"):
        with pytest.raises(KeyError, match=term):
            scores.values(term)


def test_tokens_that_a_causal_mask_hides_have_no_weight() -> None:
    trace = trace_text(little_checkpoint(), "the red cat sat", causal=True)
    scores = attention_scores(trace)
    np.testing.assert_array_equal(scores.masked[1], np.triu(np.ones((len(trace.tokens),) * 2), 1) == 1)
    assert scores.pair(0, 1, 1, 3).is_masked
    assert (scores.values("score")[:, :, 1, 3] == 0).all()
    assert scores.terms == ()


MASKED = "the red [MASK] sat on the [MASK]"


def test_another_mask_and_word_can_be_followed_and_nothing_but_a_mask() -> None:
    checkpoint = little_checkpoint()
    inputs = encode_inputs(checkpoint, MASKED)
    position = inputs.encoding.mask_positions(checkpoint.tokenizer.mask_id)[1]
    target = choose_target(checkpoint, inputs, position=position, choice="mat")
    lens = logit_lens(checkpoint, MASKED, target=target)
    asked = fill_mask(checkpoint, MASKED, word="mat").masks[1].asked
    assert lens.target.name == "mat"
    assert (lens.layers[-1].rank, lens.layers[-1].probability) == (
        asked.rank,
        pytest.approx(asked.probability, abs=1e-6),
    )
    checkpoint = little_checkpoint()
    target = choose_target(checkpoint, encode_inputs(checkpoint, MASKED, "a dog"), "next")
    with pytest.raises(InputError, match="predicts a token, not B "):
        logit_lens(checkpoint, MASKED, "a dog", target=target)


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


TEXT = "the red [MASK] sat on the mat"


def test_switching_off_a_head_gives_what_the_model_with_a_head_mask_says() -> None:
    checkpoint = little_checkpoint()
    found = ablate_heads(checkpoint, TEXT)
    (whole,) = fill_mask(checkpoint, TEXT, word=found.target.name).masks
    assert found.effects == pytest.approx(np.log(whole.asked.probability) - found.without_head, abs=1e-5)
    for layer in range(2):
        for head in range(2):
            head_mask = np.ones((2, 2))
            head_mask[layer, head] = 0
            (blank,) = fill_mask(checkpoint, TEXT, word=found.target.name, head_mask=head_mask).masks
            assert np.exp(found.without_head[layer, head]) == pytest.approx(blank.asked.probability, abs=1e-6)
        head_mask = np.ones((2, 2))
        head_mask[layer] = 0
        (blank,) = fill_mask(checkpoint, TEXT, word=found.target.name, head_mask=head_mask).masks
        assert np.exp(found.without_layer[layer]) == pytest.approx(blank.asked.probability, abs=1e-6)


def test_a_head_that_says_nothing_has_no_effect() -> None:
    checkpoint = little_checkpoint()
    size = checkpoint.config.hidden_size // 2
    with torch.no_grad():
        checkpoint.model.bert.encoder.layers[0].attention.output.weight[:, :size] = 0
    found = ablate_heads(checkpoint, TEXT)
    assert found.effects[0, 0] == pytest.approx(0, abs=1e-6)
    assert np.abs(found.effects[0, 1]) > 1e-3


@pytest.mark.parametrize("kind", [BertForNextSentencePrediction, BertForSequenceClassification])
def test_other_heads_of_the_model_can_be_asked_too(kind: type) -> None:
    checkpoint = little_checkpoint(kind=kind)
    question = "next" if kind is BertForNextSentencePrediction else "label"
    texts = ("the red cat sat", "a small dog ran")
    target = choose_target(checkpoint, encode_inputs(checkpoint, *texts), question)
    found = ablate_heads(checkpoint, *texts, target=target)
    assert found.without_head.shape == (2, 2)
    if question == "next":
        inputs, head_mask = encode_inputs(checkpoint, *texts), np.array([[0, 1], [1, 1]])
        probabilities = class_scores(checkpoint, inputs, target, head_mask=head_mask)
        assert np.exp(found.without_head[0, 0]) == pytest.approx(probabilities[target.index], abs=1e-6)


TOKENS = 6
ENCODING = SimpleNamespace(token_type_ids=(0, 0, 0, 1, 1, 1), special_tokens_mask=(1, 0, 0, 0, 0, 1))


def measured(head: np.ndarray) -> dict[str, float]:
    found = head_metrics(head[None, None], ENCODING)
    assert found.keys() == {"entropy", "distance", "previous", "next", "same", "special", "across"}
    return {name: float(values[0, 0]) for name, values in found.items()}


def test_a_head_that_looks_at_the_token_before() -> None:
    head = np.eye(TOKENS, k=-1)
    head[0, 0] = 1  # the first token has none before it
    found = measured(head)
    assert found["previous"] == 1
    assert found["next"] == 0
    assert found["entropy"] == 0
    assert found["distance"] == pytest.approx(5 / 6)
    assert found["same"] == pytest.approx(1 / 6)
    assert found["special"] == pytest.approx(2 / 6)  # tokens 0 and 1 look at [CLS]
    assert found["across"] == pytest.approx(1 / 4)  # token 3, the first of B, looks at A; of four that are not special


def test_a_head_that_looks_everywhere_alike() -> None:
    found = measured(np.full((TOKENS, TOKENS), 1 / TOKENS))
    assert found["entropy"] == pytest.approx(math.log(TOKENS))
    assert found["previous"] == found["next"] == found["same"] == pytest.approx(1 / 6)
    assert found["special"] == pytest.approx(2 / 6)
    assert found["across"] == pytest.approx(2 / 6)
    place = np.arange(TOKENS)
    assert found["distance"] == pytest.approx(np.abs(place[:, None] - place).mean())


def test_a_single_text_has_no_attention_across() -> None:
    trace = trace_text(little_checkpoint(), "the red cat sat")
    assert (head_metrics(trace.attentions, trace.encoding)["across"] == 0).all()


def test_rollout_follows_a_token_through_two_layers() -> None:
    # Layer 1 copies token 0 to all; layer 2 looks at itself only.
    copy = np.zeros((3, 3))
    copy[:, 0] = 1
    flow = rollout(np.stack([copy, np.eye(3)])[:, None])
    np.testing.assert_allclose(flow[0], (copy + np.eye(3)) / 2)
    np.testing.assert_allclose(flow[1], flow[0])
    np.testing.assert_allclose(flow.sum(-1), 1)
