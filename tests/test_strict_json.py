"""JSON without the NaN and Infinity that the standard does not have."""

import json
import math

import numpy as np
import pytest

from bertviz_lab import strict_json
from bertviz_lab.strict_json import nan_for_null
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs.run_folder import RunState, read_state, write_state

NAN = float("nan")


def loads(text: str):
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_numbers_that_are_not_finite_are_null_at_any_depth():
    body = {"a": [1.0, NAN, (math.inf, {"b": -math.inf})], "c": np.float64("nan"), "d": "NaN"}
    assert loads(strict_json.dumps(body)) == {"a": [1.0, None, [None, {"b": None}]], "c": None, "d": "NaN"}


def test_scores_come_back_as_they_were():
    scores = {"f1": NAN, "trials": [{"scores": {"f1": 0.5, "loss": NAN}}]}
    assert str(nan_for_null(loads(strict_json.dumps(scores)))) == str(scores)


def test_every_json_file_of_a_run_is_valid(tmp_path):
    write_json(tmp_path / "report.json", {"scores": {"spearman": NAN}, "trials": [{"scores": {"loss": math.inf}}]})
    assert loads((tmp_path / "report.json").read_text())["trials"] == [{"scores": {"loss": None}}]
    write_state(tmp_path, RunState(eta_seconds=math.inf))
    assert loads((tmp_path / "state.json").read_text())["eta_seconds"] is None
    assert read_state(tmp_path).eta_seconds is None
