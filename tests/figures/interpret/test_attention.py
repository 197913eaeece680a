"""Attention payloads: what is packed can be read back as right as is promised."""

import base64
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bertviz_lab.figures.interpret import attention as figure
from bertviz_lab.figures.interpret.attention import attention_body, attention_payload


def weights(layers: int, heads: int, size: int) -> NDArray[np.float32]:
    raw = np.random.default_rng(0).exponential(1.0, (layers, heads, size, size)) ** 3
    return (raw / raw.sum(-1, keepdims=True)).astype(np.float32)


def read(text: str) -> tuple[dict[str, Any], NDArray[np.float64]]:
    body = json.loads(text)
    codes = np.frombuffer(base64.b64decode(body["cells"]), "<u2")
    size = len(body["tokens"])
    values = (codes.astype(float) / 65535) ** 2
    return body, values.reshape(len(body["sent"]), body["heads"], size, size)


def encoding(size: int) -> Any:
    tokens = [f"t{index}" for index in range(size)]
    return SimpleNamespace(tokens=tokens, token_type_ids=[0] * size, special_tokens_mask=[0] * size)


def test_weights_are_sent_right_to_four_digits():
    attention = weights(4, 4, 30)
    body, values = read(attention_payload(attention_body(encoding(30), attention, "title")))
    assert (body["layers"], body["heads"], body["sent"]) == (4, 4, [*range(4)])
    assert np.abs(values - attention).max() < 2e-5


def test_long_text_sends_the_last_layer_unless_another_is_asked_for():
    attention = weights(2, 8, 520)
    assert 2 * attention.size > figure.WHOLE_MODEL_BYTES
    assert read(attention_payload(attention_body(encoding(520), attention)))[0]["sent"] == [1]
    body, values = read(attention_payload(attention_body(encoding(520), attention, layers=[0])))
    assert body["sent"] == [0]
    assert np.abs(values[0] - attention[0]).max() < 2e-5


@pytest.mark.parametrize("value", [np.nan, -0.5, 1.5])
def test_numbers_that_are_no_weights_are_refused(value: float):
    attention = np.full((1, 1, 2, 2), 0.5, np.float32)
    attention[0, 0, 0, 0] = value
    with pytest.raises(ValueError, match="from 0 to 1"):
        attention_body(encoding(2), attention)
