"""The page: header, tabs and endpoints put together."""

import asyncio
import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
from gradio.data_classes import BlocksConfigDict
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.ui import theme
from bertviz_lab.ui.components.parts import part
from bertviz_lab.ui.guard.event_queue import FairQueue
from bertviz_lab.ui.guard.logins import LOGIN_MESSAGE, Logins, logout_route
from bertviz_lab.ui.guard.middleware import install_guard
from bertviz_lab.ui.header import create_header
from bertviz_lab.ui.operations.housekeeping import own_upload_folder, remove_folder, sweep_regularly
from bertviz_lab.ui.operations.monitoring import health_route, metrics_route
from bertviz_lab.ui.page_events import QUIET, SPACES, PageEvents
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.server.api import add_endpoints
from bertviz_lab.ui.server.downloads import model_route
from bertviz_lab.ui.server.error_handling import Page
from bertviz_lab.ui.server.questions import Questions
from bertviz_lab.ui.server.uploads import upload_route
from bertviz_lab.ui.server.visitors import VisitorCookie
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from bertviz_lab.ui.workshop.routes import workshop_routes

_CLEAN_EVERY = 600  # seconds
#: Gradio may select the first tab before the page's modules are there: the module is waited for.
_SET_SPACE = "() => import('lab/client/page.js').then(({ page }) => { page.setSpace('%s'); })"
_SCHEMAS = ("api_info", "api_info_as_input", "api_info_as_output", "example_inputs")
_WORKER, _WARMING = "AnyIO worker thread", "warm-up"  # names of threads: Gradio's, which call the handlers, and ours


class LightPage(Page):
    """A page whose configuration, which every visitor loads, has schemas of values for its endpoints only.

    Gradio writes them three times for each component (20 KB for the file fields alone) for programs that call it.
    """

    def get_config_file(self) -> BlocksConfigDict:
        config = super().get_config_file()
        endpoints = [event for event in config["dependencies"] if event["api_visibility"] != "private"]
        called = {number for event in endpoints for number in (*event["inputs"], *event["outputs"])}
        for shown in config["components"]:
            for name in _SCHEMAS if shown["id"] not in called else ():
                shown.pop(name, None)
        return config


def build(settings: Settings, session: AppState | None = None) -> gr.Blocks:
    """Return the whole page, ready to be launched with `launch_options`."""
    session = session or AppState(settings)
    _make_folder(settings.runs_dir)
    cleaned = (_CLEAN_EVERY, int(settings.limits.upload_seconds) + 1)
    with LightPage(title="BertViz Lab", analytics_enabled=False, delete_cache=cleaned) as page:
        wire = part("wire", value=_start(session), label="Status", events=("go",), elem_id="wire")
        strip = create_header(session)
        part("lesson-bar", value=_start(session), label="Lesson", elem_id="lesson-bar")
        with gr.Tabs(selected="explore", elem_id="spaces") as tabs:
            with gr.Tab("Explore", id="explore") as explore_tab:
                part("explore", value="", label="Explore", elem_id="explore")
                part("form", kind="batch", label="Batch inference", elem_id="try-file-part")
            with gr.Tab("Train", id="train") as train_tab, gr.Tabs(elem_id="train-tabs") as forms:
                with gr.Tab("Pretrain", id="pretrain", elem_id="pretrain-form"):
                    part("form", kind="pretrain", label="Pretrain")
                    part("progress", label="4. Training progress", kind="pretrain", elem_id="pretrain-progress")
                with gr.Tab("Fine-tune", id="finetune", elem_id="finetune-form"):
                    part("form", kind="finetune", label="Fine-tune")
                    part("progress", label="4. Training progress", kind="finetune", elem_id="finetune-progress")
            with gr.Tab("Runs", id="runs") as runs_tab:
                part("runs", value="", label="Runs", elem_id="runs")
                part("form", kind="evaluate", label="Evaluate", elem_id="evaluate-part")
            with gr.Tab("Learn", id="learn") as learn_tab:
                part("lessons", value="", label="Lessons", elem_id="lessons")
        for tab, space in zip((explore_tab, train_tab, runs_tab, learn_tab), SPACES, strict=True):
            tab.select(None, None, None, js=_SET_SPACE % space, **QUIET)
        PageEvents(session, wire, strip, tabs, forms).join(page)
        add_endpoints(session)
    page._queue = FairQueue(page, settings.limits)
    return page


def _start(state: AppState) -> Payload:
    """Return what the page's scripts are told as it opens."""
    settings = state.settings
    return to_json({"model": state.models.default(), "shared": settings.shared, "workshop": settings.workshop})


def launch_options(state: AppState) -> dict[str, Any]:
    """How every page of the lab is launched: no reports, no history of what visitors typed, nothing from outside."""
    users = state.settings.users
    routes = [assets.route(), Questions(state, VIEWS).route(), upload_route(state)]
    routes += [model_route(state), logout_route(), health_route(state.runs, state.monitor), *workshop_routes(state)]
    if state.settings.metrics:
        routes.append(
            metrics_route(state.runs, lambda: state.models.opened.load, state.monitor, state.settings.metrics_token)
        )
    return {
        "auth": Logins(users).check if users else None,
        "auth_message": LOGIN_MESSAGE,
        "theme": theme.theme(),
        "head": theme.head(),
        "app_kwargs": {
            "routes": routes,
            "middleware": [
                Middleware(VisitorCookie),
                Middleware(assets.PageHead, language=state.settings.language),
            ],  # inside of Gradio's; the guard stands around both
            "lifespan": _lifespan(state, routes),
        },
        "footer_links": ["api", "settings"],
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "pwa": False,
        "share": False,
        "quiet": True,
        "max_file_size": state.settings.limits.upload_bytes,
        "state_session_capacity": state.settings.limits.visitors,
    }


def _lifespan(state: AppState, routes: Sequence[Route]) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return what runs with the server from its start to its end."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        install_guard(app, state.settings, state.monitor, routes, state.uploads)
        sweeping = asyncio.create_task(sweep_regularly(state))
        yield
        sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sweeping

    return lifespan


def serve(
    settings: Settings,
    host: str,
    port: int | None = None,
    *,
    open_browser: bool = False,
) -> tuple[gr.Blocks, str]:
    """Build and launch the page without waiting for its end; returns it with its address.

    Raises `InputError` when the port is taken or the folder for runs cannot be written.
    """
    session = AppState(settings)
    page = build(settings, session)
    try:
        _, address, _ = page.launch(
            server_name=host,
            server_port=port,
            inbrowser=open_browser,
            prevent_thread_lock=True,
            **launch_options(session),
        )
    except OSError as error:
        if port and "empty port" in str(error):
            raise InputError(f"Port {port} is taken; choose another one with --port.") from error
        raise InputError(f"The page could not be opened at {host}: {error}.") from error
    except httpx.HTTPError as error:  # Gradio asks its own page once, by the name localhost
        raise InputError(f"The page could not be opened at {host}: {error}.") from error
    threading.Thread(target=session.warm_up, name=_WARMING, daemon=True).start()
    return page, address


def serve_until_stopped(settings: Settings, host: str, port: int | None, *, open_browser: bool) -> Iterator[str]:
    """Serve the page until Ctrl-C; yields its address once it is open. Nothing of its visitors' uploads is left.

    Raises as `serve`.
    """
    uploads = own_upload_folder()
    try:
        page, address = serve(settings, host, port, open_browser=open_browser)
        yield address
        page.block_thread()
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C does not wait for unfinished answers
            wait_for_answers()
    finally:
        remove_folder(uploads)


def wait_for_answers() -> None:
    """After a page was closed: let its threads finish what they compute, for ten seconds at most.

    A thread that PyTorch computes in while Python ends takes the whole process down ("terminate called ...").
    """
    end = time.monotonic() + 10
    while time.monotonic() < end and any(_computes(thread) for thread in threading.enumerate()):
        time.sleep(0.02)


def _computes(thread: threading.Thread) -> bool:
    """Return whether one of the page's threads is at work, and not waiting for some."""
    frame = sys._current_frames().get(thread.ident or 0)
    idle = frame is None or frame.f_code.co_filename == threading.__file__
    return not idle and thread.name in (_WORKER, _WARMING)


def _make_folder(folder: Path) -> None:
    """Make the folder for runs, and see that files can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(f"The folder for runs, {folder}, cannot be written: {error.strerror}.") from error
