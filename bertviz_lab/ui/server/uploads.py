"""The route of uploads: each file is posted to `lab/upload` alone and named by a token from then on."""

import asyncio

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bertviz_lab.ui.guard.bodies import CountedBody, Refused, announced_length
from bertviz_lab.ui.server.access import is_logged_in
from bertviz_lab.ui.server.visitors import visitor_of
from bertviz_lab.ui.state.app_state import AppState

ROUTE = "lab/upload"


def upload_route(state: AppState) -> Route:
    """Return the route `lab/upload`: one file in a form; the answer is {"token", "name", "bytes"} or {"error"}."""
    most = state.settings.limits.upload_bytes

    async def upload(request: Request) -> Response:
        if not await is_logged_in(request):
            return JSONResponse({"error": "Log in first."}, 401)
        visitor = visitor_of(request)
        with state.uploads.space(visitor) as take:
            body = CountedBody(request.receive, most, take)
            try:
                body.check_size(announced_length(request.headers))
                async with Request(request.scope, body).form(max_files=1, max_fields=0) as form:
                    (file,) = (value for value in form.values() if isinstance(value, UploadFile))
                    body.check_size(file=file.size or 0)
                    token, kept = await asyncio.to_thread(state.uploads.add, visitor, file.filename or "", file.file)
            except (Refused, HTTPException, ValueError) as error:
                refused = body.refused or error
                if not isinstance(refused, Refused):
                    return JSONResponse({"error": "Send one file as multipart/form-data."}, 400)
                return JSONResponse({"error": refused.sentence}, refused.status, refused.headers)
        return JSONResponse({"token": token, "name": kept.name, "bytes": kept.bytes})

    return Route(f"/{ROUTE}", upload, methods=["POST"])
