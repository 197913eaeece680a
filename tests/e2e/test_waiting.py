"""A question whose turn has not come, or whose answer nobody wants any more, in a real browser."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.config import SHIPPED
from tests.ui.pages import event_loops, little_settings, serve

__all__ = ["event_loops"]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

_LONG = "the old king of france was a man of letters " * 30
_ASK = """([line, text]) => {
  window.answers ??= {};
  window.Lab.page.ask('predictions', 'surprisal', {model: 'wiki-mini', text_a: text, text_b: '', hidden: []}, line)
    .then((answer) => { (window.answers[line] ??= []).push(answer === undefined ? 'dropped' : 'answered'); });
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = little_settings(tmp_path_factory.mktemp("page"), shared=True, models=False)
    with serve(dataclasses.replace(settings, checkpoints=Path(SHIPPED))) as (address, _):
        yield address


@pytest.fixture
def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("#fill-bars .blanks").wait_for()
    return page


def test_a_newer_question_ends_the_older_one(opened: Page) -> None:
    opened.evaluate(_ASK, ["first", _LONG])
    opened.wait_for_timeout(200)
    opened.evaluate(_ASK, ["first", "The king is old."])
    opened.wait_for_function("() => window.answers.first?.length === 2", timeout=10_000)
    assert opened.evaluate("() => window.answers.first") == ["dropped", "answered"]


def test_the_place_in_line_is_told(opened: Page) -> None:
    for line in ("first", "second", "third"):
        opened.evaluate(_ASK, [line, _LONG])
    expect(opened.locator("#wire .lab")).to_contain_text(
        re.compile(r"(1 question before yours|Your question is next), about \d+ (s|min)"), timeout=10_000
    )
