"""Attention made by hand, whose numbers are known."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from bertviz_lab.interpret import METRICS, head_metrics, rollout, trace_text
from bertviz_lab.interpret.attention import measure_heads
from tests.little import little_checkpoint

TOKENS = 6
ENCODING = SimpleNamespace(token_type_ids=(0, 0, 0, 1, 1, 1), special_tokens_mask=(1, 0, 0, 0, 0, 1))


def measured(head: np.ndarray) -> dict[str, float]:
    found = measure_heads(head[None, None], ENCODING).metrics
    assert set(found) == set(METRICS)
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
    assert (head_metrics(trace_text(little_checkpoint(), "the red cat sat")).metrics["across"] == 0).all()


def test_rollout_follows_a_token_through_two_layers() -> None:
    # Layer 1 copies token 0 to all; layer 2 looks at itself only.
    copy = np.zeros((3, 3))
    copy[:, 0] = 1
    flow = rollout(np.stack([copy, np.eye(3)])[:, None])
    np.testing.assert_allclose(flow[0], (copy + np.eye(3)) / 2)
    np.testing.assert_allclose(flow[1], flow[0])
    np.testing.assert_allclose(flow.sum(-1), 1)
