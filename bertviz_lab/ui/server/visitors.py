"""Visitors: browsers, identified by an unguessable cookie that no script can read.

A run records a hash of the cookie as its owner, so the folder of runs contains no cookie. Programs that call the
endpoints have no cookie: on a shared page they own nothing.
"""

import hashlib
import ipaddress
import re
import secrets
from http.cookies import SimpleCookie
from typing import Any, NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertviz_lab.ui.guard.addresses import ip_address

COOKIE = "bertviz-lab-visitor"
_KEY = re.compile(r"[A-Za-z0-9_-]{43}")  # 256 random bits
_YEAR = 365 * 24 * 3600  # seconds
_NETWORK_BITS = 64  # of an IPv6 address: the rest is the subscriber's to choose


class Visitor(NamedTuple):
    """The sender of a request. The scheduler takes turns by the address, and then by the owner."""

    address: str = ""  # of the network; "" where it is not known
    owner: str = ""  # the hash of the cookie; "" without one


#: A program, which has no cookie.
NOBODY = Visitor()


def visitor_of(request: Any) -> Visitor:
    """Return the visitor of a request of Starlette or Gradio."""
    raw = getattr(request, "request", None) or request
    host = raw.client.host if raw.client else ""
    return Visitor(network_of(host), owner_of(raw.cookies.get(COOKIE, "")))


def owner_of(key: str) -> str:
    """Return the hash of a cookie, which runs record as their owner; "" for a text that is not one of our keys."""
    return hashlib.sha256(key.encode()).hexdigest() if _KEY.fullmatch(key) else ""


def network_of(host: str) -> str:
    """Return an IPv4 address as it is, and the /64 network of an IPv6 one."""
    address = ip_address(host)
    if address is None or address.version == 4:
        return host if address is None else str(address)
    return str(ipaddress.ip_network((int(address), _NETWORK_BITS), strict=False))


class VisitorCookie:
    """Middleware that sets a browser's cookie with the page and renews it with every visit."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    key = HTTPConnection(scope).cookies.get(COOKIE, "")
                    key = key if _KEY.fullmatch(key) else secrets.token_urlsafe(32)
                    headers.append("set-cookie", cookie_header(scope, COOKIE, key, _YEAR))
            await send(message)

        await self._app(scope, receive, send_with_cookie)


def cookie_header(scope: Scope, name: str, value: str, seconds: int = 0) -> str:
    """Return the header of a cookie that no script can read; without `seconds` it ends with the browser."""
    cookie: SimpleCookie = SimpleCookie({name: value})
    attributes: dict[str, Any] = {"path": "/", "max-age": seconds or "", "httponly": True, "samesite": "Lax"}
    cookie[name].update(attributes)
    text = cookie[name].OutputString()
    # A proxy's header suffices for the form of a cookie.
    scheme = Headers(scope=scope).get("x-forwarded-proto", "").split(",")[0].strip() or scope["scheme"]
    # A Space is in a frame of another site, where a browser keeps partitioned cookies only.
    return text.replace("SameSite=Lax", "SameSite=None; Secure; Partitioned") if scheme == "https" else text
