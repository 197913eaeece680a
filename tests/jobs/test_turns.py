"""In which order runs that wait start, and when."""

import pytest

from bertviz_lab.jobs.turns import PREPARING_SECONDS, Start, WaitingRun, in_turn, starts, words_of


def runs(*names: str, seconds: float | None = 60.0) -> list[WaitingRun]:
    """Runs that came in this order; "a2" is the second of owner a."""
    return [WaitingRun(name, name[0], number, seconds) for number, name in enumerate(names, 1)]


def names(order: list[WaitingRun]) -> list[str]:
    return [run.run_id for run in order]


def test_five_runs_of_one_owner_do_not_hold_up_the_first_of_another() -> None:
    waiting = runs("a1", "a2", "a3", "a4", "a5", "b1", "c1", "b2")
    assert names(in_turn(waiting, [], {})) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4", "a5"]


def test_whoever_trains_already_lets_others_go_first() -> None:
    assert names(in_turn(runs("a2", "b1"), ["a"], {})) == ["b1", "a2"]


def test_whoever_has_just_had_a_turn_waits_behind_those_who_came_meanwhile() -> None:
    assert names(in_turn(runs("a2", "a3", "b1"), [], {"a": 10.0})) == ["b1", "a2", "a3"]
    assert names(in_turn(runs("a2", "a3", "b1"), [], {"a": 2.5})) == ["a2", "b1", "a3"]


def test_runs_of_nobody_start_in_the_order_in_which_they_came() -> None:
    waiting = [WaitingRun(name, "", 1.0 + number, None) for number, name in enumerate("dbca")]
    assert names(in_turn(waiting, [""], {"": 99.0})) == ["d", "b", "c", "a"]


def test_a_start_is_when_the_runs_before_have_had_their_time() -> None:
    planned = starts(runs("a1", "b1", "c1"), [30.0], places=1)
    assert planned["a1"] == Start(0, 30, False)
    assert planned["b1"] == Start(1, 30 + PREPARING_SECONDS + 60, False)
    assert planned["c1"] == Start(2, 30 + 2 * (PREPARING_SECONDS + 60), False)


def test_with_more_places_a_run_starts_when_the_first_of_them_is_free() -> None:
    planned = starts(runs("a1", "b1", "c1"), [30.0, 100.0], places=2)
    assert [planned[name].seconds for name in ("a1", "b1", "c1")] == [30, 30 + PREPARING_SECONDS + 60, 100]
    assert starts(runs("a1"), [30.0], places=2)["a1"].seconds == 0


def test_behind_a_run_of_so_many_steps_a_start_is_a_lower_bound() -> None:
    planned = starts([*runs("a1", seconds=None), *runs("b1")], [90.0], places=1)
    assert (planned["a1"].at_least, planned["b1"].at_least) == (False, True)
    assert starts(runs("a1"), [None], places=1)["a1"] == Start(0, 0, True)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (Start(0, 0, True), "It is next in the queue."),
        (Start(0, 33, False), "It is next in the queue; it starts in about 35 s."),
        (Start(1, 130, False), "One other is before it in the queue; it starts in about 2 min."),
        (Start(4, 7300, True), "4 others are before it in the queue; it starts in at least 2 h 2 min."),
    ],
)
def test_a_person_is_told_place_and_time(start: Start, words: str) -> None:
    assert words_of(start) == words
