"""A short workshop: what the hour of `benchmarks/load.py` measures holds for half a minute of six visitors."""

import pytest

from benchmarks import hostile, load


@pytest.mark.thorough
def test_every_visitor_gets_their_own_answers_and_no_error() -> None:
    result = load.measure(6, 0.4, run_seconds=5)
    assert result["errors"] == {}
    assert result["mixed_up"] == 0
    assert result["answers_checked"] >= 6
    assert result["runs"]["started"] >= 1
    assert result["runs"]["lost"] == 0
    assert result["tracebacks"] == 0
    assert "6 visitors" in load.table(result)


@pytest.mark.thorough
def test_nothing_that_is_sent_makes_the_server_fail_or_a_neighbour_wait() -> None:
    result = hostile.measure(("models", "headers", "links", "bodies"), browser=False)
    assert sum(result["sent"].values()) > 150
    assert result["failures"] == []
    assert result["tracebacks"] == 0
    assert not result["escaped"]
    assert result["neighbour"]["wrong"] == 0
    assert result["neighbour"]["slowest_s"] < 10
    assert result["memory"]["most"] - result["memory"]["before"] < 1.5e9
    assert "inputs. Tracebacks: 0." in hostile.table(result)
