"""Where participants find the page: an address that their machines can reach, and its QR code."""

import re
from urllib.parse import urlsplit

import segno

from bertviz_lab.errors import InputError
from bertviz_lab.ui.guard.addresses import ip_address
from bertviz_lab.ui.settings import LOCAL_HOSTS, Settings
from bertviz_lab.ui.workshop.machine import addresses_of_machine

_PUBLIC = re.compile(r"https?://[\w.:\[\]-]+(/[\w./-]*)?")


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
