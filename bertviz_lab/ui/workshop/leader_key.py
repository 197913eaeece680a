"""The leader is who opens the page with the key, which a cookie then replaces: a projector shows no key."""

import hmac
import secrets

from starlette.requests import Request
from starlette.responses import Response

from bertviz_lab.errors import InputError
from bertviz_lab.ui.guard.logins import Tries
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.visitors import cookie_header, visitor_of

COOKIE = "bertviz-lab-leader"
_SHORTEST, _LONGEST = 12, 200  # characters of a key


def new_key(given: str = "") -> str:
    """Return the key that an owner chose, or 128 random bits. Raises `InputError` for one easily guessed."""
    if given and not (_SHORTEST <= len(given) <= _LONGEST and given.isascii() and given.isprintable()):
        raise InputError(
            f"The leader's key must have {_SHORTEST} to {_LONGEST} characters: letters, digits and signs of ASCII."
        )
    return given or secrets.token_urlsafe(16)


class LeaderKey:
    """Knows the leader's browsers from all others."""

    def __init__(self, key: str, tries: Tries | None = None) -> None:
        self._key, self._tries = key, tries or Tries()
        self._token = secrets.token_urlsafe(32)  # what the leader's browsers keep instead of the key

    def is_leader(self, request: Request) -> bool:
        """Return whether a request comes from a browser that was opened with the key."""
        return hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), self._token.encode())

    def try_key(self, request: Request, key: str) -> float | None:
        """Return None for the right key, else the seconds until the next wrong one is compared.

        The right key opens however many wrong ones came from the same address, which a whole room may share. Guessing
        stays hopeless: a key has at least 12 characters, by default 128 random bits.
        """
        address = visitor_of(request).address
        right = hmac.compare_digest(key[:_LONGEST].encode(errors="replace"), self._key.encode())
        if not right:
            self._tries.count(None, address)
        log_event("leader", address=address, outcome="right" if right else "wrong")
        return None if right else max(0.0, self._tries.wait(None, address))

    def remember(self, request: Request, response: Response) -> None:
        """Give the browser of a leader its cookie, for as long as the browser is open."""
        response.headers.append("set-cookie", cookie_header(request.scope, COOKIE, self._token))
