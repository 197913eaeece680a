"""The lines that follow runs, whatever happens to one of their questions, and how the end of a run is told."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bertviz_lab.ui.server import assets
from tests.browser import PageLog, complaints, eventually
from tests.ui.components.harness import serving

# A page can be told that nobody looks at it: `look(false)`. Notifications are written down.
STUBS = """() => {
  let seen = true;
  Object.defineProperty(document, 'hidden', { get: () => !seen });
  window.look = (value) => {
    seen = value;
    document.dispatchEvent(new Event('visibilitychange'));
  };
  window.told = [];
  window.played = 0;
  OscillatorNode.prototype.start = () => { window.played += 1; };
  OscillatorNode.prototype.stop = () => {};
  window.asked = 0;
  window.Notification = class {
    static permission = sessionStorage.getItem('permission') ?? 'default';
    static async requestPermission() {
      window.asked += 1;
      this.permission = 'granted';
      sessionStorage.setItem('permission', 'granted');
      return this.permission;
    }
    constructor(title, options) { window.told.push([title, options.body, options.tag]); }
  };
}"""

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>strip</title>%s
<link rel="icon" href="data:,"></head><body><main><h1>strip</h1>
<div id="strip" class="lab-island lab-island-run"><section class="lab lab-run"></section></div></main>
<script type="module">
import runStrip from 'lab/components/runs/run_strip.js';
const runs = new URLSearchParams(location.search).get('runs') ?? 'toy';
runStrip(document.querySelector('#strip .lab'))(...runs.split(','));
</script></body></html>"""

ENDED = {"ended": 725.0, "score": "MLM accuracy 34.2%", "path": "/runs/toy/model", "saved": "3", "step": 2000}


@dataclass
class Desk:
    step: int = 0
    asked: int = 0
    failures: int = 0
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)  # what is different of a run

    async def ask(self, request: Request) -> Response:
        self.asked += 1
        if self.failures:
            self.failures -= 1
            return Response("this answer is lost", 500)
        self.step += 1
        now = {
            "status": "training", "message": "", "step": self.step, "total_steps": 1000, "seconds": 61.0,
            "eta_seconds": 60.0, "saved": "", "path": "", "score": "", "ended": None,
        }  # fmt: skip
        asked = (await request.json())["arguments"]["runs"]
        return JSONResponse({"answer": {run: {**now, "name": run, **self.runs.get(run, {})} for run in asked}})


@pytest.fixture(scope="module")
def address_and_desk() -> Iterator[tuple[str, Desk]]:
    desk = Desk()

    async def page(_: Request) -> Response:
        return HTMLResponse(PAGE % assets.head())

    routes = [Route("/", page), Route("/lab/ask", desk.ask, methods=["POST"]), assets.route()]
    with serving(Starlette(routes=routes)) as address:
        yield address, desk


@pytest.fixture
def served(address_and_desk: tuple[str, Desk], page: Page) -> tuple[str, Desk]:
    page.add_init_script(f"({STUBS})()")
    address_and_desk[1].runs.clear()
    return address_and_desk


def step_on(page: Page) -> int:
    return int((page.locator("#strip .words").text_content() or "").split("step ")[1].split(" ")[0])


def icon(page: Page) -> str:
    return str(page.evaluate("decodeURIComponent(document.querySelector('link[rel=icon]').href)"))


def test_the_line_goes_on_after_a_lost_answer(served: tuple[str, Desk], page: Page, page_log: PageLog) -> None:
    address, desk = served
    page.goto(address)
    expect(page.locator("#strip .words")).to_contain_text("step")
    desk.failures = 1
    before = step_on(page)
    expect(page).to_have_title("… – strip")  # not how far it was
    eventually(page, lambda: desk.failures == 0 and step_on(page) > before, seconds=30)
    expect(page).to_have_title(re.compile("%"))
    page_log.clear()  # the browser notes the failed request


def test_a_run_at_work_says_that_its_model_can_be_used_and_not_where_it_lies(
    served: tuple[str, Desk], page: Page
) -> None:
    address, desk = served
    desk.runs["toy"] = {"saved": "1", "path": f"/runs/toy/checkpoints/{'0' * 200}"}
    page.goto(address)
    expect(page.locator("#strip .place")).to_have_text("Its model can be chosen in Explore")


def test_a_line_that_was_hidden_stays_hidden_while_its_run_is_followed(served: tuple[str, Desk], page: Page) -> None:
    address, desk = served
    page.goto(address)
    expect(page.locator("#strip .words")).to_contain_text("step")
    page.get_by_role("button", name="Hide this line").click()
    before = step_on(page)
    eventually(page, lambda: step_on(page) > before, seconds=30)
    expect(page.locator("#strip .lab")).to_be_hidden()
    desk.runs["toy"] = {"status": "failed", **ENDED}
    expect(page.locator("#strip .words")).to_be_visible()  # an end is news


def test_a_page_that_nobody_looks_at_asks_only_while_a_run_is_at_work_and_catches_up_at_once(
    served: tuple[str, Desk], page: Page
) -> None:
    address, desk = served
    page.clock.install()
    page.goto(address)
    expect(page.locator("#strip .words")).to_contain_text("step")
    page.evaluate("look(false)")
    title = page.title()
    desk.step += 100
    page.clock.run_for("00:10")
    expect(page).not_to_have_title(title)
    desk.runs["toy"] = {"status": "stopped", **ENDED}
    page.clock.run_for("00:10")
    expect(page).to_have_title("toy stopped – strip")
    asked = desk.asked
    page.clock.run_for("10:00")
    page.wait_for_timeout(200)
    assert desk.asked == asked
    desk.runs["toy"] = {}
    page.evaluate("look(true)")
    expect(page.locator("#strip .words")).to_contain_text("training", timeout=1500)


def test_the_end_of_a_run_is_told_by_title_icon_notification_and_a_message(
    served: tuple[str, Desk], page: Page
) -> None:
    address, desk = served
    desk.runs["toy"] = {"step": 370}
    desk.runs["other"] = {"status": "waiting", "step": 0}
    page.goto(f"{address}?runs=other,toy")
    expect(page).to_have_title("… · 37% – strip")
    assert 'stroke-dasharray="18.5 100"' in icon(page)
    box = page.get_by_role("checkbox", name="Notify me when it is done")
    expect(box).not_to_be_checked()
    sound = page.get_by_role("checkbox", name="Play a sound")
    expect(sound).not_to_be_checked()
    assert page.evaluate("window.asked") == 0, "no permission is asked for before the press"
    box.press("Space")
    eventually(page, lambda: page.evaluate("window.asked") == 1)
    sound.press("Space")
    assert page.evaluate("window.played") == 1
    page.reload()
    expect(box).to_be_checked()
    expect(box).to_be_visible()
    assert complaints(page, "strip") == []

    page.evaluate("look(false)")
    desk.runs["toy"] = {"status": "failed", "message": "The loss is NaN.", **ENDED}
    expect(page).to_have_title("toy failed – strip")
    assert "#be123c" in icon(page)
    words = "Your run toy failed 12 minutes ago. The loss is NaN. MLM accuracy 34.2%. Its model is in /runs/toy/model."
    assert page.evaluate("[window.told, window.played]") == [[["toy failed", words, "toy"]], 1]
    expect(page.locator("#strip [data-status=failed] .words")).to_have_text(words)
    expect(page.get_by_role("status").filter(has_text="toy failed")).to_have_text(words)
    page.evaluate("look(true)")
    page.mouse.move(100, 300)
    page.mouse.move(120, 300)
    expect(page).to_have_title("… – strip")

    desk.runs["other"] = {"status": "finished", **ENDED, "path": ""}
    words = page.locator("#strip [data-status=finished] .words")
    expect(words).to_contain_text("Your run other finished 12 minutes ago (step 2,000, 1 min 1 s). MLM accuracy 34.2%.")
    expect(words).to_contain_text("Its model can be chosen in Explore.")
    expect(page).to_have_title("other finished – strip")
    expect(box).to_be_hidden()
    page.reload()  # it has been told
    expect(words).to_contain_text("Your run other finished")
    expect(page).to_have_title("strip")
    assert page.evaluate("window.told") == []


def test_an_end_that_came_while_the_page_was_closed_is_told_by_the_next_one_in_its_language(
    served: tuple[str, Desk], page: Page
) -> None:
    address, desk = served
    page.goto(address)
    expect(page.locator("#strip .words")).to_contain_text("step")
    desk.runs["toy"] = {"status": "finished", **ENDED}
    page.goto(f"{address}?lang=de&runs=other")
    expect(page).to_have_title("toy ist fertig – strip")
    words = page.locator("#strip [data-status=finished] .words")
    expect(words).to_contain_text("Der Lauf toy ist vor 12 Minuten fertig geworden (Schritt 2.000, 1 min 1 s).")
    expect(words).to_contain_text("MLM accuracy 34.2%. Das Modell liegt in /runs/toy/model.")


@pytest.mark.parametrize(
    ("stub", "words"),
    [
        ("window.Notification.requestPermission = async () => 'denied'", "The browser refuses notifications"),
        ("delete window.Notification", "The browser refuses notifications from this page. The title of its tab shows"),
        ("Object.defineProperty(window, 'isSecureContext', { value: delete window.Notification && 0 })", "need HTTPS"),
    ],
)
def test_where_there_are_no_notifications_the_page_says_what_happens_instead(
    served: tuple[str, Desk], page: Page, stub: str, words: str
) -> None:
    page.goto(served[0])
    page.evaluate(f"() => {{ {stub}; }}")
    box = page.get_by_role("checkbox", name="Notify me when it is done")
    box.click()
    expect(page.locator("#strip .notices [role=status]")).to_contain_text(words)
    expect(box).not_to_be_checked()
    expect(page.locator("#strip")).to_contain_text("step")
