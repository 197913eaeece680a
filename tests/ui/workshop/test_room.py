"""The room of a workshop: the leader's key, the address of participants, and the pages with their plans."""

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs
from bertviz_lab.jobs import runs as runs_module
from bertviz_lab.jobs.new_run import short_name
from bertviz_lab.jobs.runs import PREPARING_SECONDS
from bertviz_lab.jobs.scheduler import plan_starts
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.server.visitors import Visitor, owner_of
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.workshop.access import (
    COOKIE,
    LeaderKey,
    checked_address,
    new_key,
    participants_address,
    qr_code,
)
from bertviz_lab.ui.workshop.machine import Check
from bertviz_lab.ui.workshop.pages import (
    RunsNow,
    board,
    checks_table,
    leader_page,
    runs_of,
    screen,
    screen_page,
    title_of,
)
from bertviz_lab.ui.workshop.plans import PLANS, Plan, shared_runs
from bertviz_lab.ui.workshop.room import Room
from tests.processes import settings as settings_of_run
from tests.ui.pages import PageReader, request_of


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def room(clock: list[float]) -> Room:
    return Room(40, now=lambda: clock[0])


def person(number: int, address: str = "") -> Visitor:
    return Visitor(address or f"192.0.2.{number}", owner_of(f"{number:043}"))


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
    assert room.report(person(9), "", 1, (), {})["call"] == {"number": 2, "lesson": 3, "exam": "", "place": None}


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


KEY = "a-key-for-tests"


def asked(address: str = "192.0.2.1", cookie: str = "") -> Request:
    request: Any = request_of(address=address).request
    scope = request.scope | {"headers": [(b"cookie", cookie.encode())], "scheme": "http"}
    return Request(scope)


def cookie_of(key: LeaderKey) -> str:
    response = Response()
    key.remember(asked(), response)
    return response.headers["set-cookie"]


def test_a_key_is_made_where_none_is_given_and_one_that_is_easily_guessed_or_hard_to_send_is_refused() -> None:
    assert len(new_key()) >= 22
    assert new_key() != new_key()
    assert new_key(KEY) == KEY
    for key in ("short", "x" * 201, "schlüssel-schlüssel", "with\nanother line"):
        with pytest.raises(InputError, match="leader's key must have"):
            new_key(key)


def test_the_key_opens_and_the_cookie_is_another_word(caplog: pytest.LogCaptureFixture) -> None:
    key = LeaderKey(KEY)
    with caplog.at_level(logging.INFO):
        assert key.try_key(asked(), KEY) is None
    assert KEY not in cookie_of(key)
    assert KEY not in " ".join(str(record.__dict__) for record in caplog.records)


def test_the_cookie_is_read_by_no_script_and_sent_by_no_other_site() -> None:
    text = cookie_of(LeaderKey(KEY))
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(text.split("; "))


def test_only_the_cookie_of_this_start_is_the_leaders() -> None:
    key, other = LeaderKey(KEY), LeaderKey(KEY)
    cookie = cookie_of(key).split(";")[0]
    assert key.is_leader(asked(cookie=cookie))
    for forged in ("", f"{COOKIE}=", f"{COOKIE}={KEY}", cookie + "x", cookie_of(other).split(";")[0], f"{COOKIE}=é"):
        assert not key.is_leader(asked(cookie=forged))


def test_wrong_keys_make_who_sends_them_wait_and_never_lock_the_right_one_out(caplog: pytest.LogCaptureFixture) -> None:
    key = LeaderKey(KEY)
    with caplog.at_level(logging.INFO):
        waits = [key.try_key(asked(), f"wrong-{number}") for number in range(60)]
    assert waits[:29] == [0.0] * 29  # participants share the leader's address
    assert waits[-1]
    assert key.try_key(asked(), KEY) is None
    assert "wrong-" not in " ".join(str(record.__dict__) for record in caplog.records)


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.ui.workshop.access.addresses_of_machine", lambda: ["192.168.1.5", "10.0.0.2"])


@pytest.mark.parametrize(
    ("public", "asked", "address"),
    [
        ("", "http://127.0.0.1:7860/", "http://192.168.1.5:7860/"),
        ("", "http://0.0.0.0:7860/", "http://192.168.1.5:7860/"),
        ("", "http://localhost:7860", "http://192.168.1.5:7860/"),
        ("", "http://[::1]:7860/", "http://192.168.1.5:7860/"),
        ("", "http://10.0.0.2:7860/", "http://10.0.0.2:7860/"),
        ("", "https://lab.example.org/lab/", "https://lab.example.org/lab/"),
        ("", "http://[2001:db8::1]:7860/", "http://[2001:db8::1]:7860/"),
        ("https://lab.example.org/", "http://127.0.0.1:7860/", "https://lab.example.org/"),
    ],
)
def test_participants_get_an_address_that_their_machines_reach(public: str, asked: str, address: str) -> None:
    assert participants_address(Settings(public_url=public), asked) == address


def test_a_page_at_loopback_names_no_address_of_the_network(tmp_path: Path) -> None:
    local = Settings.for_host("127.0.0.1", tmp_path, 1, {}, workshop="Room")
    assert participants_address(local, "http://127.0.0.1:7860/") == "http://127.0.0.1:7860/"
    open_page = Settings.for_host("0.0.0.0", tmp_path, 1, {}, workshop="Room")
    assert participants_address(open_page, "http://127.0.0.1:7860/") == "http://192.168.1.5:7860/"


def test_a_machine_without_a_network_has_its_own_address_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertviz_lab.ui.workshop.access.addresses_of_machine", list)
    assert participants_address(Settings(), "http://127.0.0.1:7860/") == "http://127.0.0.1:7860/"


def test_a_public_address_ends_with_a_slash_or_is_refused() -> None:
    assert checked_address("https://lab.example.org/lab") == "https://lab.example.org/lab/"
    assert checked_address("") == ""
    for text in ("lab.example.org", "javascript:alert(1)", "http://x/<script>", "http://" + "x" * 200):
        with pytest.raises(InputError, match="--public-url"):
            checked_address(text)


def test_a_code_is_an_image_of_its_own_and_differs_with_its_address() -> None:
    code = qr_code("http://192.168.1.5:7860/5")
    assert code.startswith("<svg")
    assert "href" not in code
    assert code != qr_code("http://192.168.1.5:7860/6")


ADDRESS = "http://192.168.1.5:7860/"


@pytest.fixture
def settings() -> Settings:
    return Settings(
        workshop="A <b>room</b>", leader_key="k" * 12, limits=Limits.of(shared=True, given={"run_seconds": "3m"})
    )


def test_the_leaders_page_has_a_place_for_everything_that_it_is_told(settings: Settings) -> None:
    room, page = Room(30), PageReader(leader_page(settings, ADDRESS, Room(30)))
    told, shares = set[str](), set[str]()
    for plan in PLANS:
        room.start(plan)
        for _ in plan.parts:
            news = board(room, RunsNow(waiting=1, seconds=9999.0))
            told |= news["texts"].keys()
            shares |= news["shares"].keys()
            room.move(1)
        assert room.plan is None
    assert page.told == told
    assert page.shares == shares


def test_the_screen_has_a_place_for_everything_that_it_is_told() -> None:
    room, page = Room(30), PageReader(screen_page("Room", ADDRESS))
    for lesson in LESSONS:
        room.call(lesson.number)
        room.reveal(lesson.number)
        news = screen(room)
        assert page.told >= news["texts"].keys()
        assert page.shares >= news["shares"].keys()


def test_the_screen_shows_predictions_only_when_they_are_revealed() -> None:
    room = Room(30)
    room.report(Visitor("192.0.2.1", owner_of("o" * 43)), room.id, 5, (), {5: 1})
    room.call(5)
    texts = screen(room)["texts"]
    assert texts["present"] == "1 here, 1 predicted"
    assert not screen(room)["shares"]
    assert not [name for name in texts if name.startswith("count")]
    assert LESSONS[4].example in texts["question"]
    assert not [text for text in texts.values() if text.startswith("✓")]
    room.reveal(5)
    news = screen(room)
    right = [choice.text.replace("`", "") for choice in LESSONS[4].choices if not choice.why]
    assert [text for text in news["texts"].values() if text.startswith("✓")] == [f"✓ {text}" for text in right]
    assert (news["texts"]["count-1"], news["shares"]["count-1"]) == ("1 of 1", 1.0)


def test_the_screen_shows_what_the_leader_says_in_a_part_without_a_lesson(room: Room) -> None:
    room.start(PLANS[1])
    assert screen(room)["texts"]["title"].startswith("Join")
    room.move(3)
    part = PLANS[1].parts[3]
    assert {part.title, part.say, "6 min left"} <= set(screen(room)["texts"].values())


def test_a_name_is_only_text_and_nothing_comes_from_outside(settings: Settings) -> None:
    for page in (leader_page(settings, ADDRESS, Room(30)), screen_page(settings.workshop, ADDRESS)):
        assert "<b>room" not in page
        assert [a for a in PageReader(page).addresses if "//" in a or a.startswith("/")] == []


def test_checks_are_told_as_doctor_says_them() -> None:
    table = checks_table([Check("Port", "failed", "Port <1> is taken.")])
    assert '<tr class="failed">' in table
    assert "Port &lt;1&gt; is taken." in table


each_plan = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{plan.minutes} minutes")


@each_plan
def test_a_plan_has_slack_and_eight_minutes_or_more_for_a_lesson(plan: Plan) -> None:
    taken = [part.lesson for part in plan.parts if part.lesson]
    assert len(taken) == len(set(taken))
    assert all(part.minutes == LESSONS[part.lesson - 1].room_minutes >= 8 for part in plan.parts if part.lesson)
    assert plan.minutes in (45, 90, 180)
    assert all(part.lesson or part.title for part in plan.parts)
    assert len(plan.goals) >= 3
    assert sum(part.minutes for part in plan.parts if part.slack) >= 0.07 * plan.minutes


def test_the_longest_plan_ends_with_the_exam_that_began_it_and_no_hour_is_without_a_break() -> None:
    plan = PLANS[-1]
    assert [part.exam for part in plan.parts if part.exam] == ["before", "after"]
    assert plan.parts[-2].exam == "after"
    breaks = [start for start, part in plan.timed() if part.title == "Break"]
    assert max(b - a for a, b in zip([0, *breaks], [*breaks, plan.minutes], strict=True)) <= 75


@each_plan
def test_the_documentation_has_the_plan(plan: Plan) -> None:
    written = (Path(__file__).parents[3] / "docs" / "workshop.md").read_text(encoding="utf-8")
    section = written.split(f"### {plan.minutes} minutes\n")[1].split("### ")[0]
    rows = [f"| {start}–{start + part.minutes} | {title_of(part)} | {part.say} |" for start, part in plan.timed()]
    assert re.findall(r"^\| \d.*", section, flags=re.M) == rows
    assert re.findall(r"^- (.*)", section, flags=re.M) == list(plan.goals)


def clock_of(room: Room) -> list[str]:
    texts = board(room, RunsNow())["texts"]
    return [texts["minute"], texts["left"], texts["behind"]]


def test_the_clock_compares_the_plan_with_the_time(room: Room, clock: list[float]) -> None:
    room.start(PLANS[1])  # its parts begin in minutes 0, 4, 12
    assert clock_of(room) == ["Minute 0 of 90", "4 min left", "on time"]
    clock[0] = 60 * 2
    room.move(1)
    assert clock_of(room) == ["Minute 2 of 90", "8 min left", "2 min ahead of the plan"]
    clock[0] = 60 * 13.5
    late = "2 min behind the plan, 9 min of slack to come"
    assert clock_of(room) == ["Minute 13 of 90", "time is up, 3 min ago", late]
    room.move(1)
    assert clock_of(room) == ["Minute 13 of 90", "8 min left", late]


def test_the_leader_is_told_when_the_queue_is_longer_than_the_plan_allows(room: Room) -> None:
    room.start(PLANS[1])
    waiting = RunsNow(waiting=9, seconds=1700.0)
    assert board(room, waiting)["texts"]["queue"] == ""  # no run of the plan trains yet
    room.move(3)  # runs are started for six minutes, and looked at 34 minutes later
    in_time = "Runs that wait: 9. The last one ends in about 29 min. “Look at the runs” begins in 40 min."
    assert board(room, waiting)["texts"]["queue"] == in_time
    assert "let groups share a run" in board(room, RunsNow(waiting=20, seconds=3800.0))["texts"]["queue"]
    assert board(room, RunsNow())["texts"]["queue"] == ""
    room.move(6)
    assert board(room, waiting)["texts"]["queue"].startswith(
        "Runs that wait: 9. The last one ends in about 29 min. This"
    )


def test_the_leader_sees_the_runs_that_train_and_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = RunState("training", pid=os.getpid(), step=40, seconds=80.0, eta_seconds=100.4)
    monkeypatch.setattr(Runs, "_launch", lambda self, folder: write_state(folder, training))  # without a process
    monkeypatch.setattr(runs_module, "is_alive", lambda state, folder: True)
    runs = Runs(tmp_path, most_running=1)
    first, second = (runs.start(settings_of_run(steps=None, time_budget="3m")) for _ in range(2))
    now = runs_of(runs)
    assert now.lines[0] == f"{short_name(first)}: training, step 40, about 2 min left."
    assert now.lines[1].startswith(f"{short_name(second)} waits. It is next in the queue; it starts in about 2 min")
    assert (now.waiting, round(now.seconds, -1)) == (1, 290)
    runs.stop(second)  # the thread of the queue ends


@each_plan
@pytest.mark.parametrize("people", [1, 10, 30, 100])
@pytest.mark.parametrize("places", [1, 4])
def test_the_queue_starts_the_runs_of_all_groups_when_the_plan_says(plan: Plan, people: int, places: int) -> None:
    for start, end in plan.training():
        largest, starts = shared_runs(people, start, end, places, 180.0)
        assert len(starts) * largest >= people > (len(starts) - 1) * largest
        queue = plan_starts([180.0 + PREPARING_SECONDS] * len(starts), [], places)
        for at, minute in enumerate(starts):
            assert 60 * (minute - start) == pytest.approx(queue[at].seconds)
        assert starts[-1] + (180.0 + PREPARING_SECONDS) / 60 <= end


def test_a_run_is_planned_even_where_it_will_not_be_done_in_time() -> None:
    assert shared_runs(30, 0, 5, 1, 3600.0) == (30, (0.0,))
