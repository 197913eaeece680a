"""Published pages in Firefox, by keyboard and on a phone's width; skipped where it is not installed."""

from collections.abc import Iterator
from importlib import resources

import pytest

from bertviz_lab.browser.site import publish
from tests.firefox import ENTER, RIGHT, TAB, Firefox, find, firefox
from tests.published import served

_AXE = """%s
return axe.run().then(({ violations }) => violations
  .filter(({ impact }) => ['serious', 'critical'].includes(impact))
  .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`)));"""

pytestmark = pytest.mark.skipif(find() is None, reason="Firefox is not installed")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    path = find()
    assert path
    with firefox(path, tmp_path_factory.mktemp("firefox") / "profile") as browser:
        yield browser


def tab_to(browser: Firefox, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(60):
        if browser.evaluate("return document.activeElement.matches(arguments[0])", selector):
            return
        browser.press(TAB)
    raise AssertionError(f"Tab does not lead to {selector}")


def complaints(browser: Firefox) -> list[str]:
    """What axe finds, and whether the page is wider than its window."""
    axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    found: list[str] = browser.evaluate(_AXE % axe)
    is_wide = browser.evaluate("return document.documentElement.scrollWidth > innerWidth")
    return [*found, *(["wider than the window"] if is_wide else [])]


def explore(browser: Firefox, address: str) -> None:
    """Type a text, mask a word and look at another view, by keyboard."""
    browser.open(address)
    browser.wait("document.querySelectorAll('#fill-bars .bar-row').length === 5")
    tab_to(browser, "#text-a")
    browser.evaluate("document.activeElement.select()")
    browser.press(*"Ravi has a [MASK].", ENTER)
    browser.wait("document.querySelector('#tokens-strip').textContent.startsWith('[CLS]ravihasa[MASK]')")
    browser.wait("document.querySelectorAll('#attention-grid canvas').length > 1")
    tab_to(browser, "#tab-attention")
    browser.press(RIGHT)
    browser.wait("document.querySelectorAll('#attribution-tokens .token').length > 3")
    browser.wait("!document.querySelector('[aria-busy=true]')")  # which is pale
    assert complaints(browser) == []


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Of a page in a folder, from a server, and of one that is a single file, from a disk."""
    folder = tmp_path_factory.mktemp("published")
    with served(publish(["tiny-town"], folder / "page").path) as address:
        yield address, publish(["tiny-town"], folder / "page.html", single_file=True).path.as_uri()


@pytest.mark.parametrize("width", [1280, 400])
def test_a_page_from_a_server_and_from_a_disk_is_explored_by_keyboard(
    browser: Firefox, addresses: tuple[str, str], width: int
) -> None:
    browser.set_width(width)
    for address in addresses:
        explore(browser, address)
