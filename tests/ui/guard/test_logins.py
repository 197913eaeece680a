"""Login on a running server: tries are counted, sessions are apart and end, passwords are kept as hashes."""

import asyncio
import io
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

import pytest
from starlette.exceptions import HTTPException

from bertviz_lab.cli.main import main
from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.ui.guard.logins import CLIENT_ADDRESS, Logins, Sessions, Tries
from bertviz_lab.ui.guard.passwords import hash_password, is_password, read_users, users_of
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve

USERS = {"ana": hash_password("ana's word"), "ben": hash_password("ben's word")}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    limits = replace(Limits.of(shared=True), session_seconds=4.0)
    with serve(replace(little_settings(tmp_path), users=USERS, limits=limits)) as (address, _):
        yield Server(address)


def log_in(server: Server, user: str, password: str, **headers: str) -> tuple[int, str]:
    """The status, and the cookies of the session as a browser sends them back."""
    form = {"Content-Type": "application/x-www-form-urlencoded"} | {k.replace("_", "-"): v for k, v in headers.items()}
    body = urlencode({"username": user, "password": password}).encode()
    status, _, answer = server.ask("/login", form, "POST", body)
    cookies = SimpleCookie(answer.get("set-cookie", ""))
    return status, "; ".join(f"{name}={cookie.value}" for name, cookie in cookies.items())


def test_each_user_has_a_password_and_nobody_else_gets_in(server: Server) -> None:
    assert server.status("/config") == 401
    for user in ("ana", "ben"):
        status, cookie = log_in(server, user, f"{user}'s word")
        assert status == 200
        assert server.status("/config", Cookie=cookie) == 200
    assert log_in(server, "ana", "ben's word")[0] == 400
    assert log_in(server, "eve", "nobody")[0] == 400  # the word whose hash stands in for unknown users


@pytest.mark.parametrize(
    "path", ["call/fill_mask", "call/v2/fill_mask", "cancel", "reset", "queue/join", "heartbeat/x", "app_id", "info"]
)
def test_gradio_answers_nothing_before_the_login(server: Server, path: str) -> None:
    sent = {"session_hash": "x", "event_id": "x", "fn_index": 0, "data": []}
    asked = path.startswith(("call", "cancel", "reset", "queue"))
    answer = server.send(f"/gradio_api/{path}", sent) if asked else server.ask(f"/gradio_api/{path}")
    assert answer[:2] == (401, "Log in first.")


def test_a_logout_ends_one_session_of_a_user_and_no_other(server: Server) -> None:
    first, second = (log_in(server, "ana", "ana's word")[1] for _ in range(2))
    assert server.status("/logout", Cookie=first, Sec_Fetch_Site="cross-site") == 403
    assert server.status("/config", Cookie=first) == 200
    assert server.status("/logout", Cookie=first, Sec_Fetch_Site="same-origin") == 302
    assert server.status("/config", Cookie=first) == 401
    assert server.status("/config", Cookie=second) == 200


def test_a_session_ends_by_itself(server: Server) -> None:
    _, cookie = log_in(server, "ana", "ana's word")
    assert server.status("/config", Cookie=cookie) == 200
    time.sleep(4.1)
    assert server.status("/config", Cookie=cookie) == 401


def test_a_hundred_and_fifty_wrong_tries_are_not_checked(server: Server) -> None:
    answers: list[int] = []

    def attack() -> None:
        answers.extend(log_in(server, "ana", f"guess {number}")[0] for number in range(10))

    threads = [threading.Thread(target=attack) for _ in range(15)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    checked = Counter(answers)
    assert checked[400] + checked[429] == 150
    assert checked[400] <= 4 + 2 * (time.monotonic() - started)  # of three at once, then after 1, 2, 4 ... s
    while log_in(server, "ana", "one more guess")[0] == 429:
        time.sleep(0.1)  # until the wait is over: the guess is checked, and a longer wait begins
    assert log_in(server, "ana", "ana's word")[0] == 429
    assert log_in(server, "ben", "ben's word")[0] == 200  # the address has more tries than the user


def test_waits_double_and_are_forgotten_after_an_hour() -> None:
    clock = [0.0]
    tries = Tries(lambda: clock[0])
    waits = []
    for _ in range(14):
        waits.append(tries.wait("ana", "a"))
        clock[0] += waits[-1]
        tries.count("ana", "a")
    assert waits[:7] == [0, 0, 0, 1, 2, 4, 8]
    assert tries.wait("ana", "a") == 900
    assert tries.wait("ana", "b") == 0  # one address keeps no user name shut
    assert tries.wait("ben", "a") == 0
    clock[0] += 3601
    assert tries.wait("ana", "a") == 0


def test_tries_from_many_addresses_make_a_user_wait_everywhere() -> None:
    tries = Tries(lambda: 0.0)
    for number in range(9):
        tries.count("ana", str(number))
    tries.count("ana", "0")
    assert tries.wait("ana", "elsewhere") == 0
    tries.count("ana", "9")
    assert tries.wait("ana", "elsewhere") == 1
    tries.forgive("ana", "9")
    assert tries.wait("ana", "elsewhere") == 0


def test_an_address_of_ipv6_is_its_network() -> None:
    logins = Logins(USERS, Tries(lambda: 0.0))
    outcomes = []
    for number in range(4):
        CLIENT_ADDRESS.set(f"2001:db8::{number}")
        try:
            outcomes.append(asyncio.run(logins.check("ana", "wrong")))
        except HTTPException as error:
            outcomes.append(error.status_code)
    assert outcomes == [False, False, False, 429]


def test_counts_take_no_more_room_than_they_may() -> None:
    tries = Tries()
    for number in range(20_000):
        tries.count(f"user {number}", str(number))
    assert len(tries._counted) == 10_000


def test_a_session_is_gone_at_its_end() -> None:
    clock = [0.0]
    sessions = Sessions(10, lambda: clock[0])
    sessions["token"] = "ana"
    assert sessions.get("token") == "ana"
    assert sessions.get(None) is None
    clock[0] = 10
    assert "token" not in sessions


def test_a_hash_knows_its_password_and_says_nothing_of_it() -> None:
    hashed = hash_password("päss:word$")
    assert "word" not in hashed
    assert is_password("päss:word$", hashed)
    assert not is_password("pass:word$", hashed)
    assert hashed != hash_password("päss:word$")


def test_a_file_of_users_is_read_and_its_mistakes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(f"# the workshop\nana:{USERS['ana']}\n\n", encoding="utf-8")
    assert read_users(path) == {"ana": USERS["ana"]}
    twice = f"ana:{USERS['ana']}\nana:{USERS['ana']}"
    for text in ("ana:plain", "ana", ":x", "", twice, "ana:scrypt$9999999999$8$1$00$00"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="users"):
            read_users(path)


def test_users_come_from_an_option_a_file_or_a_variable(tmp_path: Path) -> None:
    variable = {"BERTVIZ_LAB_AUTH": f"ana:word ben:{USERS['ben']}"}
    users = users_of(None, None, variable)
    assert is_password("word", users["ana"])
    assert users["ben"] == USERS["ben"]
    assert set(users_of("eve:word", None, variable)) == {"eve"}
    assert users_of(None, None, {}) == {}
    with pytest.raises(InputError, match="--auth"):
        users_of("eve", None, {})


def test_a_line_for_the_file_is_made_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("ana's word\n"))
    assert main(["app", "--hash-password", "ana"]) == 0
    path = tmp_path / "users"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    assert is_password("ana's word", read_users(path)["ana"])
