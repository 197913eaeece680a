"""A short attack: what the three hundred inputs of `benchmarks/hostile.py` show holds for those that take no time."""

import pytest

from benchmarks import hostile


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
