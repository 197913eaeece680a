import numpy as np
import pytest
import torch

from bertviz_lab import InputError
from bertviz_lab.interpret import (
    analyze_snapshot,
    attention_scores,
    choose_target,
    embedding_sum,
    encode_inputs,
    fill_mask,
    logit_lens,
    norms_by_layer,
    pseudo_log_likelihood,
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


def test_a_probe_can_be_trained_on_the_tensors_of_a_trace() -> None:
    (first, *_) = trace_text(little_checkpoint(), TEXT_A).layers
    probe = torch.nn.Linear(first.intermediate_output.shape[-1], 2)
    probe(first.intermediate_output).sum().backward()
    assert probe.weight.grad is not None


def test_results_with_arrays_can_be_compared_and_collected() -> None:
    checkpoint = little_checkpoint()
    for analyze in (trace_text, embedding_sum, norms_by_layer, encode_inputs, analyze_snapshot, pseudo_log_likelihood):
        first, second = analyze(checkpoint, TEXT_A), analyze(checkpoint, TEXT_A)
        assert first != second
        assert {first, second} == {second, first}


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
