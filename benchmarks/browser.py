"""The page in this process, and headless Chromium to press and look: measures what a visitor waits for."""

import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from playwright import async_api
from playwright.sync_api import Browser, sync_playwright

from bertviz_lab.ui.app import build, launch_options
from bertviz_lab.ui.state.app_state import AppState
from tests.browser import FLAGS
from tests.get_browser import find

#: A function of what is measured in a page and its argument.
TIMING = Path(__file__).with_name("page_timing.js").read_text(encoding="utf-8")


@contextlib.contextmanager
def served(session: AppState) -> Iterator[str]:
    """The page of a session; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    page, options = build(session.settings, session), launch_options(session)
    page.launch(server_name="127.0.0.1", server_port=port, prevent_thread_lock=True, **options)
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        page.close()
        session.scheduler.wait()


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, closed in the end."""
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=find(), args=list(FLAGS)) as found:
        yield found


@contextlib.asynccontextmanager
async def async_chromium() -> AsyncIterator[async_api.Browser]:
    """The same for coroutines."""
    async with (
        async_api.async_playwright() as playwright,
        await playwright.chromium.launch(executable_path=find(), args=list(FLAGS)) as found,
    ):
        yield found
