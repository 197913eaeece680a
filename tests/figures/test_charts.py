import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.figures.attention import sqrt_codes
from bertviz_lab.figures.payload import base64_array, figure, to_json
from bertviz_lab.figures.results import attribution_body
from bertviz_lab.interpret import Attribution, HeadAblation, Target
from tests.charts import shown
from tests.ui.components.harness import SENTENCE, encoding


def matrix(values: object, rows: str, columns: str, **options: object) -> dict[str, Any]:
    return shown(
        figure("matrix", values=np.array(values), rows=list(rows), columns=list(columns), title="T", **options)
    )


def test_a_matrix_has_its_numbers_or_words_in_cells_and_table() -> None:
    body = matrix([[0.5, np.nan], [-2.0, 1.0]], "ab", "xy")
    assert body["values"] == [[0.5, None], [-2.0, 1.0]]
    assert body["peak"] == 2.0
    assert body["table"] == {"header": ["", "x", "y"], "rows": [["a", 0.5, None], ["b", -2.0, 1.0]]}
    (trace,) = body["figure"]["data"]
    assert trace["text"] == [["0.50", ""], ["-2.00", "1.00"]]
    assert trace["textfont"]["color"] == "var(--lab-text)"
    assert [color[6:-1] for _, color in trace["colorscale"]] == ["lab-shade-b", "lab-page", "lab-shade-a"]
    words = matrix([[0.25]], "a", "x", words=[["cat"]])
    assert (words["texts"], words["table"]["rows"]) == ([["cat"]], [["a", "cat 0.250"]])
    counts = matrix([[3, 1]], "a", "xy", texts=[["3!", ""]], shades=np.array([[0.75, -0.25]]), picks=([7], [8, 9]))
    assert (counts["texts"], counts["table"]["rows"]) == ([["3!", ""]], [["a", 3, 1]])
    assert counts["figure"]["data"][0]["z"] == [[0.75, -0.25]]
    assert counts["picks"] == [[{"row": 7, "column": 8}, {"row": 7, "column": 9}]]


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ((0.00726, 2.4, -0.0892), ["0.01", "2.40", "-0.09"]),
        ((-0.0001, 0.5), ["0.000", "0.500"]),
        ((1234.5, 0.1), ["1,235", "0"]),
        ((3e-7, -2e-9), ["0.000000", "0.000000"]),
        ((3, 1200), ["3", "1,200"]),
    ],
)
def test_the_numbers_of_a_picture_have_one_format(numbers: tuple[float, ...], texts: list[str]) -> None:
    assert matrix([numbers], "a", "xyz"[: len(numbers)])["texts"] == [texts]


def test_a_color_scale_is_named_with_its_range_and_unit() -> None:
    cat = Target("token", 1, 2, "cat")
    ablation = HeadAblation(encoding(SENTENCE), cat, 0.0, np.array([[2.0, -0.25]]), np.array([1.0]))
    unit = "log-probability, in nats"
    keys = shown(figure("head_ablation", **vars(ablation)))["keys"]
    assert keys == [[f"−2.00 {unit}", "var(--lab-shade-b)"], ["0", "var(--lab-page)"],
                    [f"2.00 {unit}", "var(--lab-shade-a)"]]  # fmt: skip


def test_bars_have_labels_a_peak_and_a_table() -> None:
    series = [("one", [0.5, 0.25]), ("two", [0.1, None])]
    body = shown(figure("bars", groups=["cat", "dog"], series=series, title="T", extra_columns=[("seen", [7, 8])]))
    assert (body["layout"]["xaxis"]["range"], body["series"][1]["texts"]) == ([0, 0.5], ["0.100", ""])
    rows = [["cat", 0.5, 0.1, 7], ["dog", 0.25, None, 8]]
    assert body["table"] == {"header": ["", "one", "two", "seen"], "rows": rows}
    shares = shown(figure("bars", groups=["cat", "dog"], series=series, title="T", number_format=".0%", missing="none"))
    assert (shares["layout"]["xaxis"]["range"], shares["series"][1]["texts"]) == ([0, 1], ["10%", "none"])


def test_heads_that_are_off_are_marked_and_their_numbers_stay_numbers() -> None:
    cat = Target("token", 1, 2, "cat")
    ablation = HeadAblation(encoding(SENTENCE), cat, 0.0, -np.array([[0.5, -0.25]]), -np.array([1.0]))
    body = shown(figure("head_ablation", off=[(0, 0)], **vars(ablation)))
    assert body["picks"]
    assert body["table"]["rows"] == [["layer 1", 0.5, -0.25, 1.0]]
    assert body["figure"]["data"][0]["text"] == [["off", "-0.25", "1.00"]]
    assert not shown(figure("head_ablation", **vars(ablation)))["picks"]


@pytest.mark.parametrize("is_regression", [False, True])
def test_effects_on_a_number_are_not_said_to_be_log_probabilities(is_regression: bool) -> None:
    quantity = "predicted value" if is_regression else "log-probability"
    target = Target("label", 0, 0, "stars", is_regression=is_regression)
    text = encoding(SENTENCE)
    ablation = HeadAblation(text, target, 1.0, np.array([[0.5]]), np.array([0.0]))
    heads = shown(figure("head_ablation", **vars(ablation)))
    assert ("nats" in heads["details"][0][0]) != is_regression
    assert f"{quantity} with the head" in heads["note"]
    zero = Attribution(text, target, "occlusion", np.zeros(len(text.tokens)), 0.5, None)
    strip = str(shown(figure("attribution", **attribution_body([zero]))))
    assert f"Loss in {quantity}" in strip
    assert ("log" in strip) != is_regression
    assert ("With this text “stars”" in strip) != is_regression, "a token in a sentence is told from its words"


def test_text_and_numbers_come_back_and_no_tag_can_be_read_out():
    hostile = "</script><img src=x onerror=alert(1)> {{7*7}} ${alert(1)} ` \\ \u2028 é 猫"
    text = to_json({"token": hostile})
    assert "<" not in text
    assert json.loads(text)["token"] == hostile
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
