import numpy as np
import pytest
import torch

from bertviz_lab import InputError
from bertviz_lab.interpret import (
    analyze_snapshot,
    embedding_sum,
    encode_inputs,
    norms_by_layer,
    pseudo_log_likelihood,
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


def test_a_head_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError, match="2 rows of 2"):
        trace_text(little_checkpoint(), TEXT_A, head_mask=np.ones((3, 2)))
