"""Models of 16 bits give what they give in 32, but for rounding."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertviz_lab import interpret
from tests.little import little_checkpoint

TEXT = "the red [MASK] sat on the mat"
HEADS = np.array([[0, 1], [1, 1]])

NUMBERS = {
    "embedding sum": lambda c, _: interpret.embedding_sum(c, TEXT).normalized,
    "contexts": lambda c, _: interpret.compare_contexts(c, TEXT, "the red cat", "red").cosines,
    "head ablation": lambda c, target: interpret.ablate_heads(c, TEXT, target=target).effects,
    "fill-mask with a head mask": lambda c, target: np.array(
        interpret.fill_mask(c, TEXT, word=target.index, head_mask=HEADS).masks[0].asked.probability
    ),
    "trace with a head mask": lambda c, _: interpret.trace_text(c, TEXT, head_mask=HEADS).hidden_states,
    **{
        method: lambda c, target, method=method: interpret.attribute(c, TEXT, method=method, target=target).scores
        for method in interpret.METHODS
    },
}


@pytest.mark.parametrize("analysis", NUMBERS.values(), ids=NUMBERS)
def test_a_bf16_model_is_analyzed_as_one_of_fp32(analysis) -> None:
    exact = little_checkpoint()
    target = interpret.choose_target(exact, interpret.encode_inputs(exact, TEXT))
    half = replace(little_checkpoint(), model=little_checkpoint().model.to(torch.bfloat16))
    expected, values = analysis(exact, target), analysis(half, target)
    assert values.dtype == expected.dtype
    np.testing.assert_allclose(values, expected, atol=0.1)
