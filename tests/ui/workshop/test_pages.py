"""The leader's page and the screen: what they hold, and that texts are only texts on them."""

from pathlib import Path

import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.config.pretrain import PretrainConfig
from bertviz_lab.jobs import Runs
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.server.visitors import Visitor, owner_of
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.workshop.machine import Check
from bertviz_lab.ui.workshop.pages import board, checks_table, leader_page, run_lines, screen, screen_page
from bertviz_lab.ui.workshop.plans import PLANS
from bertviz_lab.ui.workshop.room import Room
from tests.ui.pages import PageReader

ADDRESS = "http://192.168.1.5:7860/"


@pytest.fixture
def settings() -> Settings:
    return Settings(
        workshop="A <b>room</b>", leader_key="k" * 12, limits=Limits.of(shared=True, given={"run_seconds": "3m"})
    )


def test_the_leaders_page_has_a_place_for_everything_that_it_is_told(settings: Settings) -> None:
    room, page = Room(30), PageReader(leader_page(settings, ADDRESS, Room(30)))
    texts, shares = board(room, ())
    assert page.told == texts.keys()
    assert page.shares == shares.keys()


def test_the_screen_has_a_place_for_everything_that_it_is_told() -> None:
    room, page = Room(30), PageReader(screen_page("Room", ADDRESS))
    for lesson in LESSONS:
        room.call(lesson.number)
        room.reveal(lesson.number)
        texts, shares = screen(room)
        assert page.told >= texts.keys()
        assert page.shares >= shares.keys()


def test_the_screen_shows_predictions_only_when_they_are_revealed() -> None:
    room = Room(30)
    room.report(Visitor(owner_of("o" * 43), "192.0.2.1"), room.id, 5, (), {5: 1})
    room.call(5)
    texts, shares = screen(room)
    assert texts["present"] == "1 here, 1 predicted"
    assert not shares
    assert not [name for name in texts if name.startswith("count")]
    room.reveal(5)
    texts, shares = screen(room)
    assert (texts["count-1"], shares["count-1"]) == ("1 of 1", 1.0)


def test_without_a_workshop_there_is_no_room_on_the_page() -> None:
    page = leader_page(Settings(), ADDRESS, None)
    assert "data-told" not in page
    assert "data-act" not in page
    assert all(f"{plan.minutes} minutes" in page for plan in PLANS)


def test_a_name_is_only_text_and_nothing_comes_from_outside(settings: Settings) -> None:
    for page in (leader_page(settings, ADDRESS, Room(30)), screen_page(settings.workshop, ADDRESS)):
        assert "<b>room" not in page
        assert [a for a in PageReader(page).addresses if "//" in a or a.startswith("/")] == []


def test_each_lesson_has_its_link_and_code(settings: Settings) -> None:
    page = leader_page(settings, ADDRESS, Room(30))
    assert all(f"<summary>{ADDRESS}{lesson.number}</summary>" in page for lesson in LESSONS)
    assert page.count("<svg") == len(LESSONS) + 1


def test_who_trains_when_is_told_for_thirty_people_and_for_more_where_they_are_there(settings: Settings) -> None:
    assert "30 people in 10 groups of up to 3" in leader_page(settings, ADDRESS, Room(30))
    room = Room(100)
    for number in range(60):
        room.report(Visitor(owner_of(f"{number:043}"), "192.0.2.1"), "", 1, (), {})
    assert "60 people in" in leader_page(settings, ADDRESS, room)


def test_checks_are_told_as_doctor_says_them() -> None:
    table = checks_table([Check("Port", "failed", "Port <1> is taken.")])
    assert '<tr class="failed">' in table
    assert "Port &lt;1&gt; is taken." in table


def test_the_queue_stands_in_its_order_with_its_waiting_times(tmp_path: Path) -> None:
    runs = Runs(tmp_path, most_running=1)
    for name, status in (("kind-otter", "waiting"), ("calm-fox", "waiting"), ("wise-owl", "finished")):
        folder = tmp_path / f"{name}-{'0' * 16}"
        folder.mkdir()
        write_state(folder, RunState(status, seconds=1.0))
        write_json(folder / "config.json", PretrainConfig(corpus=("a.txt",), time_budget="2m").to_dict())
    first, second = run_lines(runs)
    assert first.startswith("kind-otter waits. It is next in the queue")
    assert second == "calm-fox waits. One other is before it in the queue; it starts in about 2 min."
