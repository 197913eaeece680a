"""Where a request comes from and which name it was sent to.

A browser sends a page's requests to the address that the page's name stands for at that moment. So a page of somebody
else, whose name is made to stand for 127.0.0.1 (DNS rebinding), can ask a server at this machine; it gives itself away
by its name in `Host`. A page that keeps its own name gives itself away by `Origin` and `Sec-Fetch-Site`.
"""

import ipaddress
import socket
from collections.abc import Sequence
from fnmatch import fnmatchcase

from starlette.datastructures import Headers

#: Headers by which a proxy says for whom it asks.
PROXY_HEADERS = ("forwarded", "via", "x-real-ip", "x-forwarded-")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Addresses:
    """The names that this server answers to.

    Args:
        shared: other machines reach the page: any literal address and this machine's own name are right too, since
            only a name can be rebound.
        hosts: further names, in which * stands for any text.
    """

    def __init__(self, *, shared: bool, hosts: Sequence[str]) -> None:
        own = socket.gethostname().lower()
        self._shared = shared
        self._hosts = (*_LOOPBACK, *hosts, *((own, f"{own}.local") if shared else ()))

    def knows(self, authority: str) -> bool:
        """Whether this server is called so; `authority` is a host with or without a port."""
        name = host_name(authority)
        return bool(name) and ((self._shared and _is_literal(name)) or any(fnmatchcase(name, h) for h in self._hosts))


def public_host(headers: Headers) -> str:
    """The host that a browser asked, of a proxy or of this server; headers of strangers are removed before."""
    return headers.get("x-forwarded-host", "").split(",")[0].strip() or headers.get("host", "")


def is_forwarded(headers: Headers) -> bool:
    """Whether a proxy has passed the request on."""
    return any(name.startswith(PROXY_HEADERS) for name in headers)


def is_same_origin(headers: Headers) -> bool:
    """Whether a request that changes something comes from the page itself, or from no browser at all."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    scheme, _, authority = origin.partition("://")
    return scheme in ("http", "https") and _without_port(authority) == _without_port(public_host(headers))


def host_name(authority: str) -> str:
    """The name or address of `name:port` or `[address]:port`, in lower case; "" where it is neither."""
    text = authority.strip().lower()
    if text.startswith("["):
        name, bracket, rest = text[1:].partition("]")
        return name if bracket and (not rest or (rest[0] == ":" and rest[1:].isdecimal())) else ""
    name, colon, port = text.partition(":")
    return name.rstrip(".") if not colon or port.isdecimal() else ""


def _without_port(authority: str) -> str:
    """The authority without the port that its scheme implies, which a browser leaves out and a proxy may not."""
    return authority.strip().lower().removesuffix(":80").removesuffix(":443")


def _is_literal(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
