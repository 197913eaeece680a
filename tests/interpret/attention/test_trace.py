import numpy as np
import pytest
import torch

from bertviz_lab import BertForSequenceClassification, BertModel, InputError
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


def test_a_trace_has_one_matrix_a_head_and_a_label_a_token() -> None:
    trace = trace_text(little_checkpoint(), TEXT_A, TEXT_B)
    tokens = len(trace.tokens)
    assert trace.attentions.shape == (2, 2, tokens, tokens)
    assert trace.hidden_states.shape == (3, tokens, 32)
    assert trace.tokens[0] == "[CLS]"
    assert trace.encoding.token_type_ids[-1] == 1


def test_every_row_of_attention_sums_to_one() -> None:
    np.testing.assert_allclose(trace_text(little_checkpoint(), TEXT_A).attentions.sum(-1), 1, atol=1e-6)


def test_the_trace_ends_in_the_hidden_state_that_the_fused_model_computes() -> None:
    checkpoint = little_checkpoint()
    trace = trace_text(checkpoint, TEXT_A)
    with torch.no_grad():
        out = checkpoint.model.bert(torch.tensor([trace.encoding.ids]))
    np.testing.assert_allclose(trace.hidden_states[-1], out.last_hidden_state[0].numpy(), atol=1e-5)


def test_top_lists_the_largest_weights_of_a_row() -> None:
    trace = trace_text(little_checkpoint(), TEXT_A)
    top = trace.top(layer=1, head=0, token=2, k=3)
    assert [weight for _, weight in top] == sorted(trace.attentions[1, 0, 2].tolist(), reverse=True)[:3]
    assert len(trace.top(0, 0, 2, 100)) == len(trace.tokens)
    for k in (0, -1):
        with pytest.raises(InputError, match="k must be at least 1"):
            trace.top(0, 0, 2, k)
    for place in ((2, 0, 0), (0, 2, 0), (0, 0, 99)):
        with pytest.raises(InputError, match="not there"):
            trace.top(*place)


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


def test_a_causal_trace_looks_at_nothing_later() -> None:
    attentions = trace_text(little_checkpoint(), TEXT_A, causal=True).attentions
    assert np.triu(attentions[0, 0], k=1).max() == 0


def test_closing_a_head_changes_what_follows_but_not_what_it_looks_at() -> None:
    checkpoint = little_checkpoint()
    plain = trace_text(checkpoint, TEXT_A)
    closed = trace_text(checkpoint, TEXT_A, head_mask=np.array([[0, 1], [1, 1]]))
    np.testing.assert_array_equal(plain.attentions[0], closed.attentions[0])
    assert np.abs(plain.hidden_states[1] - closed.hidden_states[1]).max() > 1e-3


@pytest.mark.parametrize("kind", [BertModel, BertForSequenceClassification])
def test_models_without_a_masked_word_head_are_traced_too(kind: type) -> None:
    assert trace_text(little_checkpoint(kind=kind), TEXT_A).attentions.shape[0] == 2


def test_a_long_text_is_cut_to_the_models_positions_and_says_so() -> None:
    trace = trace_text(little_checkpoint(), "the red cat " * 2000)
    assert len(trace.tokens) == 64
    assert len(trace.encoding.dropped_a) == 6000 - 62


@pytest.mark.parametrize("text", ["", "   \n"])
def test_no_text_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="Type a sentence"):
        trace_text(little_checkpoint(), text)


def test_a_head_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError, match="2 rows of 2"):
        trace_text(little_checkpoint(), TEXT_A, head_mask=np.ones((3, 2)))


@pytest.mark.parametrize(
    "text", ["مرحبا بالعالم", "你好世界", "🙂🙃 👩‍👩‍👧", "<script>alert(1)</script>", "a\x00b", "\ud800 lone"]
)
def test_any_writing_can_be_traced(text: str) -> None:
    assert trace_text(little_checkpoint(), text).tokens[-1] == "[SEP]"
