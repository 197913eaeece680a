"""Nothing jumps while a workspace opens and its first answers come."""

import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.forecast import Forecaster
from tests.browser import at_rest
from tests.ui.pages import MEASURED, Served, serve

MOST = 0.05  # cumulative layout shift; up to 0.1 counts as good (web.dev/cls)
WATCH = """
window.shifts = [];
new PerformanceObserver((list) => list.getEntries().filter(({ hadRecentInput }) => !hadRecentInput)
  .forEach(({ value, sources }) => window.shifts.push([value, sources.map(({ node, previousRect, currentRect }) =>
    `${(node?.outerHTML ?? node?.textContent ?? '').slice(0, 90)} ${previousRect.y} -> ${currentRect.y}`)]))
).observe({ type: 'layout-shift', buffered: true });
"""
#: What is there when the first answers of a workspace have come.
ANSWERED = {
    "explore": ("#fill-bars .candidate", "#attention-grid .map canvas"),
    "train": ("#text-health .verdict", "#forecast .fact", "#pretrain-chart .plotly-host svg"),
    "runs": ("#runs-table .name", "#run-chart .plotly-host svg"),
    "learn": ("#lessons .choice",),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page with the models that come with the lab."""
    MEASURED.clear()  # a page jumps, if it does, when an answer comes late
    with serve(Settings(runs_dir=tmp_path_factory.mktemp("shift"))) as served:
        yield served


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (400, 800)])
@pytest.mark.parametrize("space", ANSWERED)
def test_nothing_jumps_while_a_workspace_opens(page: Page, served: Served, space: str, width: int, height: int) -> None:
    page.add_init_script(WATCH)
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{served[0]}?space={space}")
    for answer in ANSWERED[space][: None if width > height else 1]:  # on a phone the others are below the window
        expect(page.locator(answer).first).to_be_visible(timeout=60_000)
    at_rest(page)
    shifts = page.evaluate("() => window.shifts")
    assert sum(value for value, _ in shifts) < MOST, sorted(shifts, key=lambda shift: -shift[0])[:6]


def test_a_run_can_be_started_while_its_speed_is_measured(
    page: Page, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = threading.Event()
    monkeypatch.setattr(Forecaster, "_speed", lambda *_: 1000.0 if measured.wait(60) else 0.0)
    page.goto(f"{served[0]}?space=train")
    expect(page.locator("#text-health .verdict")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()
    expect(page.locator("#forecast")).to_have_text("Measuring how fast this machine trains …")
    measured.set()
    expect(page.locator("#forecast .fact").nth(1)).to_contain_text("about 1,000 tokens a second")
