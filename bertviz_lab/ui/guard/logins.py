"""Logins: throttled attempts, sessions that expire, and a logout that ends one of them."""

import asyncio
import inspect
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from bertviz_lab.ui.guard.bodies import Refused
from bertviz_lab.ui.guard.passwords import hash_password, is_password
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.visitors import network_of

#: The address of the current request, which Gradio does not pass to the function that checks a password.
CLIENT_ADDRESS: ContextVar[str] = ContextVar("client address", default="")

LOGIN_MESSAGE = "After a few wrong tries each further one has to wait, longer every time."

Answer = Callable[[Request], Awaitable[Response]]

_FREE = {"pair": 3, "user": 10, "address": 30}  # wrong tries before one has to wait; many may share an address
_LONGEST_WAIT = 900.0  # seconds
_FORGOTTEN = 3600.0  # seconds after the last wrong try
_MOST_REMEMBERED = 10_000
_MOST_SESSIONS = 10_000


class Tries:
    """Counts wrong tries by user and address, by user, and by address; after some of them the wait doubles with each.

    Each address counts once for a user: one that keeps trying blocks itself, not the user. Where `user` is None they
    count by address alone.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._counted: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()  # tries, and when the last was

    def wait(self, user: str | None, address: str) -> float:
        """Return the seconds until this user may try again from this address."""
        return max(self._wait(key) for key in _keys(user, address))

    def count(self, user: str | None, address: str) -> None:
        """Count a try as a wrong one until it is found right, so that many at a time do not slip by."""
        pair, *_ = keys = _keys(user, address)
        is_first = not self._tries(pair)
        for key in keys:
            if key[0] != "user" or is_first:
                self._counted[key] = (self._tries(key) + 1, self._now())
                self._counted.move_to_end(key)
        while len(self._counted) > _MOST_REMEMBERED:
            self._counted.popitem(last=False)

    def forgive(self, user: str | None, address: str) -> None:
        """Take back a try that was right, and forget the wrong ones of the user from there."""
        own, *others = _keys(user, address)
        self._counted.pop(own, None)
        for key in others:
            if key in self._counted:
                self._counted[key] = (self._counted[key][0] - 1, self._counted[key][1])

    def _tries(self, key: tuple[str, str]) -> int:
        tries, last = self._counted.get(key, (0, 0.0))
        return tries if self._now() - last < _FORGOTTEN else 0

    def _wait(self, key: tuple[str, str]) -> float:
        excess = self._tries(key) - _FREE[key[0]]
        if excess < 0:
            return 0.0
        return self._counted[key][1] + min(2.0 ** min(excess, 20), _LONGEST_WAIT) - self._now()


def _keys(user: str | None, address: str) -> list[tuple[str, str]]:
    if user is None:
        return [("address", address)]
    return [("pair", f"{user[:100]}\0{address}"), ("user", user[:100]), ("address", address)]


class Logins:
    """Checks names and passwords for Gradio; an IPv6 address counts by its /64 network."""

    def __init__(self, users: Mapping[str, str], tries: Tries | None = None) -> None:
        self._users, self._tries = users, tries or Tries()
        self._nobody = hash_password("nobody")  # checked for unknown names, which then take as long as known ones
        self._at_a_time = asyncio.Semaphore(2)  # each takes a core for a quarter of a second

    async def check(self, user: str, password: str) -> bool:
        """Return whether this is a user's password. Raises `HTTPException` 429 during a wait."""
        address = network_of(CLIENT_ADDRESS.get())
        wait = self._tries.wait(user, address)
        if wait > 0:
            sentence = f"There were too many wrong tries; wait {max(1, round(wait))} s."
            raise HTTPException(429, sentence, headers={"Retry-After": str(max(1, round(wait)))})
        self._tries.count(user, address)
        async with self._at_a_time:
            right = await asyncio.to_thread(is_password, password, self._users.get(user, self._nobody))
        if right and user in self._users:
            self._tries.forgive(user, address)
        log_event("login", address=address, outcome="right" if right and user in self._users else "wrong")
        return right and user in self._users


class Sessions(MutableMapping[Any, str]):
    """Maps the tokens in cookies to users for a limited time; replaces Gradio's dictionary."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._now = seconds, now
        self._sessions: dict[str, tuple[str, float]] = {}  # user and end, the oldest first

    def __getitem__(self, token: Any) -> str:
        user, end = self._sessions[token]
        if self._now() >= end:
            del self._sessions[token]
            raise KeyError(token)
        return user

    def __setitem__(self, token: Any, user: str) -> None:
        self._sessions.pop(token, None)
        self._sessions[token] = (user, self._now() + self._seconds)
        while len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]

    def __delitem__(self, token: Any) -> None:
        del self._sessions[token]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._sessions))

    def __len__(self) -> int:
        return len(self._sessions)


async def is_logged_in(request: Request) -> bool:
    """Return whether the sender is logged in; Gradio checks that for its own routes only."""
    app = request.app
    if app.auth_dependency is not None:
        user = app.auth_dependency(request)
        return (await user if inspect.isawaitable(user) else user) is not None
    return app.auth is None or any(app.tokens.get(request.cookies.get(name)) for name in _session_cookies(app))


def only_for(may: Callable[[Request], Awaitable[bool]], answer: Answer, sentence: str = "Log in first.") -> Answer:
    """Return `answer` for a route, refused with a sentence to those who may not have it."""

    async def checked(request: Request) -> Response:
        if not await may(request):
            raise Refused(401, sentence)
        return await answer(request)

    return checked


def logout_route() -> Route:
    """Return the route `/logout`, which ends this browser's session; Gradio's own ends all sessions of the user."""

    def logout(request: Request) -> Response:
        response = RedirectResponse("./", status_code=302)
        for name in _session_cookies(request.app):
            request.app.tokens.pop(request.cookies.get(name), None)
            response.delete_cookie(name, path="/")
        return response

    return Route("/logout", logout)


def _session_cookies(app: Any) -> tuple[str, str]:
    return f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}"
