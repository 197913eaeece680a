"""A workshop by HTTP: a leader, thirty participants, and strangers who try what is not theirs."""

import io
import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab.cli.main import main
from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import language_of
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.operations.event_log import start_log
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.server.visitors import COOKIE
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.lessons.view import QUESTIONS
from bertviz_lab.ui.workshop import routes
from bertviz_lab.ui.workshop.machine import Check
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve

KEY = "the key of these tests"
PEOPLE = 30
#: What answers hold and questions do not.
NOTES = [choice.why for lesson in LESSONS for choice in lesson.choices if choice.why]
NOTES += [language_of("de")(note) for note in NOTES]
ONLY_LEADERS = ("/leader", "/leader/board", "/leader/notes/1", "/leader/handout", "/leader/checks")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, AppState]]:
    settings = little_settings(tmp_path_factory.mktemp("workshop"), shared=True)
    with serve(replace(settings, workshop="Reading BERT", leader_key=KEY)) as (address, state):
        yield Server(address), state


@pytest.fixture
def server(served: tuple[Server, AppState]) -> Server:
    assert served[1].room is not None
    served[1].room.reset()
    return served[0]


@pytest.fixture(scope="module")
def leader(served: tuple[Server, AppState]) -> str:
    """The cookie of the leader's browser."""
    status, _, headers = served[0].ask(f"/leader?key={KEY.replace(' ', '%20')}")
    assert (status, headers["location"]) == (303, "leader")
    return SimpleCookie(headers["set-cookie"]).output(header="", attrs=[]).strip()


def cookie(number: int) -> str:
    return f"{COOKIE}={number:043}"


def report(server: Server, number: int, **said: Any) -> dict[str, Any]:
    status, text, _ = server.send("/room", said, Cookie=cookie(number))
    assert status == 200, text
    return json.loads(text)


def act(server: Server, leader: str, name: str, number: int = 0) -> dict[str, str]:
    status, text, _ = server.send("/leader/board", {"act": name, "number": number}, Cookie=leader)
    assert status == 200, text
    return json.loads(text)["texts"]


def test_thirty_participants_predict_and_the_leader_calls_and_reveals(server: Server, leader: str) -> None:
    with ThreadPoolExecutor(10) as pool:
        rooms = {told["room"] for told in pool.map(lambda number: report(server, number), range(PEOPLE))}
        assert len(rooms) == 1
        act(server, leader, "call", 5)

        def take_part(number: int) -> dict[str, Any]:
            told = report(server, number)
            return report(server, number, room=told["room"], at=told["call"]["lesson"], chosen={"5": number % 3})

        told = list(pool.map(take_part, range(PEOPLE)))
    assert all(each["revealed"] == {} for each in told)
    board = act(server, leader, "reveal", 5)
    assert board["present"].startswith("30 here now, 30 ")
    assert board["at-5"] == "30"
    assert [board[f"guess-5-{at}"] for at in range(3)] == ["10 of 30"] * 3
    assert report(server, 0)["revealed"] == {"5": {"0": 10, "1": 10, "2": 10}}
    after = act(server, leader, "reset")
    assert after["guess-5-0"] == "0 of 0"
    assert report(server, 0)["room"] not in rooms


def test_a_plan_leads_everybody_to_each_of_its_parts_in_their_own_language(server: Server, leader: str) -> None:
    board = act(server, leader, "start", 90)
    assert (board["said"], board["next"]) == ("Now: Arrive.", f"Lesson 1: {LESSONS[0].title} (8 min)")
    assert report(server, 1)["call"]["lesson"] == 0
    assert act(server, leader, "next")["part"] == f"Lesson 1: {LESSONS[0].title}"
    assert report(server, 1)["call"]["lesson"] == 1
    act(server, leader, "reveal")  # the lesson of the part
    assert report(server, 1)["revealed"] == {"1": {}}
    act(server, leader, "next")
    assert act(server, leader, "next")["said"] == "Now: Start the runs."
    german = json.loads(server.send("/room?lang=de", {}, Cookie=cookie(2))[1])["call"]["place"]
    assert (german["space"], german["show"], german["lesson"]["title"]) == ("train", "pretrain", "Läufe starten")
    assert act(server, leader, "back")["part"] == f"Lesson 2: {LESSONS[1].title}"
    assert "part" in json.loads(server.ask("/leader/board", {"Cookie": leader})[1])["texts"]  # a page that is reloaded


@pytest.mark.parametrize("path", ONLY_LEADERS)
@pytest.mark.parametrize("headers", [{}, {"Cookie": cookie(1)}, {"Cookie": "bertviz-lab-leader=" + KEY}])
def test_what_is_the_leaders_is_answered_to_nobody_else(server: Server, path: str, headers: dict[str, str]) -> None:
    status, text, _ = server.ask(path, headers)
    assert status == 401
    assert not [note for note in NOTES if note in text]


def test_a_participant_cannot_act_as_the_leader(server: Server, leader: str) -> None:
    sent = {"act": "reveal", "number": 1}
    assert server.send("/leader/board", sent, Cookie=cookie(1))[0] == 401
    assert server.send("/leader/board", sent, Cookie=leader, Origin="http://evil.example")[0] == 403
    assert server.send("/leader/board", sent, Cookie=leader, Sec_Fetch_Site="cross-site")[0] == 403
    assert report(server, 1)["revealed"] == {}


def test_no_answer_is_sent_before_it_is_revealed(served: tuple[Server, AppState], server: Server, leader: str) -> None:
    state = served[1]
    measured = QUESTIONS["measured"]
    for lesson in LESSONS:
        with pytest.raises(InputError, match="has not revealed"):
            measured.ask(state, {"number": lesson.number})
    act(server, leader, "reveal", 1)
    with pytest.raises(InputError, match="has no model"):  # this page has none of the lessons' models
        measured.ask(state, {"number": 1})


def test_nothing_that_participants_are_sent_holds_the_leaders_notes(
    served: tuple[Server, AppState], server: Server
) -> None:
    page = server.ask("/", {"Cookie": cookie(1)})[1]
    sent = [page, *assets.files().values(), server.ask("/config")[1], server.ask("/handout")[1]]
    sent += [server.ask("/room")[1], server.ask("/handout?lang=de")[1]]
    sent += [json.dumps(QUESTIONS["lessons"].ask(served[1], {"language": code})) for code in ("en", "de")]
    for text in sent:
        assert not [note for note in NOTES if note in text or json.dumps(note)[1:-1] in text]
        assert KEY not in text


@pytest.mark.parametrize(
    "said",
    [
        {"at": 99}, {"at": -1}, {"at": "5"}, {"chosen": {"5": 9}}, {"chosen": {"99": 0}}, {"chosen": {"5": "<b>"}},
        {"done": ["x"]}, {"done": [1] * 99}, {"room": "x" * 1000}, {"name": "Ada"}, [], None, "x" * 10_000,
        {"at": True}, {"at": 1.5}, {"chosen": {"5": float("nan")}},
    ],
)  # fmt: skip
def test_a_report_that_is_none_is_refused_and_not_repeated(server: Server, said: Any) -> None:
    status, text, _ = server.send("/room", said, Cookie=cookie(1))
    assert (status, text) == (422, "This page is out of date; reload it.")


@pytest.mark.parametrize(
    "sent", [{"act": "open"}, {"act": "call", "number": 99}, {"act": "call"}, {"act": "reveal"}, {"act": "start"}, 1]
)
def test_an_act_that_is_none_changes_nothing(server: Server, leader: str, sent: Any) -> None:
    before = report(server, 1)
    assert server.send("/leader/board", sent, Cookie=leader)[0] == 422
    assert report(server, 1) == before


def test_a_browser_without_a_cookie_is_told_so(server: Server) -> None:
    for headers in ({}, {"Cookie": f"{COOKIE}=short"}):
        status, text, _ = server.send("/room", {}, **headers)
        assert status == 403
        assert "cookies" in text


def test_what_a_room_says_is_kept_nowhere(server: Server, leader: str, served: tuple[Server, AppState]) -> None:
    def everything() -> set[Path]:
        return set(served[1].settings.runs_dir.parent.rglob("*"))

    before, stream = everything(), io.StringIO()
    handler = start_log("json", stream)
    try:
        told = report(server, 7)
        report(server, 7, room=told["room"], at=5, chosen={"5": 2})
        server.send("/room", {"room": "a secret word"}, Cookie=cookie(7))
        act(server, leader, "reveal", 5)
    finally:
        logging.getLogger("bertviz_lab").removeHandler(handler)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["workshop"]
    assert "secret" not in stream.getvalue()
    assert everything() == before


def test_a_short_link_leads_to_its_lesson(server: Server) -> None:
    for number in (1, 5, len(LESSONS)):
        status, _, headers = server.ask(f"/{number}")
        assert (status, headers["location"]) == (303, f"./?lesson={number}")
    assert [server.status(path) for path in ("/0", "/99", "/-1")] == [404, 404, 404]
    assert server.ask("/5?lang=de")[2]["location"] == "./?lesson=5&lang=de"


def test_the_key_opens_the_page_in_the_language_that_was_asked(server: Server) -> None:
    key = KEY.replace(" ", "%20")
    assert server.ask(f"/leader?key={key}&lang=de")[2]["location"] == "leader?lang=de"
    asked = server.ask("/leader?lang=de")[1]
    assert "Diese Seite ist für die Leitung" in asked
    assert '<input type="hidden" name="lang" value="de">' in asked


def test_links_name_the_host_that_the_leader_asked(server: Server, leader: str) -> None:
    page = server.ask("/leader", {"Cookie": leader, "Host": "192.168.7.7:7860"})[1]
    assert "http://192.168.7.7:7860/5" in page
    assert KEY not in page


def test_wrong_keys_wait_longer_and_longer(tmp_path: Path) -> None:
    settings = replace(little_settings(tmp_path, shared=True), workshop="Room", leader_key=KEY)
    with serve(settings) as (address, _):
        server = Server(address)
        answers = [server.ask(f"/leader?key=wrong{number}") for number in range(33)]
        assert [status for status, *_ in answers[:29]] == [403] * 29
        assert answers[-1][0] == 429
        assert "Wait" in answers[-1][1]
        assert "wrong" not in "".join(text for _, text, _ in answers)
        right = f"/leader?key={KEY.replace(' ', '%20')}"
        for site in ("cross-site", "same-site"):
            assert server.ask(right, {"Sec-Fetch-Site": site})[0] == 403
        assert server.ask(right, {"Sec-Fetch-Site": "none"})[0] == 303


def test_without_a_workshop_there_is_no_room(tmp_path: Path) -> None:
    with serve(little_settings(tmp_path)) as (address, _):
        server = Server(address)
        assert server.send("/room", {})[0] in (404, 405)
        assert server.status("/leader") == 200
        assert "data-told" not in server.ask("/leader")[1]


@pytest.mark.parametrize("shared", [True, False])
def test_without_a_workshop_the_machine_is_described_on_a_local_page_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    found = [Check("Disk", "ok", "9 GB free at /srv/runs.")]
    monkeypatch.setattr(routes, "examine_machine", lambda *arguments, **options: found)
    with serve(little_settings(tmp_path, shared=shared)) as (address, _):
        server = Server(address)
        status, text, _ = server.ask("/leader/checks")
        assert (status, "/srv/runs" in text) == ((403, False) if shared else (200, True))
        page = server.ask("/leader")[1]
        assert ("leader/checks" in page) is not shared
        assert (address in page) is not shared, "nobody else reaches a local page"


def test_a_workshop_whose_name_is_too_long_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["app", "--workshop", "x" * 81]) == 2
    assert "--workshop" in capsys.readouterr().err


def test_a_workshop_is_shared_and_its_runs_are_short_unless_the_owner_says_otherwise(tmp_path: Path) -> None:
    settings = Settings.for_host("127.0.0.1", tmp_path, 1, {}, workshop="Room", leader_key=KEY)
    assert settings.shared
    assert (settings.limits.run_seconds, settings.limits.runs_per_visitor) == (180.0, 1)
    longer = {"BERTVIZ_LAB_RUN_SECONDS": "10m"}
    settings = Settings.for_host("127.0.0.1", tmp_path, 1, longer, workshop="Room", limits={"runs_per_visitor": "2"})
    assert (settings.limits.run_seconds, settings.limits.runs_per_visitor) == (600.0, 2)
    assert KEY not in repr(settings)
