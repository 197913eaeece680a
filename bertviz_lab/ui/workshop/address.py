"""Where participants find the page: an address that their machines can reach, and its QR code."""

import ipaddress
import re
from urllib.parse import urlsplit

import segno

from bertviz_lab.errors import InputError
from bertviz_lab.ui.settings import LOCAL_HOSTS
from bertviz_lab.ui.workshop.machine import addresses_of_machine

_PUBLIC = re.compile(r"https?://[\w.:\[\]-]+(/[\w./-]*)?")


def checked_address(text: str) -> str:
    """The address that an owner gave as the public one, with a slash at its end. Raises `InputError` for none."""
    if text and not (len(text) <= 200 and _PUBLIC.fullmatch(text)):
        raise InputError(f"--public-url must be an address such as https://lab.example.org/, not {text[:200]!r}.")
    return text and text.rstrip("/") + "/"


def participants_address(public: str, asked: str) -> str:
    """What participants type: the public address, else the one that was asked, `scheme://host:port/prefix/`.

    Of one that stands for this machine alone, or for all of its addresses, the host is replaced by the likeliest that
    others reach.
    """
    if public:
        return public
    parts = urlsplit(asked)
    host = parts.hostname or ""
    reached = next(iter(addresses_of_machine()), "") if host in LOCAL_HOSTS or _is_unspecified(host) else host
    name = f"[{reached}]" if ":" in reached else reached or host
    return parts._replace(netloc=f"{name}:{parts.port}" if parts.port else name, path=parts.path or "/").geturl()


def qr_code(address: str) -> str:
    """The address as a QR code: an SVG element, black on white in a light page and a dark one."""
    return segno.make(address, error="m", micro=False).svg_inline(border=3, light="#fff", omitsize=True, svgclass="qr")


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
