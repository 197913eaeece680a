"""The page, one HTML element of Gradio's that our modules draw into, and the endpoints, served together."""

import asyncio
import contextlib
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import resources
from typing import Any

import gradio as gr
import httpx
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui import theme
from bertviz_lab.ui.guard.connections import limit_connections
from bertviz_lab.ui.guard.logins import LOGIN_MESSAGE, Logins, logout_route
from bertviz_lab.ui.guard.middleware import install_guard
from bertviz_lab.ui.operations.housekeeping import own_upload_folder, sweep_regularly
from bertviz_lab.ui.operations.monitoring import health_route, metrics_route
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.server.api import EndpointQueue, Page, add_endpoints
from bertviz_lab.ui.server.downloads import model_route, page_route
from bertviz_lab.ui.server.questions import questions_route
from bertviz_lab.ui.server.uploads import upload_route
from bertviz_lab.ui.server.visitors import VisitorCookie
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from bertviz_lab.ui.workshop.routes import workshop_routes

_CALLS = 500  # of endpoints at a time


def build(settings: Settings, session: AppState | None = None) -> Page:
    """Return the whole page, ready to be launched with `launch_options`. Raises `InputError` as `serve`."""
    session = session or AppState(settings)
    folder = settings.runs_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(f"The folder for runs, {folder}, cannot be written: {error.strerror}.") from error
    start = {"model": session.models.default(), "shared": settings.shared, "workshop": settings.workshop}
    with Page(title="BertViz Lab", analytics_enabled=False) as page:
        # Gradio evaluates templates: this one is a file of ours, and holds nothing that anybody typed.
        gr.HTML(
            to_json(start | {"logout": bool(settings.users)}),
            html_template=resources.files(__package__).joinpath("page.html").read_text(encoding="utf-8"),
            js_on_load="import('lab/client/main.js').then((lab) => lab.mount(element, props))",
            apply_default_css=False,
        )
        add_endpoints(session)
    page._queue = EndpointQueue(page)  # Gradio has no public way to choose its class
    return page


def launch_options(state: AppState, engine: assets.PageEngine | None = None) -> dict[str, Any]:
    """Return how a page is launched: no reports, no history of what visitors typed, nothing from outside."""
    users = state.settings.users
    routes = [
        assets.route(),
        questions_route(state, VIEWS),
        upload_route(state.uploads, state.settings.limits.upload_bytes),
        model_route(state),
        page_route(state),
        logout_route(),
        health_route(state.runs, state.monitor),
        *workshop_routes(state),
    ]
    if engine:
        routes.append(engine.route)
    if state.settings.metrics:
        routes.append(
            metrics_route(state.runs, lambda: state.models.opened.load, state.monitor, state.settings.metrics_token)
        )
    return {
        "auth": Logins(users).check if users else None,
        "auth_message": LOGIN_MESSAGE,
        "theme": theme.theme(),
        # Middleware inside of Gradio's; the guard is around both.
        "app_kwargs": {
            "routes": routes,
            "middleware": [
                Middleware(VisitorCookie),
                Middleware(assets.PageHead, language=state.settings.language, engine=engine),
            ],
            "lifespan": _lifespan(state, routes),
        },
        "footer_links": ["api", "settings"],
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "pwa": False,
        "share": False,
        "quiet": True,
        "max_threads": _CALLS,  # at a time: all wait in the scheduler, not in Gradio's queue
        "state_session_capacity": state.settings.limits.visitors,
    }


def _lifespan(state: AppState, routes: Sequence[Route]) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return what runs with the server from its start to its end."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        install_guard(app, state.settings, state.monitor, routes)
        sweeping = asyncio.create_task(sweep_regularly(state))
        yield
        sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sweeping

    return lifespan


def serve(
    session: AppState,
    host: str,
    port: int | None = None,
    *,
    open_browser: bool = False,
    engine: assets.PageEngine | None = None,
) -> tuple[Page, str]:
    """Build and launch the page; return it with its address. Raises `InputError` where that is not possible."""
    page = build(session.settings, session)
    try:
        _, address, _ = page.launch(
            server_name=host,
            server_port=port,
            inbrowser=open_browser,
            prevent_thread_lock=True,
            **launch_options(session, engine),
        )
    except (OSError, httpx.HTTPError) as error:  # Gradio asks its own page once, by the name localhost
        if port and "empty port" in str(error):
            raise InputError(f"Port {port} is taken; choose another one with --port.") from error
        raise InputError(f"The page could not be opened at {host}: {error}.") from error
    limit_connections(page.server, session.settings)
    threading.Thread(target=session.scheduler.run, args=(session.warm_up,), daemon=True).start()
    return page, address


def serve_until_stopped(
    settings: Settings,
    host: str,
    port: int | None,
    *,
    open_browser: bool,
    engine_of: Callable[[AppState], assets.PageEngine | None],
) -> Iterator[str]:
    """Serve the page until Ctrl-C; yield its address once it is open. Uploads are removed at its end.

    `engine_of` returns the engine that the page offers to its visitors. Raises `InputError` as `serve`.
    """
    uploads = own_upload_folder()
    try:
        session = AppState(settings)
        page, address = serve(session, host, port, open_browser=open_browser, engine=engine_of(session))
        yield address
        page.block_thread()
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C does not wait for unfinished answers
            session.scheduler.wait()
    finally:
        shutil.rmtree(uploads, ignore_errors=True)
