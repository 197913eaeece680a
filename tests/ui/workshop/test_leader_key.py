"""Who the leader is, and who is not."""

import logging
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from bertviz_lab.errors import InputError
from bertviz_lab.ui.workshop.leader_key import COOKIE, LeaderKey, new_key
from tests.ui.pages import request_of

KEY = "a-key-for-tests"


def asked(address: str = "192.0.2.1", cookie: str = "") -> Request:
    request: Any = request_of(address=address).request
    scope = request.scope | {"headers": [(b"cookie", cookie.encode())], "scheme": "http"}
    return Request(scope)


def cookie_of(key: LeaderKey) -> str:
    response = Response()
    key.remember(asked(), response)
    return response.headers["set-cookie"]


def test_a_key_is_made_where_none_is_given_and_is_long() -> None:
    assert len(new_key()) >= 22
    assert new_key() != new_key()
    assert new_key(KEY) == KEY


@pytest.mark.parametrize("key", ["short", "x" * 201, "schlüssel-schlüssel", "with\nanother line"])
def test_a_key_that_is_easily_guessed_or_hard_to_send_is_refused(key: str) -> None:
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
