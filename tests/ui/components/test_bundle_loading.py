"""The islands of a page of Gradio whose script or style sheet comes late."""

import re
from collections.abc import Iterator

import gradio as gr
import pytest
from playwright.sync_api import Page, Route, expect

from bertviz_lab.ui.components.assemble import component
from bertviz_lab.ui.components.attention.attention_grid import ATTENTION_GRID
from bertviz_lab.ui.components.tokens.fill_mask_bars import FILL_MASK_BARS
from bertviz_lab.ui.components.tokens.token_strip import TOKEN_STRIP
from tests.ui.components.harness import first_values, running


@pytest.fixture(scope="module", autouse=True)  # before the browser, whose event loop forbids another
def address() -> Iterator[str]:
    values = first_values()

    def build() -> gr.Blocks:
        with gr.Blocks() as blocks:
            gr.HTML("<p class='built'>built</p>")
            for island in (TOKEN_STRIP, FILL_MASK_BARS, ATTENTION_GRID):
                component(island, value=values[island.name], label=island.name, elem_id=island.name)
        return blocks

    with running(build) as url:
        yield url


@pytest.mark.parametrize("kind", ["js", "css"])
def test_islands_are_drawn_once_a_late_bundle_is_there(address: str, page: Page, kind: str):
    held: list[Route] = []
    page.route(re.compile(rf"/lab-static/.*\.{kind}$"), lambda route: held.append(route))
    page.goto(address, wait_until="commit")
    page.locator(".built").wait_for(timeout=60_000)  # Gradio has built its page
    expect(page.locator("#tokens td")).to_have_count(0)
    assert len(held) == 1
    held[0].continue_()
    for first in ("#tokens td", "#fill .candidate", "#attention .grid canvas"):
        page.locator(first).first.wait_for()
