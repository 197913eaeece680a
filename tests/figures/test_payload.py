"""The form in which every payload travels."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.figures.interpret.attention import sqrt_codes
from bertviz_lab.figures.payload import base64_array, to_json


def test_text_comes_back_as_it_went_but_no_tag_can_be_read_out_of_it():
    hostile = "</script><img src=x onerror=alert(1)> {{7*7}} ${alert(1)} ` \\ \u2028 é 猫"
    text = to_json({"token": hostile})
    assert "<" not in text
    assert json.loads(text)["token"] == hostile


def test_numbers_without_a_json_word_become_null():
    body = {"loss": float("nan"), "rate": np.float32("inf"), "count": np.int64(3), "row": np.array([1.0, np.nan])}
    assert json.loads(to_json(body)) == {"loss": None, "rate": None, "count": 3, "row": [1.0, None]}


def test_arrays_travel_little_endian_and_in_order():
    assert base64_array(np.array([1, 256], dtype=">u2")) == "AQAAAQ=="
    assert base64_array(np.arange(4, dtype=np.uint8).reshape(2, 2).T) == "AAIBAw=="


@given(st.floats(0, 1, width=32), st.sampled_from([(8, 255, 0.004), (16, 65535, 1.6e-5)]))
def test_codes_are_right_within_their_step(weight: float, kind: tuple[int, int, float]):
    bits, top, error = kind
    code = int(sqrt_codes(np.array([weight], np.float32), bits)[0])
    assert abs((code / top) ** 2 - weight) <= error
