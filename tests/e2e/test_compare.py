"""The ablation study and runs compared, with real mouse and keyboard."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from bertviz_lab.config import ABLATIONS, ablated
from bertviz_lab.config.ablations import WHOLE
from bertviz_lab.jobs.new_run import short_name
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.runs.run_folder import RunState, write_state
from tests.browser import PageLog, complaints, eventually, in_menu, reload
from tests.ui.pages import Served, little_settings, serve
from tests.ui.state.test_models import make_run

TRAINING = 120_000  # milliseconds until two short runs on a busy machine have ended


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = little_settings(tmp_path_factory.mktemp("compare"))
    log = [{"event": "RunStarted", "step": 0, "objective": "mlm+nsp", "parameters": 1000}]
    for step in range(1, 6):
        log.append({"event": "StepDone", "step": step, "seconds": step, "tokens": 9 * step, "mlm_accuracy": 0.1 * step})
        log.append({"event": "EvalDone", "step": step, "seconds": step, "tokens": 9 * step, "mlm_accuracy": 0.1 * step})
    text = "".join(json.dumps(row) + "\n" for row in log)
    (settings.checkpoints / "little" / "training.jsonl").write_text(text, encoding="utf-8")
    with serve(settings) as served:
        yield served


def open_ablations(page: Page, address: str) -> None:
    page.goto(f"{address}?space=runs&runs.open=ablation")
    expect(page.locator("#ablation-cards .card")).to_have_count(len(ABLATIONS))


def card(page: Page, name: str) -> Locator:
    return page.locator(f"#ablation-cards .card[data-name={name}]")


def test_an_ablation_is_queued_predicted_and_revealed(page: Page, page_log: PageLog, served: Served) -> None:
    address, session = served
    open_ablations(page, address)
    # A model that ships is there to be looked at before anybody has trained.
    page.locator("#tab-compare").click()
    expect(page.locator("#compare-runs table")).to_contain_text("50.0%")
    page.locator("#tab-ablation").click()
    page.locator("#ablation-settings summary").click()
    steps = page.locator("#ablation-steps")
    expect(steps).to_have_value("2000")
    steps.fill("25")
    steps.press("Tab")
    expect(page.locator("#ablation-cards")).to_contain_text("25 steps on Tiny Town")
    for name in ABLATIONS:
        card(page, name).get_by_role("checkbox").set_checked(name == "one-layer")
    page.get_by_role("button", name="Train the full recipe and 1 ablation").click()
    one = card(page, "one-layer")
    expect(one.locator(".state")).to_contain_text(
        re.compile("queued|starting|preparing|training|finished", re.IGNORECASE)
    )
    expect(one.get_by_role("button", name="Reveal")).to_be_disabled()
    for group in one.get_by_role("radiogroup").all():
        group.locator("label", has_text="worse").click()
    expect(one.get_by_role("button", name="Reveal")).to_be_enabled(timeout=TRAINING)
    one.get_by_role("button", name="Reveal").click()
    outcome = one.locator(".outcome")
    expect(outcome).to_contain_text(re.compile(r"MLM accuracy: \d+\.\d%"))
    expect(outcome).to_contain_text(re.compile("Your prediction was right|You predicted: worse"))
    expect(outcome).to_contain_text("one seed")
    runs = {session.runs.config(run).layers: run for run in session.runs.ids()}
    assert set(runs) == {None, 1}
    score = [row for row in session.runs.events(runs[1])[0] if row["event"] == "EvalDone"][-1]["mlm_accuracy"]
    full = [row for row in session.runs.events(runs[None])[0] if row["event"] == "EvalDone"][-1]["mlm_accuracy"]
    expect(outcome).to_contain_text(f"MLM accuracy: {score:.1%}, {full:.1%} with the full recipe")

    # It is all there after a reload: what was trained, what was predicted, what came of it.
    reload(page, page_log)
    expect(card(page, "one-layer").locator(".outcome")).to_contain_text("one seed")
    assert page_log.outside == []

    # Their curves, beside each other.
    page.get_by_role("button", name="Compare their curves").click()
    table = page.locator("#compare-runs .scroll table")
    expect(table).to_contain_text("Layers")
    expect(page.locator("#compare-chosen button")).to_have_count(2)
    eventually(page, lambda: "compare.runs=" in page.url)
    expect(table).to_contain_text("MLM accuracy")
    expect(table).to_contain_text(f"{100 * score:.1f}%")
    expect(page.locator("#compare-runs .plotly-host .legendtext")).to_have_count(2)
    page.locator("#compare-runs details.table summary").click()
    rows = page.locator("#compare-runs .numbers tbody tr", has_text="held-out")
    expect(rows.first).to_contain_text(f"{100 * score:.1f}%" if "One layer" in rows.first.inner_text() else "%")
    page.locator("#compare-runs").get_by_role("radio", name="time").check()
    expect(page.locator("#compare-runs .plotly-host .xtitle")).to_contain_text("time")
    expect(page.locator("#compare-probes .plotly-host")).to_contain_text("chance")
    with page.expect_download() as waiting:
        in_menu(page.locator("#compare-runs [data-save=csv]").first).click()
    assert "held-out" in waiting.value.path().read_text(encoding="utf-8")

    # One question to both.
    page.locator("#compare-ask summary").first.click()
    expect(page.locator("#compare-text-a")).not_to_have_value("")  # an example to begin with
    page.locator("#compare-text-a").fill("The [MASK] is red.")
    page.locator("#compare-text-b").fill("Ben likes it.")
    page.locator("#compare-predict").click()
    expect(page.locator("#compare-fills")).to_contain_text("One layer")
    expect(page.locator("#compare-follows")).to_contain_text("One layer")
    expect(page.locator("#compare-heads canvas")).to_have_count(4 + 2)


def test_runs_that_are_ticked_are_compared(page: Page, served: Served) -> None:
    address, session = served
    runs = [f"{name}-0123456789abcdef" for name in ("brave-owl", "quick-hare", "warm-wren")]
    for run_id in runs:
        make_run(session, run_id, model=False)
    page.goto(f"{address}?space=runs")
    chosen = page.locator("#compare-chosen button")
    for count, run_id in enumerate(runs, 1):
        page.get_by_role("checkbox", name=f"Compare {short_name(run_id)}").press("Space")
        if count > 1:
            expect(chosen).to_have_text([f"{short_name(name)} ×" for name in runs[:count]])
    chosen.first.click()
    expect(page.get_by_role("checkbox", name=f"Compare {short_name(runs[0])}")).not_to_be_checked()
    for run_id in runs:
        session.runs.delete(run_id)


def test_nothing_that_a_person_does_breaks_the_page(page: Page, served: Served) -> None:
    address, session = served
    run_id = "calm-otter-0123456789abcdef"  # a run that was stopped
    folder = session.runs.root / run_id
    folder.mkdir(parents=True)
    write_state(folder, RunState("stopped", message="<img src=x onerror='window.hacked=1'>"))
    write_json(folder / "config.json", ablated(WHOLE, steps=999).to_dict())
    page.goto(f"{address}?space=runs&runs.open=compare")
    page.locator("#compare-add").select_option(f"Full recipe ({short_name(run_id)})")
    expect(page.locator("#compare-runs table")).to_contain_text("stopped")
    # A run that is removed while it is looked at.
    folder.rename(folder.with_name("gone"))
    (folder.with_name("gone") / "config.json").unlink()
    for run in page.locator("#compare-chosen button").all()[:-1][::-1]:
        run.click()
        expect(page.locator("#compare-chosen button").last).to_be_focused()  # the next one
    expect(page.locator("#compare-runs")).to_contain_text("no longer here")
    page.locator("#compare-chosen button").click()
    expect(page.locator("#compare-add")).to_be_focused()
    expect(page.locator("#compare-runs")).to_contain_text("Choose one or more runs")
    page.locator("#compare-add").select_option("little (comes with the lab)")
    expect(page.locator("#compare-runs")).to_contain_text("50.0%")
    page.locator("#tab-ablation").click()
    page.locator("#ablation-settings summary").click()
    page.locator("#ablation-steps").fill("3")
    page.locator("#ablation-steps").press("Tab")
    expect(page.locator("#ablation-cards")).to_contain_text("must lie between 20 and")
    assert page.evaluate("() => window.hacked") is None


def test_everybody_can_read_it_on_any_screen(page: Page, served: Served, screen: str) -> None:
    page.goto(f"{served[0]}?space=runs&runs.open=compare&compare.ask=open&__theme={screen}")
    expect(page.locator("#compare-heads canvas")).to_have_count(4)
    assert complaints(page, "panel-compare") == []
    page.locator("#tab-ablation").click()
    expect(page.locator("#ablation-cards .card")).to_have_count(len(ABLATIONS))
    page.locator("#ablation-settings summary").click()
    assert complaints(page, "panel-ablation") == []
