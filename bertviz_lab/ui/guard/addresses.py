"""Check where a request comes from and which name it was sent to.

A foreign page whose name resolves to 127.0.0.1 (DNS rebinding) can send requests to a server on this machine; its name
is in `Host`. A page that keeps its own name is recognized by `Origin` and `Sec-Fetch-Site`.
"""

import ipaddress
import socket
from collections.abc import Sequence
from fnmatch import fnmatchcase

from starlette.datastructures import Headers

from bertviz_lab.ui.settings import LOCAL_HOSTS

#: Headers by which a proxy names its client.
PROXY_HEADERS = ("forwarded", "via", "x-real-ip", "x-forwarded-")


class Addresses:
    """The names that this server answers to: its own, and `hosts`, in which * matches any text.

    On a shared page any literal address and this machine's own name are right too: only a name can be rebound.
    """

    def __init__(self, *, shared: bool, hosts: Sequence[str]) -> None:
        own = socket.gethostname().lower()
        self._shared = shared
        self._hosts = (*LOCAL_HOSTS, *hosts, *((own, f"{own}.local") if shared else ()))

    def knows(self, authority: str) -> bool:
        """Return whether this server has that name; `authority` is a host with or without a port."""
        name = host_name(authority)
        literal = ip_address(name) is not None
        return bool(name) and ((self._shared and literal) or any(fnmatchcase(name, host) for host in self._hosts))


def public_host(headers: Headers) -> str:
    """Return the host that a browser requested; `Guard` has removed the forwarding headers of strangers."""
    return headers.get("x-forwarded-host", "").split(",")[0].strip() or headers.get("host", "")


def is_forwarded(headers: Headers) -> bool:
    """Return whether a proxy has forwarded the request."""
    return any(name.startswith(PROXY_HEADERS) for name in headers)


def is_same_origin(headers: Headers) -> bool:
    """Return whether a request that changes something comes from the page itself or from a program."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    scheme, _, authority = origin.partition("://")
    return scheme in ("http", "https") and _without_port(authority) == _without_port(public_host(headers))


def host_name(authority: str) -> str:
    """Return the name or address of `name:port` or `[address]:port` in lower case; "" if it is neither."""
    text = authority.strip().lower()
    if text.startswith("["):
        name, bracket, rest = text[1:].partition("]")
        return name if bracket and (not rest or (rest[0] == ":" and rest[1:].isdecimal())) else ""
    name, colon, port = text.partition(":")
    return name.rstrip(".") if not colon or port.isdecimal() else ""


def _without_port(authority: str) -> str:
    """Remove the port that the scheme implies: browsers leave it out and some proxies do not."""
    return authority.strip().lower().removesuffix(":80").removesuffix(":443")


def ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return a literal address; None for any other text."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
