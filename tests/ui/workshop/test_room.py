"""What a workshop knows of its room."""

import json

import pytest

from bertviz_lab.ui.server.visitors import Visitor, owner_of
from bertviz_lab.ui.workshop.room import Room


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def room(clock: list[float]) -> Room:
    return Room(40, now=lambda: clock[0])


def person(number: int, address: str = "") -> Visitor:
    return Visitor(owner_of(f"{number:043}"), address or f"192.0.2.{number}")


def test_predictions_are_counted_and_one_of_a_browser_counts_once(room: Room) -> None:
    for number in range(30):
        room.report(person(number), room.id, 5, (), {5: number % 3})
    room.report(person(0), room.id, 5, (), {5: 2})
    assert room.counts(5).guesses == {0: 9, 1: 10, 2: 11}
    assert room.counts(5).at == room.present == len(room) == 30


def test_a_prediction_is_final_once_its_lesson_is_revealed(room: Room) -> None:
    room.report(person(1), room.id, 5, (), {5: 0, 6: 1})
    room.reveal(5)
    room.report(person(1), room.id, 5, (), {5: 2, 6: 2})
    room.report(person(2), room.id, 5, (), {5: 1})  # after it was told
    assert room.counts(5).guesses == {0: 1}
    assert room.counts(6).guesses == {2: 1}


def test_predictions_are_told_when_they_are_revealed_and_say_nothing_of_a_browser(room: Room) -> None:
    assert room.report(person(1), room.id, 5, (), {5: 0})["revealed"] == {}
    room.reveal(5)
    news = room.report(person(2), room.id, 1, (), {})
    assert news["revealed"] == {5: {0: 1}}
    assert not [said for said in (person(1).owner, "192.0.2") if said in json.dumps(news)]


def test_an_answer_counts_as_seen_only_where_it_was_revealed(room: Room) -> None:
    room.reveal(1)
    room.report(person(1), room.id, 2, (1, 2, 3), {})
    assert [room.counts(number).done for number in (1, 2, 3)] == [1, 0, 0]


def test_a_call_reaches_those_who_come_later_and_the_last_one_counts(room: Room) -> None:
    room.call(5)
    room.call(3)
    assert room.report(person(9), "", 1, (), {})["call"] == {"number": 2, "lesson": 3}


def test_after_a_reset_nothing_is_left_and_old_reports_do_not_come_back(room: Room) -> None:
    old = room.id
    room.report(person(1), old, 5, (), {5: 0})
    room.reveal(5)
    room.call(5)
    before = room.news()["call"]["number"]
    room.reset()
    told = room.report(person(1), old, 5, (5,), {5: 0})
    assert told["room"] == room.id != old
    assert told["call"]["lesson"] == 0
    assert told["revealed"] == {}
    assert room.counts(5).guesses == {}
    assert room.counts(5).done == 0
    room.call(5)
    assert room.news()["call"]["number"] > before  # a new one


def test_a_browser_that_is_silent_counts_as_gone_and_its_prediction_stays(room: Room, clock: list[float]) -> None:
    room.report(person(1), room.id, 5, (), {5: 0})
    clock[0] = 120.0
    room.report(person(2), room.id, 5, (), {})
    assert (room.present, len(room), room.counts(5).at) == (1, 2, 1)
    assert room.counts(5).guesses == {0: 1}


def test_made_up_cookies_drive_out_only_those_of_their_own_address(room: Room) -> None:
    for number in range(20):
        room.report(person(number), room.id, 1, (), {1: 0})
    for number in range(100, 300):
        room.report(person(number, "203.0.113.7"), room.id, 1, (), {1: 1})
    assert len(room) == 40
    assert room.counts(1).guesses == {0: 20, 1: 20}
