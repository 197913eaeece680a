"""File values in what a browser sends to Gradio: each must name an upload of the same visitor.

Gradio downloads a file value whose path is an address and reads one whose path it finds, before any handler is called.
So every JSON body is searched for them first.
"""

import json
from collections.abc import Iterator
from typing import Any

from bertviz_lab.ui.guard.bodies import Refused
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.uploads import UploadStore

_NOT_UPLOADED = "Only files that you uploaded to this page can be used; upload the file again."


def parse(body: bytes) -> Any:
    """Return the JSON of a body, None for an empty one. Raises `Refused` for what is not JSON."""
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):
        raise Refused(400, "The body of this request is not JSON.") from None


def check_file_values(sent: Any, visitor: Visitor, uploads: UploadStore) -> None:
    """Raise `Refused` for a body with a file value that is not one of this visitor's uploads."""
    if not all(uploads.owns(visitor, value.get("path")) for value in _file_values(sent)):
        raise Refused(403, _NOT_UPLOADED)


def _file_values(body: Any) -> Iterator[dict[str, Any]]:
    """Return every dictionary that Gradio could take for a file, however deep."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            meta = value.get("meta")
            if "path" in value or "url" in value or (isinstance(meta, dict) and "_type" in meta):
                yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
