"""Limit the type, the size and the duration of request bodies.

A body that is not an upload is read whole before Gradio is called, so that one too large or too slow costs nothing. An
upload is counted while it arrives. An answer that is ready before the end of a body waits for that end: a client whose
connection is closed while it sends may never see the answer (RFC 9112, section 9.6).
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException
from starlette.types import Message, Receive

from bertviz_lab.config.limits import words_of
from bertviz_lab.errors import InputError

_PAUSE = 30.0  # seconds without a byte
_BODY_SECONDS = 60.0  # of a whole body that is no upload
_SLOWEST = 20_000  # bytes a second of an upload, on average
_OVERHEAD = 1_000_000  # bytes of an upload besides the file: headers of its parts
_LINGERING = 30.0  # seconds that the rest of an answered body is taken in and dropped; this and the next as in nginx
_LINGERING_PAUSE = 5.0  # seconds of them without a byte


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """Refuse a request with a status and one sentence."""

    def __init__(self, status: int, sentence: str, retry_after: int = 0) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
        self.headers = {"Retry-After": str(retry_after)} if retry_after else {}


def is_upload(path: str) -> bool:
    """Return whether files are posted to this path."""
    return path.rstrip("/") == "/lab/upload"


def check_type(path: str, headers: Headers) -> None:
    """Raise `Refused` for a body of another type than its path takes; without a body there is none."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not kind and headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return
    right = ["application/json"]
    if is_upload(path):
        right = ["multipart/form-data"]
    elif path.rstrip("/") == "/login":
        right = ["multipart/form-data", "application/x-www-form-urlencoded"]
    if kind not in right:
        raise Refused(415, f"This address takes {' or '.join(right)}.")


class RequestBody:
    """Forwards what is received and records whether the body is complete."""

    def __init__(self, receive: Receive, *, complete: bool) -> None:
        self._receive, self.complete = receive, complete

    async def __call__(self) -> Message:
        message = await self._receive()
        self.complete = not message.get("more_body", False)
        return message

    async def drop_rest(self) -> None:
        """Receive and drop the rest of the body, for a limited time."""
        end = time.monotonic() + _LINGERING
        with suppress(Refused):
            while not self.complete and time.monotonic() < end:
                await _next(self, min(_LINGERING_PAUSE, end - time.monotonic()))


async def read_body(body: RequestBody, headers: Headers, most: int) -> tuple[bytes, Receive]:
    """Read the body; return it with a function that replays it. Raises `Refused`."""
    sentence = f"A request may have {words_of('bytes', most)} at most."
    if announced_length(headers) > most:
        raise Refused(413, sentence)
    read, end = bytearray(), time.monotonic() + _BODY_SECONDS
    while not body.complete:
        message = await _next(body, min(_PAUSE, end - time.monotonic()))
        if message["type"] == "http.disconnect":
            raise Refused(400, "The request was cut off.")
        read += message.get("body", b"")
        if len(read) > most:
            raise Refused(413, sentence)
    whole: list[Message] = [{"type": "http.request", "body": bytes(read), "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await body()

    return bytes(read), replay


class CountedBody:
    """Forwards the body of an upload of a file with `most` bytes; `take` raises `InputError` where there is no space.

    What is wrong with it is left in `refused`. Who reads it gets the exception for a broken form: the only one after
    which Starlette removes what it has written so far.
    """

    def __init__(self, body: Receive, most: int, take: Callable[[int], None]) -> None:
        self._body, self._most, self._take = body, most + _OVERHEAD, take
        self._too_large = f"A file of {words_of('bytes', most)} at most can be uploaded."
        self._complete = False
        self._count, self._started = 0, time.monotonic()
        self.refused: Refused | None = None

    async def __call__(self) -> Message:
        if self._complete:
            return await self._body()
        try:
            left = self._started + _BODY_SECONDS + self._count / _SLOWEST - time.monotonic()
            message = await _next(self._body, min(_PAUSE, left))
            self._count += len(message.get("body", b""))
            if message["type"] == "http.disconnect":
                raise Refused(400, "The upload was cut off.")
            self.check_size(self._count)
            self._take(len(message.get("body", b"")))
            self._complete = not message.get("more_body", False)
        except (Refused, InputError) as error:
            self.refused = error if isinstance(error, Refused) else Refused(507, str(error), retry_after=600)
            raise MultiPartException(str(error)) from error
        return message

    def check_size(self, request: int = 0, file: int = 0) -> None:
        """Raise `Refused` for more bytes than a request or its file may have."""
        if request > self._most or file > self._most - _OVERHEAD:
            raise Refused(413, self._too_large)


def announced_length(headers: Headers) -> int:
    """Return the announced length; uvicorn checks that it is a number and that the body has it."""
    length = headers.get("content-length", "0")
    return int(length) if length.isdecimal() else 0


async def _next(receive: Receive, seconds: float) -> Message:
    try:
        return await asyncio.wait_for(receive(), max(seconds, 0.001))
    except TimeoutError:
        raise Refused(408, "The request came too slowly.") from None
