"""The middleware around the whole application: checks of every request, and headers of every response."""

import logging
from collections.abc import Mapping, Sequence

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from bertviz_lab.ui.guard.addresses import Addresses, is_forwarded, is_same_origin, public_host
from bertviz_lab.ui.guard.bodies import Refused, RequestBody, check_type, is_upload, read_body
from bertviz_lab.ui.guard.logins import CLIENT_ADDRESS, Sessions, is_logged_in
from bertviz_lab.ui.guard.routes import SAFE, Routes
from bertviz_lab.ui.operations.monitoring import Monitor
from bertviz_lab.ui.server.error_handling import where
from bertviz_lab.ui.settings import Settings

_log = logging.getLogger(__name__)
_HUB = "https://huggingface.co"


def security_headers(*, space: bool) -> dict[str, str]:
    """Return the headers of every answer, which restrict what the page may do in a browser.

    Gradio writes its configuration as a script into the document and compiles templates, so inline scripts and `eval`
    are permitted. No script comes from another machine and no request, image or form goes to one. Navigation cannot be
    stopped by a policy: a script could still set `location`. `space` if the page is shown in a frame of the Hugging
    Face hub.
    """
    hub = f" {_HUB}" if space else ""
    policy = {
        "default-src": "'none'",
        "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": f"'self' data: blob:{hub}",
        "font-src": "'self' data:",
        "media-src": "'self' blob:",
        "connect-src": f"'self'{hub}",
        "worker-src": "'self' blob:",
        "manifest-src": "'self'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": f"'self'{hub} https://*.hf.space" if space else "'self'",
    }
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    # In a frame of another site the opener policy has no effect but a warning.
    return headers if space else headers | {"Cross-Origin-Opener-Policy": "same-origin"}


class Guard:
    """Wraps the whole application, including Gradio's own middleware."""

    def __init__(self, app: ASGIApp, settings: Settings, monitor: Monitor, routes: Routes) -> None:
        self._app, self._settings, self._monitor, self._routes = app, settings, monitor, routes
        self._addresses = Addresses(shared=settings.shared, hosts=settings.allowed_hosts)
        self._headers = security_headers(space=settings.space)
        proxies = "*" if "*" in settings.trusted_proxies else list(settings.trusted_proxies)
        self._resolve_client = ProxyHeadersMiddleware(self._pass, proxies)  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":  # the page has none
            await send({"type": "websocket.close", "code": 1008})
        else:
            body = RequestBody(receive, complete=scope["method"] in SAFE)
            answer = _Answer(send, self._headers, body)
            try:
                self._check_proxy(scope)
                await self._resolve_client(scope, body, answer)  # type: ignore[arg-type]
            except Refused as refused:
                self._monitor.refused(refused.status)
                await answer.refuse(scope, refused)
            except Exception as error:
                # Our own handlers catch their errors. Gradio's routes do not expect every form that a request can have,
                # and their traceback would write it to the log.
                _log.warning("a request was not understood: %s", where(error))
                await answer.refuse(scope, Refused(400, "This server cannot make sense of the request."))

    def _check_proxy(self, scope: Scope) -> None:
        """Drop forwarding headers unless a trusted proxy sent them; refuse forwarded requests on a local page."""
        headers = Headers(scope=scope)
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"x-gradio-server"]  # Gradio believes it
        if not is_forwarded(headers):
            return
        if not self._settings.shared:
            local = "This page is for the person at its own machine, and the request came through a proxy. "
            raise Refused(403, local + "Start it with --shared to let others in.")
        if (scope.get("client") or ("",))[0] not in self._resolve_client.trusted_hosts:
            scope["headers"] = [pair for pair in scope["headers"] if not is_forwarded(Headers(raw=[pair]))]

    async def _pass(self, scope: Scope, body: RequestBody, answer: "_Answer") -> None:
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        CLIENT_ADDRESS.set((scope.get("client") or ("",))[0])
        if not all(self._addresses.knows(host) for host in {*headers.getlist("host"), public_host(headers)}):
            raise Refused(403, "This server is not known by that name; its owner can add it with --allowed-hosts.")
        self._routes.check(scope)
        # Gradio asks for a login on some of its routes only. The first of them it asks itself as it starts.
        is_open = path == "/gradio_api/startup-events" or not path.startswith("/gradio_api/")
        if not is_open and not await is_logged_in(Request(scope)):
            raise Refused(401, "Log in first.")
        safe = method in SAFE and path != "/logout"
        if not safe and not is_same_origin(headers):
            raise Refused(403, "This request came from another site.")
        receive: Receive = body
        if method not in SAFE:
            check_type(path, headers)
            if not is_upload(path):
                content, receive = await read_body(body, headers, self._settings.limits.request_bytes)
                if path.startswith("/gradio_api/"):
                    self._routes.check_event(path, content)
        await self._app(scope, receive, answer)


class _Answer:
    """Sends the response with our headers, and one sentence in place of a failure."""

    def __init__(self, send: Send, headers: Mapping[str, str], body: RequestBody) -> None:
        self._send, self._headers, self._body = send, headers, body
        self._started = self._dropped = self._finished = self._has_events = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            # A failure is answered by the guard when its exception arrives here; Gradio's direct calls have none.
            self._dropped = message["status"] == 500 and not _has_type(message, "application/json")
            if self._dropped:
                return
            if message["status"] == 500:
                message["status"] = 400
            self._started, self._has_events = True, _has_type(message, "text/event-stream")
            headers = MutableHeaders(scope=message)
            for name in [name for name in headers if name.startswith("access-control-")]:
                del headers[name]  # Gradio permits things to pages of other origins
            headers.update(self._headers)
        if not self._dropped:
            self._finished = message["type"] == "http.response.body" and not message.get("more_body", False)
            if self._finished and not self._body.complete:
                await self._send({**message, "more_body": True})
                await self._body.drop_rest()
                message = {"type": "http.response.body"}
            await self._send(message)

    async def refuse(self, scope: Scope, refused: Refused) -> None:
        """Answer with a status and a sentence.

        A response that has started stays incomplete: the server closes the connection, and the browser reports a broken
        download. A stream of events, each of which is complete, ends normally.
        """
        self._dropped = False
        if self._started:
            if self._has_events and not self._finished:
                await self({"type": "http.response.body", "body": b""})
            return
        headers = {"Connection": "close"} | refused.headers
        response: Response = PlainTextResponse(refused.sentence, refused.status, headers)
        if scope["path"].startswith("/lab/"):
            response = JSONResponse({"error": refused.sentence}, refused.status, headers)

        async def nothing() -> Message:
            return {"type": "http.disconnect"}

        await response(scope, nothing, self)


def _has_type(message: Message, kind: str) -> bool:
    return Headers(raw=message.get("headers", [])).get("content-type", "").startswith(kind)


def install_guard(app: Starlette, settings: Settings, monitor: Monitor, own: Sequence[Route]) -> None:
    """Put the guard around Gradio's application as it starts, and the sessions of logins into it.

    Middleware that is passed to Gradio runs inside of Gradio's, which answers some requests itself and adds headers to
    every response.
    """
    assert app.middleware_stack is not None
    routes = Routes(own, app.get_blocks())  # type: ignore[attr-defined] # of Gradio's application
    app.middleware_stack = Guard(app.middleware_stack, settings, monitor, routes)
    app.tokens = Sessions(settings.limits.session_seconds)  # type: ignore[attr-defined] # of Gradio's application
