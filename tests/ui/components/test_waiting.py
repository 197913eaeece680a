"""A run that waits for its turn, as the loss chart tells it."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from bertviz_lab.figures.training.curves import live_payload
from tests.ui.components.harness import Desk, events

PARTS = ["loss"]


def test_a_run_that_waits_tells_its_place_in_line(
    visit: Callable[..., Page], feed: Callable[[str, str], None], desk: Desk
):
    page = visit()
    desk.runs["r1"] = []
    desk.states["r1"] = {"status": "waiting", "message": "One other run is ahead in the queue."}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Queued")
    expect(page.locator("#loss .state")).to_contain_text("One other run is ahead in the queue.")
    desk.runs["r1"], desk.states["r1"] = events(60), {"status": "training"}
    expect(page.locator("#loss .stage")).to_contain_text("Training: step 60 of 500")
