"""The page of all components, served once for these tests, and what they do on it over and over."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from tests.ui.components.harness import Desk, serve


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[str, Desk]]:
    desk = Desk()
    with serve(desk) as url:
        yield url, desk


@pytest.fixture
def desk(served: tuple[str, Desk]) -> Desk:
    served[1].reset()
    return served[1]


@pytest.fixture
def visit(served: tuple[str, Desk], desk: Desk, page: Page) -> Callable[..., Page]:
    """Open the page and wait until the values that it asks for are there and the last component has drawn itself."""

    def open_page(theme: str = "light", width: int = 1280) -> Page:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{served[0]}?__theme={theme}")
        page.locator("#loaded .loaded").wait_for()  # else these values could replace those of a test
        page.locator("#fill .candidate").first.wait_for()
        page.locator("#tokens td").first.wait_for()
        return page

    return open_page


@pytest.fixture
def feed(desk: Desk, page: Page) -> Callable[[str, str], None]:
    """Let a component show another value, as an event of the page would."""

    def send(name: str, value: str) -> None:
        desk.values[name] = value
        page.locator(f"#feed-{name}").click()

    return send
