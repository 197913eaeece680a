"""The minimal-pair probes under the loss chart: a line for each kind, live, replayed and saved."""

import csv
import io
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.data.probes import PROBES
from bertviz_lab.figures.training.curves import live_payload, replay_payload
from tests.ui.components.harness import Desk, ending, events
from tests.ui.components.test_accessibility import complaints

Feed = Callable[[str, str], None]
Visit = Callable[..., Page]
PARTS = ["loss"]
KINDS = PROBES["english"].kinds
STEPS = (0, 1, 2, 5, 10, 20, 50, 100, 200)


def done(step: int, **right: float) -> dict[str, Any]:
    """One evaluation of the probes: every kind is at chance but for those named."""
    shares = dict.fromkeys(KINDS, 0.5) | right
    return {"event": "ProbesDone", "step": step, "seconds": 0.1 * step, "tokens": 9 * step, "probes": "english",
            "right": shares}  # fmt: skip


def learning(steps: int = 200, **at: float) -> list[dict[str, Any]]:
    """A run that learns some kinds: those named are passed from a step on."""
    probes = [done(step, **{kind: 0.92 for kind, since in at.items() if step >= since}) for step in STEPS]
    rows = [*events(steps), *(row for row in probes if row["step"] <= steps)]
    return sorted(rows, key=lambda row: (row.get("step", -1), row["event"] != "StepDone"))


def line(page: Page, kind: str) -> Any:
    return page.locator(f'#loss .abilities [data-kind="{kind}"]')


def saved(page: Page, name: str) -> bytes:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Save the curves as {name}").click()
    return Path(waiting.value.path()).read_bytes()


def test_passed_probes_are_told_from_those_not_passed_yet(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload([*learning(article=20), ending(200)]))
    article = line(page, "article")
    expect(article).to_contain_text("passes article choice (a/an)")
    expect(article.locator(".share")).to_have_text("92%")
    expect(line(page, "tense")).to_contain_text("not yet: tense (yesterday, tomorrow)")
    expect(page.locator("#loss .abilities li")).to_have_count(len(KINDS))
    expect(page.locator("#loss .abilities .bar")).to_contain_text("Minimal-pair probes")
    expect(page.locator("#loss .abilities .bar")).to_contain_text("at step 200")


def test_a_probe_is_passed_in_the_last_two_evaluations(visit: Visit, feed: Feed):
    page = visit()
    rows = learning(article=200, tense=100)
    feed("loss", replay_payload(rows))
    expect(line(page, "article")).to_contain_text("not yet")
    expect(line(page, "tense")).to_contain_text("passes")
    expect(line(page, "tense")).to_have_attribute("title", re.compile("last two evaluations"))
    feed("loss", replay_payload([*rows, done(210, article=0.79, tense=0.8)]))
    expect(page.locator("#loss .abilities .bar")).to_contain_text("at step 210")
    expect(line(page, "article")).to_contain_text("not yet")
    expect(line(page, "tense")).to_contain_text("passes")


def test_chance_is_drawn_in_every_line_and_told(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload(learning(article=20)))
    expect(page.locator("#loss .abilities .chance")).to_have_count(len(KINDS))
    middle = page.locator("#loss .abilities .chance").first
    assert (
        float(middle.get_attribute("y1") or 0) == float(page.locator("#loss .spark").first.get_attribute("height")) / 2
    )
    expect(line(page, "article").locator(".hush")).to_have_text(
        ": 92% of the pairs correct; 50% at step 0; chance is 50%"
    )
    expect(page.locator("#loss .abilities .rule")).to_contain_text("chance, 50%")


def test_the_lines_follow_a_run(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    rows = learning(article=20)
    first = next(place for place, row in enumerate(rows) if row.get("step") == 21)
    desk.runs["r1"], desk.states["r1"] = rows[:first], {"status": "training"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .abilities .bar")).to_contain_text("at step 20")
    expect(line(page, "article")).to_contain_text("not yet")
    desk.runs["r1"] = rows
    expect(line(page, "article")).to_contain_text("passes")
    points = (line(page, "article").locator("polyline").get_attribute("points") or "").split()
    assert len(points) == len(STEPS)
    places = [float(point.split(",")[0]) for point in points]
    assert places == sorted(places)


def test_a_resumed_run_forgets_the_probe_results_after_its_checkpoint(visit: Visit, feed: Feed):
    page = visit()
    rows = learning(article=20)
    again = [{**rows[1], "step": 60}, done(100), done(200)]
    feed("loss", replay_payload([*rows, *again]))
    expect(line(page, "article")).to_contain_text("not yet")
    points = (line(page, "article").locator("polyline").get_attribute("points") or "").split()
    assert len(points) == len(STEPS)


def test_a_run_without_probes_has_no_probe_lines(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload(learning(article=20)))
    expect(page.locator("#loss .abilities")).to_be_visible()
    feed("loss", replay_payload([*events(50), ending(50)]))
    expect(page.locator("#loss .abilities")).to_be_hidden()
    assert "right_" not in saved(page, "CSV").decode()


def test_probes_that_the_page_has_no_title_for_keep_their_names(visit: Visit, feed: Feed):
    page = visit()
    row = done(5) | {"probes": "of a later version", "right": {"double_object": 0.5, "<b>bold</b>": 1.0}}
    feed("loss", replay_payload([*events(5), row]))
    expect(line(page, "double_object")).to_contain_text("not yet: double object")
    expect(page.locator("#loss .abilities")).to_contain_text("<b>bold</b>")


def test_a_screen_reader_hears_how_many_probes_are_passed(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    desk.runs["r1"], desk.states["r1"] = learning(article=20, tense=5), {"status": "training"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss [role=status]").last).to_contain_text(f"passes 2 of {len(KINDS)} probes")


def test_probe_results_are_saved_with_the_curves(visit: Visit, feed: Feed):
    page = visit()
    rows = learning(article=20)
    feed("loss", replay_payload(events(200)))
    expect(page.locator("#loss .panels")).to_be_visible()
    without = struct.unpack(">II", saved(page, "PNG")[16:24])
    feed("loss", replay_payload(rows))
    expect(page.locator("#loss .abilities")).to_be_visible()
    told = [row for row in csv.DictReader(io.StringIO(saved(page, "CSV").decode())) if row["kind"] == "probes"]
    assert [int(row["step"]) for row in told] == list(STEPS)
    assert [float(row["right_article"]) for row in told] == [0.5] * 5 + [0.92] * 4
    assert told[0]["mlm_loss"] == ""
    with_lines = struct.unpack(">II", saved(page, "PNG")[16:24])
    assert with_lines[0] == without[0]
    assert with_lines[1] > without[1], "the picture has the lines too"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing_and_nothing_is_cut_off(visit: Visit, feed: Feed, theme: str, width: int):
    page = visit(theme, width)
    page.emulate_media(reduced_motion="reduce")
    feed("loss", replay_payload([*learning(article=20), ending(200)], "A run"))
    expect(page.locator("#loss .abilities")).to_be_visible()
    assert complaints(page, "loss") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lines = "[...document.querySelectorAll('#loss .abilities li')]"
    assert page.evaluate(f"{lines}.every(line => line.scrollWidth <= line.clientWidth + 1)")
