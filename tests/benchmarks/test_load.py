"""A short workshop: what the hour of `benchmarks/load.py` measures holds for half a minute of six visitors."""

from benchmarks import load


def test_every_visitor_gets_their_own_answers_and_no_error() -> None:
    result = load.measure(6, 0.4, run_seconds=5)
    assert result["errors"] == {}
    assert result["mixed_up"] == 0
    assert result["answers_checked"] >= 6
    assert result["runs"]["started"] >= 1
    assert result["runs"]["lost"] == 0
    assert result["tracebacks"] == 0
    assert "6 visitors" in load.table(result)


def test_names_are_not_parts_of_each_other() -> None:
    made = load.names(60)
    assert len(set(made)) == 60
    assert len({len(name) for name in made}) == 1
