"""Downloads: folders for generated files, and the route that packs a model."""

import io
import re
import secrets
import tempfile
import zipfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gradio.utils import get_upload_folder
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.ui.guard.bodies import Refused
from bertviz_lab.ui.guard.logins import is_logged_in, only_for
from bertviz_lab.ui.server.visitors import Visitor, visitor_of
from bertviz_lab.ui.state.app_state import AppState

_PIECE = 1_000_000  # bytes of a file


def download_folder() -> Path:
    """Make a folder with an unguessable name for one file, next to the uploads and removed like them."""
    folder = Path(get_upload_folder())
    folder.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"download-{secrets.token_hex(16)}-", dir=folder))


def model_route(state: AppState) -> Route:
    """Return the route `lab-model/NAME.zip`, packed while it is sent: nothing is left on disk."""

    async def download(request: Request) -> Response:
        try:
            name, pieces = await run_in_threadpool(zip_model, state, request.path_params["name"], visitor_of(request))
        except InputError as error:
            raise Refused(404, str(error)) from error
        disposition = f"attachment; filename*=UTF-8''{quote(name)}"
        headers = {"Content-Disposition": disposition}
        if request.method == "HEAD":
            pieces.close()
        return StreamingResponse(pieces, headers=headers, media_type="application/zip")

    return Route("/lab-model/{name}.zip", only_for(is_logged_in, download))


def page_route(state: AppState) -> Route:
    """Return the route `lab-page/NAME`: a page that `publish.page` has written, on a local page only."""

    async def download(request: Request) -> Response:
        file = state.pages.file(request.path_params["name"])
        if file is None:
            raise Refused(404, "This page is not written yet.")
        return FileResponse(file, headers={"Content-Disposition": "attachment"})

    return Route("/lab-page/{name}", only_for(is_logged_in, download))


def zip_model(state: AppState, name: str, visitor: Visitor) -> tuple[str, Generator[bytes]]:
    """Return the name and the pieces of a zip of a visitor's or shipped model. Raises `InputError` for any other."""
    if name not in state.models.shipped():
        if not state.models.is_run(name):
            raise InputError("There is no such run or model.")
        state.models.require_owner(visitor, name, "can download its model")
    folder, title = state.models.locate(name)
    stem = re.sub(r"[^\w.-]+", "-", title).strip("-.") or "model"
    pieces = _zipped(folder, stem)
    try:
        next(pieces)
    except OSError as error:
        raise InputError("This model has just been replaced or deleted; try again.") from error
    return f"{stem}.zip", pieces


def _zipped(folder: Path, stem: str) -> Generator[bytes]:
    """Yield an uncompressed zip of a model's files (weights shrink by a tenth at most). Pieces may be empty.

    All files are open once the first, empty piece is yielded: the zip is complete even if the model is then deleted.
    """
    sink = _Sink()
    with ExitStack() as stack, zipfile.ZipFile(sink, "w") as archive:
        files = []
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.name.startswith(("optimizer.", "trainer.", "checksums.")):
                entry = zipfile.ZipInfo.from_file(path, f"{stem}/{path.name}")
                files.append((entry, stack.enter_context(path.open("rb"))))
        yield b""
        for entry, source in files:
            with archive.open(entry, "w") as target:
                while part := source.read(_PIECE):
                    target.write(part)
                    yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """Buffers what is written until it is taken; it cannot seek, so a zip is written front to back."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, part: Any) -> int:
        self._written += part
        return len(part)

    def take(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken
