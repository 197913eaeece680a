"""The loss chart on runs that fine-tune: panels, trials, words, files."""

import csv
import json
import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.training.curves import live_payload, replay_payload
from bertviz_lab.ui.components.assemble import source
from tests.browser import eventually
from tests.ui.components.harness import Desk, ending, events
from tests.ui.components.tuned import task_events

Feed = Callable[[str, str], None]
Visit = Callable[..., Page]
PARTS = ["loss"]
SEEDS = ("seed 0", "seed 1", "seed 2")


def done(task: str, *names: str) -> list[dict[str, object]]:
    return [row for row in task_events(task, names) if row["event"] == "TrialDone"]


def has_panels(page: Page, *names: str) -> None:
    """Wait until these are shown and no others: they appear with the rows that they draw."""
    shown = (
        "() => [...document.querySelectorAll('#loss .panels .panel:not([hidden])')].map(panel => panel.dataset.panel)"
    )
    eventually(page, lambda: page.evaluate(shown) == list(names))


def saved(page: Page, kind: str) -> str:
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Save the curves as {kind}").click()
    return Path(waiting.value.path()).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("task", "title", "now"),
    [
        ("classification", "Score: accuracy", r"^79\.\d%$"),
        ("regression", "Score: Spearman, Pearson", r"^Spearman 0\.29\d"),
        ("tokens", "Score: F1 of entities", r"^79\.\d%$"),
        ("qa", "Score: F1 of answers, exact match", r"^F1 of answers 79\.\d%"),
    ],
)
def test_each_task_has_a_panel_for_its_loss_and_one_for_its_score(
    visit: Visit, feed: Feed, task: str, title: str, now: str
):
    page = visit()
    feed("loss", replay_payload([*task_events(task), ending(120)], "A run"))
    expect(page.locator('#loss [data-panel="score"] .heading')).to_have_text(title)
    has_panels(page, "loss", "score")
    expect(page.locator('#loss [data-panel="score"] .now')).to_have_text(re.compile(now))
    expect(page.locator('#loss [data-panel="loss"] .top')).to_have_attribute(
        "aria-label", re.compile(r"Baselines: .* 0\.690")
    )
    expect(page.locator("#loss .state")).to_contain_text("Best on held-out examples: ")


def test_labels_that_mark_no_entities_are_judged_by_words(visit: Visit, feed: Feed):
    page = visit()
    rows = [{key: value for key, value in row.items() if key != "f1"} for row in task_events("tokens")]
    feed("loss", replay_payload(rows))
    expect(page.locator('#loss [data-panel="score"] .heading')).to_have_text("Score: accuracy")


def test_the_words_follow_a_run_of_several_seeds_to_its_end(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    desk.runs["r1"], desk.states["r1"] = task_events("classification", SEEDS, until=200), {"status": "training"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Fine-tuning: seed 1 (2 of 3), step 80 of 120")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "56")
    ends = [row["accuracy"] for row in done("classification", *SEEDS)]
    state = page.locator("#loss .state")
    expect(state).to_contain_text(f"Best so far on held-out examples: accuracy {100 * ends[0]:.1f}% (seed 0)")
    expect(page.locator("#loss [role=status]").last).to_contain_text(
        re.compile(r"step 80 of 120; loss \d\.\d+, held-out accuracy")
    )
    desk.runs["r1"] = [*task_events("classification", SEEDS), ending(360)]
    desk.states["r1"] = {"status": "finished"}
    expect(page.locator("#loss .stage")).to_have_text("Finished: 360 steps in 43 s")
    expect(state).to_contain_text(
        f"Best on held-out examples: accuracy {100 * max(ends):.1f}% (seed 2); majority-class baseline: 51.0%."
    )
    mean, spread = 100 * np.mean(ends), 100 * np.std(ends, ddof=1)
    expect(state).to_contain_text(f"Over 3 seeds: mean {mean:.1f}%, standard deviation {spread:.1f} points")
    expect(page.locator("#loss ol li")).to_have_text([f"seed {n}: accuracy {100 * ends[n]:.1f}%" for n in range(3)])


def test_random_weights_are_set_beside_the_run_and_are_not_its_best(visit: Visit, feed: Feed):
    page = visit()
    ends = [row["accuracy"] for row in done("classification", "", "random weights")]
    feed("loss", replay_payload(task_events("classification", ("", "random weights"), until=200)))
    expect(page.locator("#loss .stage")).to_have_text("Fine-tuning: random weights (2 of 2), step 80 of 120")
    feed("loss", replay_payload([*task_events("classification", ("", "random weights")), ending(240)]))
    expect(page.locator("#loss .state")).to_contain_text(
        f"Best on held-out examples: accuracy {100 * ends[0]:.1f}% (pretrained weights); "
        f"random weights: {100 * ends[1]:.1f}%; majority-class baseline: 51.0%."
    )


def test_one_trial_has_no_name_and_no_lines(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload(task_events("classification", until=70)))
    expect(page.locator("#loss .stage")).to_have_text("Fine-tuning: step 70 of 120")
    expect(page.locator("#loss .state")).not_to_contain_text("seed")
    expect(page.locator("#loss .legend")).to_contain_text("held-out examples")
    for part in (page.locator("#loss .upright"), page.locator("#loss ol")):
        expect(part).to_be_hidden()


def test_trials_begin_at_lines_that_are_drawn(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload([*task_events("classification", SEEDS), ending(360)]))
    expect(page.locator("#loss .upright")).to_be_visible()
    page.wait_for_timeout(200)
    # A column of pixels that is painted from top to foot is a line.
    script = """() => {
      const canvas = document.querySelector('#loss [data-panel="score"] .base');
      const ratio = canvas.width / canvas.clientWidth;
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      const [top, foot] = [14 * ratio, canvas.height - 40 * ratio];
      const full = [];
      for (let x = 0; x < canvas.width; x += 1) {
        let painted = true;
        for (let y = Math.ceil(top); y < foot && painted; y += 1) painted = data[4 * (y * canvas.width + x) + 3] > 40;
        if (painted) full.push(x / ratio);
      }
      return [full, canvas.clientWidth];
    }"""
    full, width = page.evaluate(script)
    wanted = [44 + (width - 54) * share for share in (0, 1 / 3, 2 / 3)]
    assert all(min(abs(at - want) for at in full) < 1.6 for want in wanted)
    assert all(min(abs(at - want) for want in wanted) < 1.6 for at in full)


def test_a_reading_names_its_trial_and_its_measures(visit: Visit, feed: Feed):
    page = visit()
    rows = [row for row in task_events("classification", SEEDS) if row["event"] == "StepDone"]
    feed("loss", replay_payload(task_events("classification", SEEDS)))
    page.locator('#loss [data-panel="loss"] .top').focus()
    readout = page.locator("#loss .readout")
    page.keyboard.press("End")
    last = rows[-1]
    expect(readout).to_have_text(
        f"seed 2 · step 360 · 36 s · 180k tokens · loss {last['loss']:.3f} · accuracy {100 * last['accuracy']:.1f}%"
    )
    page.keyboard.press("Home")
    expect(readout).to_contain_text("seed 0 · step 1 ·")


def test_files_carry_every_field_of_every_event(visit: Visit, feed: Feed):
    page = visit()
    rows = task_events("regression", ("seed 0", "random weights"))
    feed("loss", replay_payload([*rows, ending(240)]))
    expect(page.locator("#loss .panels")).to_be_visible()
    lines = list(csv.DictReader(saved(page, "CSV").splitlines()))
    kinds = [line["kind"] for line in lines]
    assert kinds == ["training"] * 240 + ["held-out"] * 8 + ["best of trial"] * 2
    assert [lines[at]["trial"] for at in (0, 119, 120, 239, 243, 244)] == [
        "seed 0", "seed 0", "random weights", "random weights", "seed 0", "random weights"]  # fmt: skip
    (best,) = [row for row in rows if row["event"] == "TrialDone" and row["trial"] == 1]
    assert {name: float(lines[-1][name]) for name in ("spearman", "pearson", "mse", "best_step")} == {
        name: best[name] for name in ("spearman", "pearson", "mse", "best_step")
    }
    body = json.loads(saved(page, "JSON"))
    assert body["started"]["objective"] == "regression"
    assert len(body["rows"]) == len(lines)
    assert body["rows"][240]["kind"] == "held-out"
    assert "mlm_loss" not in body["rows"][0]


def test_correlations_below_nothing_are_on_the_picture(visit: Visit, feed: Feed):
    page = visit()
    rows = [row | {"spearman": -0.4, "pearson": -0.5} if row["event"] in ("EvalDone", "TrialDone") else row
            for row in task_events("regression")]  # fmt: skip
    feed("loss", replay_payload([*rows, ending(120)]))
    expect(page.locator('#loss [data-panel="score"] .now')).to_have_text(re.compile("Spearman -0.400"))
    expect(page.locator("#loss .state")).to_contain_text("Spearman -0.400")
    script = f"""() => {{
      const svg = null; let element = document.createElement('div');
      {"".join(source(name) for name in ("loss_panels.js", "loss_data.js", "loss_trials.js", "loss_draw.js"))}
      const log = makeLog();
      for (const row of {json.dumps(rows)}) log.fold(row);
      const plan = planPanel(panelsOf(log)[1], log, {{axis: 'step', logY: false, smooth: true}}, 400, 230);
      return [plan.low, plan.y(-0.5), plan.frame.bottom];
    }}"""
    low, foot, bottom = page.evaluate(script)
    assert -1 <= low < -0.5
    assert foot < bottom


def test_a_resumed_run_forgets_what_is_trained_anew_and_knows_its_trials(visit: Visit, feed: Feed):
    page = visit()
    rows = task_events("classification", SEEDS[:2])
    start = rows[0] | {"step": 150}
    trial = {"event": "TrialStarted", "trial": 1, "trials": 2, "name": "seed 1", "step": 120, "total_steps": 120}
    again = [row for row in rows if row["step"] > 150]
    before = [row for row in rows if row["step"] <= 180]
    feed("loss", replay_payload([*before, start, trial, *again, ending(240)]))
    expect(page.locator("#loss .stage")).to_have_text("Finished: 240 steps in 29 s")
    lines = list(csv.DictReader(saved(page, "CSV").splitlines()))
    assert [int(line["step"]) for line in lines if line["kind"] == "training"] == list(range(1, 241))
    assert [int(line["step"]) for line in lines if line["kind"] == "held-out"] == list(range(30, 241, 30))
    expect(page.locator("#loss ol li")).to_have_count(2)


def test_scores_at_the_step_where_trials_meet_are_both_kept(visit: Visit, feed: Feed):
    page = visit()
    rows = task_events("classification", SEEDS[:2], steps=40)
    at = next(place for place, row in enumerate(rows) if row["event"] == "TrialStarted" and row["trial"] == 1)
    rows.insert(at + 1, {"event": "EvalDone", "step": 40, "seconds": 4.0, "tokens": 1, "accuracy": 0.5, "loss": 0.7})
    feed("loss", replay_payload([*rows, ending(80)]))
    expect(page.locator("#loss .panels")).to_be_visible()
    lines = [line for line in csv.DictReader(saved(page, "CSV").splitlines()) if line["kind"] == "held-out"]
    assert [line["trial"] for line in lines if line["step"] == "40"] == ["seed 0", "seed 1"]


def test_pretraining_after_a_task_has_its_three_panels_again(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload([*task_events("qa"), ending(120)]))
    expect(page.locator('#loss [data-panel="score"]')).to_be_visible()
    feed("loss", replay_payload([*events(60), ending(60)]))
    expect(page.locator('#loss [data-panel="mlm"]')).to_be_visible()
    has_panels(page, "mlm", "nsp", "accuracy")
    expect(page.locator("#loss .legend")).to_contain_text("held-out text")


def test_smoothing_begins_anew_with_each_part(page: Page):
    script = f"""() => {{ {source("loss_data.js")};
      return [...smoothed(Float64Array.from([4, 4, 4, 1, 1, NaN]), 6, [[0, 3], [3, 6]])]; }}"""
    *values, gap = page.evaluate(script)
    assert values == pytest.approx([4, 4, 4, 1, 1])
    assert math.isnan(gap)


def test_a_trial_name_is_only_text(visit: Visit, feed: Feed):
    page = visit()
    name = "<img src=x onerror=window.hacked=1>"
    feed("loss", replay_payload([*task_events("classification", (name, "b")), ending(240)]))
    expect(page.locator("#loss ol li").first).to_contain_text(name)
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("names", [("a", "b"), tuple(f"learning rate {n}e-05, batch 16, epochs 4" for n in range(12))])
def test_a_phone_is_wide_enough(visit: Visit, feed: Feed, names: tuple[str, ...]):
    page = visit(width=400)
    feed("loss", replay_payload([*task_events("classification", names, steps=40), ending(40 * len(names))]))
    expect(page.locator("#loss ol li")).to_have_count(len(names))
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
