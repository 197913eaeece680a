import json

import numpy as np
import pytest

from bertviz_lab.figures.charts import bars_payload, columns_payload, lines_payload, matrix_payload, plane_payload
from bertviz_lab.figures.scores import ScoreRow, scores_payload
from tests.ui.components.harness import SENTENCE, encoding


def test_a_matrix_keeps_its_numbers_and_tells_them_in_a_table() -> None:
    body = json.loads(matrix_payload(np.array([[0.5, np.nan], [-2.0, 1.0]]), ["a", "b"], ["x", "y"], title="T"))
    assert body["values"] == [[0.5, None], [-2.0, 1.0]]
    assert body["peak"] == 2.0
    assert body["table"] == {"header": ["", "x", "y"], "rows": [["a", 0.5, None], ["b", -2.0, 1.0]]}


def test_a_matrix_of_words_has_them_in_its_table() -> None:
    body = json.loads(matrix_payload(np.array([[0.25]]), ["a"], ["x"], title="T", texts=[["cat"]]))
    assert body["table"]["rows"] == [["a", "cat 0.25"]]


def test_bars_of_two_series_stand_beside_each_other() -> None:
    body = json.loads(bars_payload(["cat", "dog"], [("one", [0.5, 0.25]), ("two", [0.1, None])], title="T"))
    assert body["peak"] == 0.5
    assert body["table"]["rows"] == [["cat", 0.5, 0.1], ["dog", 0.25, None]]
    assert body["series"][1]["texts"] == ["0.1", ""]


def test_every_kind_has_a_title_a_table_and_a_file() -> None:
    points = np.array([[0.0, 1.0], [2.0, 3.0]])
    for payload in (
        columns_payload(np.array([1.0, -1.0]), ["1", "2"], ["up", "down"], title="T", file="f"),
        plane_payload(points, ["a", "b"], title="T", ways=[[0, 1]], file="f"),
        lines_payload(["0", "1"], [("s", points[:, 0])], title="T", place_name="layer", file="f"),
    ):
        body = json.loads(payload)
        assert (body["title"], body["file"]) == ("T", "f")
        assert len(body["table"]["rows"]) == 2


def test_shapes_that_do_not_agree_are_refused() -> None:
    with pytest.raises(ValueError, match="rows"):
        matrix_payload(np.zeros((2, 2)), ["a"], ["x", "y"], title="T")
    with pytest.raises(TypeError, match="colour"):
        bars_payload([], [], title="T", colour="red")
    with pytest.raises(ValueError, match="entries"):
        scores_payload(encoding(SENTENCE), [ScoreRow("r", "says", [1.0])], title="T")


def test_scores_have_a_text_for_every_number_and_none_for_none() -> None:
    values = [None, *np.linspace(-1, 1, len(SENTENCE) - 2), float("nan")]
    (row,) = json.loads(scores_payload(encoding(SENTENCE), [ScoreRow("r", "says", values, plus=True)], title="T"))[
        "rows"
    ]
    assert row["peak"] == 1.0
    assert row["texts"][0] == row["texts"][-1] == ""
    assert (row["texts"][1], row["texts"][-2]) == ("-1.00", "+1.00")
    assert row["values"][-1] is None
