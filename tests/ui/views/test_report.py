"""A run as one page: it opens from a disk, draws all its parts, and text of people is never markup."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab import InputError
from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.publish.report import report_of_folder, run_report
from tests.ui.components.harness import HOSTILE, ending, events
from tests.ui.snapshots import STEPS, little_history
from tests.ui.state.test_models import RUN, make_run


def test_a_run_is_drawn_from_one_file_on_a_phone_too(settings: Settings, tmp_path: Path, page: Page) -> None:
    little_history(settings.checkpoints / "little")
    rows = [*events(60), ending(60)]
    rows[1] |= {"notes": list(HOSTILE)}
    rows += [{"event": "ProbesDone", "step": step, "probes": "english", "right": {"article": 0.5}} for step in (1, 60)]
    log = "".join(json.dumps(row) + "\n" for row in rows)
    (settings.checkpoints / "little" / "training.jsonl").write_text(log, encoding="utf-8")
    written = run_report(AppState(settings), NOBODY, "little")
    assert len(written.encode()) < 3_000_000
    file = tmp_path / "report.html"
    file.write_text(written, encoding="utf-8")
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(file.as_uri())
    parts = [
        "Summary",
        "Learning curves",
        "Probes",
        "Training dynamics: predictions at some steps",
        "Sample predictions",
    ]
    expect(page.get_by_role("heading", level=2)).to_have_text(parts)
    expect(page.get_by_role("row", name="Tokens seen")).to_contain_text("245,760")
    expect(page.locator(".draw-loss .stage")).to_have_text("Finished: 60 steps in 7 s")
    expect(page.locator(".draw-loss .notes li")).to_have_text(list(HOSTILE))
    expect(page.locator(".draw-loss .main-svg").first).to_be_attached()
    expect(page.locator(".draw-chart .main-svg").first).to_be_attached()
    expect(page.locator(".draw-fill .blanks").first).to_contain_text("%")
    steps = page.locator("section", has_text="Training dynamics").locator("tbody th")
    expect(steps).to_have_text([*map(str, STEPS), "60"])
    assert page.evaluate("[document.documentElement.scrollWidth, window.hacked]") == [400, None]


def test_a_page_that_is_shared_writes_the_reports_of_a_visitor_s_own_runs_only(settings: Settings) -> None:
    make_run(AppState(settings))
    shared = AppState(replace(settings, limits=Limits.of(shared=True)))
    with pytest.raises(InputError, match="another browser, which alone saves it as a page"):
        run_report(shared, NOBODY, RUN)


def test_a_folder_without_a_run_or_a_log_has_no_report(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no run in"):
        report_of_folder(tmp_path)
    with pytest.raises(InputError, match="This run has not started yet"):
        report_of_folder(make_run(AppState(settings), model=False))
