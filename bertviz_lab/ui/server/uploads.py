"""Files that visitors post to `lab/upload`, each named by a token that is bound to its visitor. No path ever travels.

Bytes count when they arrive: a connection that only announces a size takes no space. On a shared page one network
address may fill a quarter of the space.
"""

import asyncio
import re
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gradio.utils import get_upload_folder
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.ui.guard.bodies import CountedBody, Refused, announced_length
from bertviz_lab.ui.guard.logins import is_logged_in, only_for
from bertviz_lab.ui.server.visitors import Visitor, visitor_of

_SHARE = 4  # of the space: what one address may fill is the whole divided by this
_LONGEST_NAME = 120  # bytes of a file's name


class UploadStore:
    """The uploads of all visitors, each in a folder of its own under the upload folder.

    `space` is for the event loop alone; `add` and `file` are safe in any thread.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: dict[str, UploadedFile] = {}  # by token, the oldest first
        self._arriving: Counter[str] = Counter()  # bytes by address

    def file(self, visitor: Visitor, token: Any) -> "UploadedFile":
        """Return the file of a token. Raises `InputError` unless this visitor uploaded it and it is still there."""
        file = self._kept.get(token) if isinstance(token, str) else None
        if file is None or file.owner != _owner(visitor) or not file.path.is_file():
            raise InputError("This file is no longer on the server; upload it again.")
        return file

    def add(self, visitor: Visitor, name: str, source: BinaryIO) -> tuple[str, "UploadedFile"]:
        token = secrets.token_urlsafe(24)
        path = Path(get_upload_folder()) / token / _safe_name(name)
        path.parent.mkdir(parents=True)
        try:
            with path.open("wb") as target:
                shutil.copyfileobj(source, target)
        except OSError:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
        size = path.stat().st_size
        self._kept[token] = UploadedFile(path, name, size, _owner(visitor), visitor.address, time.monotonic())
        return token, self._kept[token]

    @contextmanager
    def space(self, visitor: Visitor) -> Iterator[Callable[[int], None]]:
        """Count the bytes of an upload while it arrives: `take(bytes)` raises `InputError` where there is no space."""
        self._remove_old()
        address, taken = visitor.address, 0

        def take(count: int) -> None:
            nonlocal taken
            taken += count
            self._arriving[address] += count
            files = list(self._kept.values())  # in one step: `add` runs in other threads
            own = sum(file.bytes for file in files if file.address == address)
            used = sum(file.bytes for file in files)
            most = self._limits.upload_space
            if self._limits.shared and own + self._arriving[address] > max(most // _SHARE, self._limits.upload_bytes):
                raise InputError("Your network has uploaded all that it may; try again in an hour.")
            if used + self._arriving.total() > most:
                raise InputError("There is no space for more files on this server; try again later.")

        try:
            yield take
        finally:
            self._arriving[address] -= taken

    def _remove_old(self) -> None:
        oldest = time.monotonic() - self._limits.upload_seconds
        for token, file in list(self._kept.items()):
            if file.time < oldest or not file.path.is_file():
                del self._kept[token]
                shutil.rmtree(file.path.parent, ignore_errors=True)


@dataclass(frozen=True)
class UploadedFile:
    """An upload: where it is here, what its visitor calls it, its size, and who sent it from where and when."""

    path: Path
    name: str
    bytes: int
    owner: str = ""
    address: str = ""
    time: float = 0.0


def _owner(visitor: Visitor) -> str:
    return visitor.owner or visitor.address


def _safe_name(name: str) -> str:
    """Return the last part of a file's name, without what a file system could refuse; formats depend on its end."""
    last = re.sub(r"[\x00-\x1f/\\:*?\"<>|]+", "-", re.split(r"[/\\]", name)[-1]).strip(". ")
    return last.encode(errors="replace")[-_LONGEST_NAME:].decode(errors="ignore") or "file"


def upload_route(uploads: UploadStore, most: int) -> Route:
    """Return the route `lab/upload`: one file of `most` bytes in a form; it answers {"token", "name", "bytes"}."""

    async def upload(request: Request) -> Response:
        visitor = visitor_of(request)
        with uploads.space(visitor) as take:
            body = CountedBody(request.receive, most, take)
            try:
                body.check_size(announced_length(request.headers))
                async with Request(request.scope, body).form(max_files=1, max_fields=0) as form:
                    (file,) = (value for value in form.values() if isinstance(value, UploadFile))
                    body.check_size(file=file.size or 0)
                    token, kept = await asyncio.to_thread(uploads.add, visitor, file.filename or "", file.file)
            except (HTTPException, ValueError) as error:
                raise body.refused or Refused(400, "Send one file as multipart/form-data.") from error
        return JSONResponse({"token": token, "name": kept.name, "bytes": kept.bytes})

    return Route("/lab/upload", only_for(is_logged_in, upload), methods=["POST"])
