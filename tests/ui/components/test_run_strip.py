"""The line that follows a run, whatever happens to one of its questions."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bertviz_lab.ui.server import assets
from tests.browser import PageLog, eventually
from tests.ui.components.harness import serving

# A page can be told that nobody looks at it: `look(false)`.
HIDDEN = """() => {
  let seen = true;
  Object.defineProperty(document, 'hidden', { get: () => !seen });
  window.look = (value) => {
    seen = value;
    document.dispatchEvent(new Event('visibilitychange'));
  };
}"""

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>strip</title>%s
<link rel="icon" href="data:,"></head><body><div id="strip" class="lab-island"><section class="lab"></section></div>
<script type="module">
import runStrip from 'lab/components/runs/run_strip.js';
runStrip(document.querySelector('#strip .lab'))('toy');
</script></body></html>"""


@dataclass
class Desk:
    step: int = 0
    asked: int = 0
    failures: int = 0

    async def ask(self, request: Request) -> Response:
        self.asked += 1
        if self.failures:
            self.failures -= 1
            return Response("this answer is lost", 500)
        self.step += 1
        now = {
            "name": "toy", "status": "training", "message": "", "step": self.step, "total_steps": 1000, "seconds": 1.0,
            "eta_seconds": 60.0, "saved": "", "path": "",
        }  # fmt: skip
        return JSONResponse({"answer": now})


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Desk]]:
    desk = Desk()

    async def page(_: Request) -> Response:
        return HTMLResponse(PAGE % assets.head())

    routes = [Route("/", page), Route("/lab/ask", desk.ask, methods=["POST"]), assets.route()]
    with serving(Starlette(routes=routes)) as address:
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
