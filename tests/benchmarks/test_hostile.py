"""A short attack: what the three hundred inputs of `benchmarks/hostile.py` show holds for those that take no time."""

import asyncio

from benchmarks import hostile
from benchmarks.visitor import Visitor


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


def test_the_attack_counts_an_answer_that_is_a_failure_of_the_server() -> None:
    async def fail() -> None:
        raise hostile.StatusError(500)

    attacker = hostile.Attack(Visitor("http://127.0.0.1:1/"))
    asyncio.run(attacker.send("links", "x", fail))
    assert attacker.failures == ["links 'x': status 500"]
