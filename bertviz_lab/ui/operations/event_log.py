"""The server's log: a line for each event, with names, numbers and outcomes, and nothing that a visitor typed."""

import datetime
import json
import logging
import sys
from typing import Any, Literal, TextIO

LogFormat = Literal["json", "plain", "off"]

_EVENTS = logging.getLogger("bertviz_lab.events")


def log_event(event: str, **fields: str | float | None) -> None:
    """Log an event; `fields` are names of the lab's own, ids, numbers and outcomes."""
    _EVENTS.info(event, extra={"fields": fields})


def start_log(kind: LogFormat, stream: TextIO | None = None) -> logging.Handler:
    """Write the lab's log to stderr: failures always, events as JSON lines or as plain ones unless they are off."""
    logger = logging.getLogger("bertviz_lab")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_JsonLines() if kind == "json" else _PlainLines())
    logger.addHandler(handler)
    logger.propagate = False
    _EVENTS.setLevel(logging.WARNING if kind == "off" else logging.INFO)
    return handler


class _Lines(logging.Formatter):
    def fields_of(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return what a line says, in order."""
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        is_event = record.name == _EVENTS.name
        said = {"event": record.msg, **getattr(record, "fields", {})} if is_event else {"event": record.getMessage()}
        return {"time": time, "level": record.levelname.lower(), **said}


class _JsonLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.fields_of(record))


class _PlainLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        time, level, event, *fields = self.fields_of(record).items()
        return " ".join([str(time[1]), str(level[1]), str(event[1]), *(f"{name}={value}" for name, value in fields)])
