"""The server's log: a line for each event, with names, numbers and outcomes, and nothing that a visitor typed."""

import datetime
import json
import logging
import sys
from typing import Literal, TextIO

LogFormat = Literal["json", "plain", "off"]

_EVENTS = logging.getLogger("bertviz_lab.events")


def log_event(event: str, **fields: str | float | None) -> None:
    """Log an event; `fields` are names of the lab's own, ids, numbers and outcomes."""
    _EVENTS.info(event, extra={"fields": fields})


def start_log(kind: LogFormat, stream: TextIO | None = None) -> logging.Handler:
    """Write the lab's log to stderr: failures always, events as JSON lines or as plain ones unless they are off."""
    logger = logging.getLogger("bertviz_lab")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Lines(kind))
    logger.addHandler(handler)
    logger.propagate = False
    _EVENTS.setLevel(logging.WARNING if kind == "off" else logging.INFO)
    return handler


class _Lines(logging.Formatter):
    def __init__(self, kind: LogFormat) -> None:
        super().__init__()
        self._is_json = kind == "json"

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        head = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        fields: dict[str, str | float | None] = getattr(record, "fields", {})
        if self._is_json:
            return json.dumps(head | fields)
        return " ".join([*head.values(), *(f"{name}={value}" for name, value in fields.items())])
