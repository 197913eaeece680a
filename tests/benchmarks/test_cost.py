"""Costs are read off straight lines, whose errors are shares of what was measured."""

import json
import subprocess
import sys

import pytest

from benchmarks import cost
from benchmarks.costs.lines import fit


def test_points_on_a_line_give_that_line() -> None:
    line = fit([64, 128, 512], [5 + 0.5 * x for x in (64, 128, 512)])
    assert (line.start, line.slope) == pytest.approx((5, 0.5))
    assert line.r_squared == pytest.approx(1)


def test_the_largest_error_is_a_share_of_the_measured_value() -> None:
    line = fit([1, 2, 3], [10, 20, 36])
    errors = [abs(line.at(x) - y) / y for x, y in ((1, 10), (2, 20), (3, 36))]
    assert cost._error(line, [1, 2, 3], [10, 20, 36]) == f"{max(errors):.0%}"
    assert 0 < max(errors) < 0.1  # every point counts by its share, so that the small ones are not lost


@pytest.mark.thorough
def test_preparing_a_text_is_measured_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost.os, "environ", cost.os.environ | {"BERTVIZ_LAB_CACHE": "none"})
    measured = cost.in_process("preparation", 0.2)
    assert measured["seconds"] > 0
    assert measured["megabytes"] > 100  # libraries and all


def test_an_unknown_case_fails() -> None:
    command = [sys.executable, "-m", "benchmarks.cost", "--case", json.dumps(["no such case"])]
    assert subprocess.run(command, capture_output=True, check=False).returncode
