"""Fixtures for tests that drive a page with real mouse and keyboard in Chromium.

`page` hands out a fresh visitor's page. When the test ends it fails the test if the page logged an error,
threw one, or asked anything of another machine; a test that provokes an error empties `page_log` itself.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect, sync_playwright

from tests.get_browser import find

# Two files are tested at a time, each with a browser and a server: what takes a moment alone may take seconds.
expect.set_options(timeout=20_000)

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # The name of docs/deployment.md: tests of the documented proxy reach it here.
    "--host-resolver-rules=MAP lab.example.org 127.0.0.1",
)
# Before the first document of a page runs: what earlier visitors left. What a page keeps survives its own reload.
FORGET = """
try {
  if (!sessionStorage.getItem('visitor')) localStorage.clear();
  sessionStorage.setItem('visitor', 'here');
} catch { /* about:blank and files keep nothing */ }
"""
LOCAL = (
    "http://127.0.0.1", "http://localhost", "ws://127.0.0.1", "ws://localhost", "data:", "blob:", "about:", "file:",
)  # fmt: skip


def eventually(page: Page, condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something becomes true that is not on the page, such as what the server was told."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        page.wait_for_timeout(50)  # lets the page's own events happen, unlike time.sleep


def at_rest(page: Page) -> None:
    """Wait until nothing has been asked or drawn for half a second: an answer may lead to another question."""
    page.evaluate("() => { window.restingSince = 0 }")
    page.wait_for_function(
        """() => {
          const busy = document.querySelector('[aria-busy="true"]');
          window.restingSince = busy ? 0 : window.restingSince || performance.now();
          return window.restingSince && performance.now() - window.restingSince > 500;
        }"""
    )


_END_TRANSITIONS = """() => document.getAnimations().filter((each) => each instanceof CSSTransition)
  .forEach((each) => each.finish())"""
#: The violations alone: what passes is forty times as much to bring over.
_VIOLATIONS = """context => axe.run(context, { resultTypes: ['violations'] }).then(({ violations }) => violations
  .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`)))"""


def complaints(page: Page, *parts: str) -> list[str]:
    """What axe finds in parts of a page, by their ids, and whether the page is wider than its window.

    Without `parts` it looks at all of it but the footer, which is Gradio's. Transitions are brought to their end: half
    way, a color between two others is on no page for long.
    """
    page.evaluate(_END_TRANSITIONS)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(_VIOLATIONS, [f"#{part}" for part in parts] or {"exclude": [["footer"]]})
    is_wide = page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    return [*found, *(["wider than the window"] if is_wide else [])]


def fill_in(*fields: tuple[Locator, str]) -> None:
    """Type into fields; what a late answer to the opening of the page or of a part puts back is typed again."""
    for _ in range(5):
        for box, text in fields:
            box.fill(text)
        fields[0][0].page.wait_for_timeout(200)
        if all(box.input_value() == text for box, text in fields):
            return
    raise AssertionError("the page keeps on replacing what is typed")


Made = TypeVar("Made")


def in_event_loop(make: Callable[[], Made]) -> Made:
    """Call `make` while an event loop runs: outside one, Gradio's `Blocks` and `launch` open loops and leave them open.

    To be called before `browser` starts, whose own loop runs in the same thread.
    """

    async def call() -> Made:
        return make()

    return asyncio.run(call())


@dataclass
class PageLog:
    """What a page did besides being looked at."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def clear(self) -> None:
        self.errors.clear()
        self.outside.clear()


def watch(page: Page, log: PageLog) -> None:
    """Write the page's errors and its requests to other machines into the log."""

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            log.errors.append(message.text)

    def on_request(request: Request) -> None:
        if not request.url.startswith(LOCAL):
            log.outside.append(request.url)

    page.on("console", on_console)
    page.on("pageerror", lambda error: log.errors.append(error.stack or str(error)))
    page.on("request", on_request)


def reload(page: Page, log: PageLog) -> None:
    """Reload a page; what it was still asking when it was left has no answer, and the browser notes that."""
    assert log.errors == []
    page.reload()
    log.errors.clear()


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser to test in; without one the test is skipped, or fails where CI is set and it must be there."""
    path = find()
    if path is None:
        reason = "No Chromium found: run `python -m tests.get_browser`, or name one in $CHROMIUM."
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Browser]:
    """One browser a test file; Playwright's event loop ends with it and disturbs no other test."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One context a test file: from the second page on, the programs of the page are compiled already."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield context
    context.close()


@pytest.fixture
def page_log() -> PageLog:
    """Errors and outside requests of `page` so far."""
    return PageLog()


@pytest.fixture
def page(context: BrowserContext, page_log: PageLog) -> Iterator[Page]:
    """A visitor's page of 1280 x 900 with nothing remembered from other tests."""
    page = context.new_page()
    page.add_init_script(FORGET)
    page.set_default_timeout(60_000)  # to load the page alone takes long while other tests run
    watch(page, page_log)
    yield page
    for opened in context.pages:
        opened.close()
    context.clear_cookies()
    context.clear_permissions()
    assert page_log.errors == []
    assert page_log.outside == []


def in_menu(control: Locator) -> Locator:
    """Open the menu that a control is in, and return the control."""
    menu = control.locator("xpath=ancestor::details[contains(@class, 'menu')]")
    if menu.get_attribute("open") is None:
        menu.locator("> summary").click()
    return control


@pytest.fixture(params=[(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")], ids=lambda screen: str(screen))
def screen(page: Page, request: pytest.FixtureRequest) -> str:
    """Give the page a window of one width and one theme, without motion; the theme, for the address of the page."""
    width, theme = request.param
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(reduced_motion="reduce", color_scheme=theme)
    return theme


def query_of(page: Page) -> dict[str, str]:
    """What the page's address says."""
    return {name: value for name, (value,) in parse_qs(urlsplit(page.url).query).items()}


def data_table(chart: Locator) -> Locator:
    """The rows of a chart's data table, which is unfolded; its cells that can be picked are buttons [data-item]."""
    table = chart.locator("details.table")
    if table.get_attribute("open") is None:
        table.locator("summary").click()
    return table.locator("tbody")


def expect_marks(chart: Locator, count: int) -> None:
    """Wait until Plotly has drawn so many bars or points, or for a heatmap (`count` 1) its cells."""
    expect(chart.locator(".plot :is(.point, .heatmaplayer image)")).to_have_count(count)
