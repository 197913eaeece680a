"""The addresses that are answered, by path and method: ours, and those of Gradio that its page and clients need.

Everything else is 404 before Gradio sees it: its routes for files, uploads, proxies and components among them. Files
are uploaded to `lab/upload` only, so a file value in anything that is sent to Gradio is refused, too.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import gradio as gr
from starlette.routing import Match, Route
from starlette.types import Scope

from bertviz_lab import strict_json
from bertviz_lab.ui.guard.bodies import Refused

SAFE = ("GET", "HEAD")

#: Paths of Gradio that are read, and those to which something is sent.
_READ = re.compile(
    r"/|/config|/theme\.css|/favicon\.ico|/robots\.txt|/manifest\.json|/(assets|static|svelte)/.+|/gradio_api/"
    r"(info|startup-events|app_id|heartbeat/[^/]+|queue/data|call/(v2/)?[^/]+/[^/]+|theme\.css)"
)
_SENT = re.compile(r"/login|/gradio_api/(queue/join|call/(v2/)?(?P<name>[^/]+)|cancel|reset)")


class Routes:
    """Decides which requests are answered; `own` are our routes, and `page` declares the events of Gradio."""

    def __init__(self, own: Sequence[Route], page: gr.Blocks) -> None:
        self._own, self._page = own, page

    def check(self, scope: Scope) -> None:
        """Raise `Refused` for a path that is not in the table, or for another method than it takes."""
        path, method = scope["path"].rstrip("/") or "/", scope["method"]
        matches = [route.matches(scope)[0] for route in self._own]
        if Match.FULL in matches:
            return
        read, sent = _READ.fullmatch(path), _SENT.fullmatch(path)
        if sent and sent["name"] and sent["name"] not in self._names():
            sent = None
        if not (read or sent or Match.PARTIAL in matches):
            raise Refused(404, "There is no such page.")
        if not ((read and method in SAFE) or (sent and method == "POST")):
            raise Refused(405, "This address does not take this method.")

    def check_event(self, path: str, body: bytes) -> None:
        """Raise `Refused` for a body that is not JSON, holds a file, or joins Gradio's queue with an unknown event."""
        try:
            sent = json.loads(body) if body else None
        except (ValueError, RecursionError):
            raise Refused(400, "The body of this request is not JSON.") from None
        if _holds_file(sent):
            raise Refused(403, "This address takes no files; upload them on the page.")
        if path.rstrip("/").endswith("/queue/join"):
            number = sent.get("fn_index") if isinstance(sent, dict) else None
            event = self._page.fns.get(number) if type(number) is int else None
            if event is None or event.fn is None:
                raise Refused(404, "There is no such event.")

    def _names(self) -> set[Any]:
        return {event.api_name for event in self._page.fns.values() if event.api_visibility == "public"}


def _holds_file(sent: Any) -> bool:
    """Return whether a value holds, however deep, a dictionary that Gradio could take for a file.

    Gradio downloads a file whose path is an address, and reads one whose path it finds, before any handler is called.
    """
    return any(not found.keys().isdisjoint(("path", "url", "meta")) for found in strict_json.objects_in(sent))
