"""Files that are made for a visitor to download, and the route of a run's model."""

import re
import tempfile
import zipfile
from pathlib import Path

from gradio.utils import get_upload_folder
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.ui.server.access import is_logged_in, require_owner
from bertviz_lab.ui.server.visitors import Visitor, visitor_of
from bertviz_lab.ui.state.app_state import AppState


def download_folder() -> Path:
    """A new folder for one file, beside the uploads and removed like them."""
    folder = Path(get_upload_folder())
    folder.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="download-", dir=folder))


def model_route(state: AppState) -> Route:
    """`lab-model/NAME.zip`: the newest model of a visitor's run, or a shipped one, for who may see the page."""

    async def download(request: Request) -> Response:
        if not await is_logged_in(request):
            return PlainTextResponse("Log in first.", status_code=401)
        return await run_in_threadpool(answer, request.path_params["name"], visitor_of(request))

    def answer(name: str, visitor: Visitor) -> Response:
        try:
            path = zip_model(state, name, visitor)
        except InputError as error:
            return PlainTextResponse(str(error), status_code=404)
        return FileResponse(path, filename=path.name, headers={"X-Content-Type-Options": "nosniff"})

    return Route("/lab-model/{name}.zip", download)


def zip_model(state: AppState, name: str, visitor: Visitor) -> Path:
    """The newest model of a visitor's run, or a shipped one, as a zip. Raises `InputError` for any other name."""
    if not (state.models.is_run(name) or name in state.models.shipped()):
        raise InputError("There is no such run or model.")
    if name not in state.models.shipped():
        require_owner(state, visitor, name, "can download its model")
    folder, title = state.models.locate(name)
    stem = re.sub(r"[^\w.-]+", "-", title).strip("-.") or "model"
    target = download_folder() / f"{stem}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.iterdir()):
            if path.is_file() and not path.name.startswith(("optimizer.", "trainer.", "checksums.")):
                archive.write(path, f"{stem}/{path.name}")
    return target
