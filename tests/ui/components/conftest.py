"""The page of all components, served once for these tests, and what they do on it over and over."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from tests.ui.components.harness import Desk, application, serving


@pytest.fixture(scope="session")
def served() -> Iterator[tuple[str, Desk]]:
    desk = Desk()
    with serving(application(desk)) as url:
        yield url, desk


@pytest.fixture
def desk(served: tuple[str, Desk]) -> Desk:
    served[1].reset()
    return served[1]


#: What has been drawn when a component is there.
DRAWN = {"fill": "#fill .candidate", "tokens": "#tokens td"}


@pytest.fixture
def visit(request: pytest.FixtureRequest, served: tuple[str, Desk], desk: Desk, page: Page) -> Callable[..., Page]:
    """Open the page with the components that the test's file names in `PARTS`, and wait until they are drawn.

    Values by the name of a component are shown in place of its first one.
    """
    parts = request.module.PARTS

    def open_page(theme: str = "light", width: int = 1280, **values: str) -> Page:
        desk.values |= values
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{served[0]}?__theme={theme}&parts={','.join(parts)}")
        for part in parts:
            page.locator(DRAWN.get(part, f"#{part} .lab > *")).first.wait_for(state="attached")
        return page

    return open_page


@pytest.fixture
def feed(desk: Desk, page: Page) -> Callable[[str, str], None]:
    """Let a component show another value, as an event of the page would."""

    def send(name: str, value: str) -> None:
        desk.values[name] = value
        page.evaluate("([name, value]) => window.drawings[name].show(value)", [name, value])

    return send
