"""The cookie that a browser is known by."""

import asyncio
from http.cookies import SimpleCookie
from typing import Any

import pytest
from starlette.requests import Request

from bertviz_lab.ui.server.visitors import COOKIE, NOBODY, Visitor, VisitorCookie, owner_of, visitor_of
from tests.ui.pages import OWNER, OWNERS_KEY, request_of


def headers_after(
    *, method: str = "GET", scheme: str = "http", media: str = "text/html", status: int = 200, **headers: str
) -> list[str]:
    """The cookies that an answer sets."""
    sent: list[dict[str, Any]] = []

    async def page(scope: Any, receive: Any, send: Any) -> None:
        content = [(b"content-type", f"{media}; charset=utf-8".encode()), (b"set-cookie", b"other=1")]
        await send({"type": "http.response.start", "status": status, "headers": content})
        await send({"type": "http.response.body", "body": b"<p>"})

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "scheme": scheme, "headers": raw, "path": "/"}
    asyncio.run(VisitorCookie(page)(scope, None, send))  # type: ignore[arg-type]
    other, *own = [value.decode() for name, value in sent[0]["headers"] if name == b"set-cookie"]
    assert other == "other=1"
    return own


def cookies_after(**how: Any) -> SimpleCookie:
    return SimpleCookie("; ".join(headers_after(**how)))


def test_the_page_brings_an_unguessable_cookie_that_no_script_reads() -> None:
    keys = {cookies_after()[COOKIE].value for _ in range(20)}
    assert len(keys) == 20
    assert all(owner_of(key) for key in keys)
    cookie = cookies_after()[COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"], cookie["path"]) == (True, "Lax", "", "/")
    assert int(cookie["max-age"]) == 365 * 24 * 3600


def test_a_browser_keeps_its_key_and_a_forged_one_is_replaced() -> None:
    assert cookies_after(cookie=f"{COOKIE}={OWNERS_KEY}")[COOKIE].value == OWNERS_KEY
    for forged in ("", "x", OWNERS_KEY + "x", "o" * 42 + ";", "é" * 43):
        assert owner_of(forged) == ""
        assert owner_of(cookies_after(cookie=f"{COOKIE}={forged}")[COOKIE].value)


@pytest.mark.parametrize(
    "how", [{"scheme": "https"}, {"x_forwarded_proto": "https"}, {"x_forwarded_proto": "https,http"}]
)
def test_over_https_it_is_kept_in_the_frame_of_another_site(how: dict[str, str]) -> None:
    (text,) = headers_after(**how)
    assert {"SameSite=None", "Secure", "Partitioned", "HttpOnly"} <= set(text.split("; "))


@pytest.mark.parametrize("what", [{"method": "POST"}, {"media": "application/json"}, {"status": 404}])
def test_nothing_but_the_page_brings_a_cookie(what: dict[str, Any]) -> None:
    assert COOKIE not in cookies_after(**what)


def test_a_visitor_is_the_hash_of_the_key_and_the_network() -> None:
    assert visitor_of(request_of(address="192.0.2.7")) == Visitor(OWNER.owner, "192.0.2.7")
    assert OWNERS_KEY not in OWNER.owner
    (one, other, third) = (
        visitor_of(request_of(address=address)).address for address in ("2001:db8::1", "2001:db8::2:3", "2001:db8:1::1")
    )
    assert one == other != third
    scope = {"type": "http", "method": "GET", "headers": [], "client": None}
    assert visitor_of(Request(scope)) == NOBODY
