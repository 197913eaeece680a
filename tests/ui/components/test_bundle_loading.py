"""The islands of a page whose script or style sheet comes late."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.ui.components.harness import Desk


@pytest.mark.parametrize("kind", ["js", "css"])
def test_islands_are_drawn_once_a_late_bundle_is_there(served: tuple[str, Desk], desk: Desk, page: Page, kind: str):
    held: list[Route] = []
    page.route(re.compile(rf"/lab-static/.*\.{kind}$"), lambda route: held.append(route))
    page.goto(served[0], wait_until="commit")
    page.locator("#loaded .loaded").wait_for(timeout=60_000)  # Gradio has built its page
    expect(page.locator("#tokens td")).to_have_count(0)
    assert len(held) == 1
    held[0].continue_()
    for first in ("#tokens td", "#fill .candidate", "#attention .grid canvas"):
        page.locator(first).first.wait_for()
