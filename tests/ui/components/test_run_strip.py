"""The line that follows a run, whatever happens to one of its questions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr
import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.components.parts import part
from tests.browser import PageLog, eventually
from tests.ui.components.harness import running

# A page can be told that nobody looks at it: `look(false)`.
HIDDEN = """() => {
  let seen = true;
  Object.defineProperty(document, 'hidden', { get: () => !seen });
  window.look = (value) => {
    seen = value;
    document.dispatchEvent(new Event('visibilitychange'));
  };
}"""


@dataclass
class Desk:
    step: int = 0
    asked: int = 0
    failures: int = 0

    def glance(self, run_id: str, request: gr.Request) -> dict[str, Any] | None:
        self.asked += 1
        if self.failures:
            self.failures -= 1
            raise RuntimeError("this answer is lost")
        self.step += 1
        return {
            "name": run_id, "status": "training", "message": "", "step": self.step, "total_steps": 1000, "seconds": 1.0,
            "eta_seconds": 60.0, "saved": "", "path": "",
        }  # fmt: skip


@pytest.fixture(scope="module", autouse=True)  # before the browser, whose event loop forbids another
def served() -> Iterator[tuple[str, Desk]]:
    desk = Desk()

    def build() -> gr.Blocks:
        with gr.Blocks() as blocks:
            part("run", value=to_json({"run_id": "toy"}), label="Run", server_functions=[desk.glance], elem_id="strip")
        return blocks

    with running(build) as address:
        yield address, desk


def step_on(page: Page) -> int:
    return int((page.locator("#strip .words").text_content() or "").split("step ")[1].split(" ")[0])


def test_the_line_goes_on_after_a_lost_answer(served: tuple[str, Desk], page: Page, page_log: PageLog) -> None:
    address, desk = served
    page.goto(address)
    expect(page.locator("#strip .words")).to_contain_text("step")
    desk.failures = 1
    before = step_on(page)
    eventually(page, lambda: desk.failures == 0 and step_on(page) > before, seconds=30)
    page_log.clear()  # the browser notes the failed request


def test_a_line_that_was_hidden_stays_hidden_while_its_run_is_followed(served: tuple[str, Desk], page: Page) -> None:
    address, _ = served
    page.goto(address)
    expect(page.locator("#strip .words")).to_contain_text("step")
    page.get_by_role("button", name="Hide this line").click()
    before = step_on(page)
    eventually(page, lambda: step_on(page) > before, seconds=30)
    expect(page.locator("#strip .lab")).to_be_hidden()


def test_a_page_that_nobody_looks_at_asks_nothing(served: tuple[str, Desk], page: Page) -> None:
    address, desk = served
    page.add_init_script(f"({HIDDEN})()")
    page.goto(address)
    expect(page.locator("#strip .words")).to_contain_text("step")
    page.evaluate("look(false)")
    page.wait_for_timeout(2500)  # one question may have been on its way
    asked = desk.asked
    page.wait_for_timeout(5000)
    assert desk.asked == asked
    page.evaluate("look(true)")
    eventually(page, lambda: desk.asked > asked)
