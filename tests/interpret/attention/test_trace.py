import numpy as np
import pytest
import torch

from bertviz_lab import InputError, show
from bertviz_lab.interpret import (
    analyze_snapshot,
    attention_scores,
    embedding_sum,
    encode_inputs,
    norms_by_layer,
    pseudo_log_likelihood,
    query_key,
    trace_text,
)
from tests.little import little_checkpoint

TEXT_A, TEXT_B = "the red cat sat", "a small dog ran"


def test_top_lists_the_largest_weights_of_a_row() -> None:
    trace = trace_text(little_checkpoint(), TEXT_A)
    top = trace.top(layer=1, head=0, token=2, k=3)
    assert [weight for _, weight in top] == sorted(trace.attentions[1, 0, 2].tolist(), reverse=True)[:3]
    assert len(trace.top(0, 0, 2, 100)) == len(trace.tokens)


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


def test_head_masks_pairs_and_terms_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="2 rows of 2"):
        trace_text(little_checkpoint(), TEXT_A, head_mask=np.ones((3, 2)))
    trace = trace_text(little_checkpoint(), "the red cat")
    with pytest.raises(InputError, match="not there"):
        query_key(trace, 0, 0, 0, 99)
    scores = attention_scores(trace)
    np.testing.assert_array_equal(scores.values("query_key"), scores.values("score"))
    for term in ("bogus", "relative_bias"):
        with pytest.raises(InputError, match=f"no term '{term}' in these scores: choose one of score, query_key"):
            scores.values(term)
        with pytest.raises(InputError, match="no term"):
            show.attention_scores(trace, term)


def test_tokens_that_a_causal_mask_hides_have_no_weight() -> None:
    trace = trace_text(little_checkpoint(), "the red cat sat", causal=True)
    scores = attention_scores(trace)
    np.testing.assert_array_equal(scores.masked[1], np.triu(np.ones((len(trace.tokens),) * 2), 1) == 1)
    assert scores.pair(0, 1, 1, 3).is_masked
    assert (scores.values("score")[:, :, 1, 3] == 0).all()
    assert scores.terms == ()
