"""How people get in: who is the leader, and where participants find the page.

The leader is who opens the page with the key, which a cookie then replaces: a projector shows no key. Participants have
an address that their machines can reach, and its QR code.
"""

import hmac
import re
import secrets
from urllib.parse import urlsplit

import segno
from starlette.requests import Request
from starlette.responses import Response

from bertviz_lab.errors import InputError
from bertviz_lab.ui.guard.addresses import ip_address
from bertviz_lab.ui.guard.logins import Tries
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.visitors import cookie_header, visitor_of
from bertviz_lab.ui.settings import LOCAL_HOSTS, Settings
from bertviz_lab.ui.workshop.machine import addresses_of_machine

COOKIE = "bertviz-lab-leader"
_SHORTEST, _LONGEST = 12, 200  # characters of a key
_PUBLIC = re.compile(r"https?://[\w.:\[\]-]+(/[\w./-]*)?")


def new_key(given: str = "") -> str:
    """Return the key that an owner chose, or 128 random bits. Raises `InputError` for one easily guessed."""
    if given and not (_SHORTEST <= len(given) <= _LONGEST and given.isascii() and given.isprintable()):
        raise InputError(
            f"The leader's key must have {_SHORTEST} to {_LONGEST} characters: letters, digits and signs of ASCII."
        )
    return given or secrets.token_urlsafe(16)


class LeaderKey:
    """Knows the leader's browsers from all others."""

    def __init__(self, key: str) -> None:
        self._key, self._tries = key, Tries()
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


def checked_address(text: str) -> str:
    """Return the address that an owner gave as the public one, with a slash at its end. Raises `InputError`."""
    if text and not (len(text) <= 200 and _PUBLIC.fullmatch(text)):
        raise InputError(f"--public-url must be an address such as https://lab.example.org/, not {text[:200]!r}.")
    return text and text.rstrip("/") + "/"


def participants_address(settings: Settings, asked: str) -> str:
    """Return what participants type: the public address, else the asked one, with a host that they can reach.

    Nobody reaches a page that listens at loopback, unless a proxy was asked: its address is the asked one.
    """
    if settings.public_url or settings.loopback:
        return settings.public_url or asked
    parts = urlsplit(asked)
    host = parts.hostname or ""
    literal = ip_address(host)
    is_local = host in LOCAL_HOSTS or (literal is not None and literal.is_unspecified)
    reached = next(iter(addresses_of_machine()), "") if is_local else host
    name = f"[{reached}]" if ":" in reached else reached or host
    return parts._replace(netloc=f"{name}:{parts.port}" if parts.port else name, path=parts.path or "/").geturl()


def qr_code(address: str) -> str:
    """Return the address as a QR code: an SVG element, black on white in a light page and a dark one."""
    return segno.make(address, error="m", micro=False).svg_inline(border=3, light="#fff", omitsize=True, svgclass="qr")
