"""The loss chart on runs that fine-tune: panels, trials, words, files."""

import json
import math
import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.training.curves import live_payload, replay_payload
from tests.browser import eventually
from tests.ui.components.harness import Desk, Feed, Visit, data_table, ending, saved
from tests.ui.components.test_loss_chart import saved_rows, traces
from tests.ui.components.tuned import task_events

PARTS = ["loss"]
SEEDS = ("seed 0", "seed 1", "seed 2")


def done(task: str, *names: str) -> list[dict[str, object]]:
    return [row for row in task_events(task, names) if row["event"] == "TrialDone"]


def has_panels(page: Page, *names: str) -> None:
    """Wait until these are shown and no others: they appear with the rows that they draw."""
    shown = """() => [...document.querySelectorAll('#loss .panels')[0].querySelectorAll('.panel:not([hidden])')]
        .map(panel => panel.dataset.panel)"""
    eventually(page, lambda: page.evaluate(shown) == list(names))


@pytest.mark.parametrize(
    ("task", "title", "now"),
    [
        ("classification", "Score: accuracy", r"79\.\d%$"),
        ("regression", "Score: Spearman, Pearson", r"Spearman 0\.29\d"),
        ("tokens", "Score: F1 of entities", r"79\.\d%$"),
        ("qa", "Score: F1 of answers, exact match", r"F1 of answers 79\.\d%"),
        ("words", "Score: accuracy", r"69\.\d%$"),  # labels that mark no entities
        ("unbalanced", "Score: macro F1, accuracy", r"macro F1 \d\d\.\d%"),  # classes
    ],
)
def test_each_task_has_a_panel_for_its_loss_and_one_for_its_score(visit: Visit, task: str, title: str, now: str):
    rows = task_events({"words": "tokens", "unbalanced": "classification"}.get(task, task))
    if task == "unbalanced":
        rows = [row | {"metric": "macro_f1", "macro_f1": row.get("accuracy")} for row in rows]
    if task == "words":
        rows = [{key: value for key, value in row.items() if key != "f1"} for row in rows]
    page = visit(loss=replay_payload([*rows, ending(120)], "A run"))
    expect(page.locator('#loss [data-panel="score"] .heading')).to_have_text(title)
    has_panels(page, "loss", "score")
    expect(page.locator('#loss [data-panel="score"] .now')).to_have_text(re.compile(f"^last evaluation:{now}"))
    label = re.compile(r"Baselines: .* 0\.690")
    expect(page.locator('#loss [data-panel="loss"] .curves')).to_have_attribute("aria-label", label)
    expect(page.locator("#loss .state")).to_contain_text("Best on held-out examples: ")


def test_the_words_follow_a_run_of_several_seeds_to_its_end(visit: Visit, desk: Desk):
    desk.run(task_events("classification", SEEDS, until=200), "training")
    page = visit(loss=live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Fine-tuning: seed 1 (2 of 3), step 80 of 120")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "56")
    ends = [row["accuracy"] for row in done("classification", *SEEDS)]
    state = page.locator("#loss .state")
    expect(state).to_contain_text(f"Best so far on held-out examples: accuracy {100 * ends[0]:.1f}% (seed 0)")
    expect(page.locator("#loss [role=status]").last).to_contain_text(
        re.compile(r"step 80 of 120; Loss \d\.\d+, held-out accuracy")
    )
    desk.runs["r1"] = [*task_events("classification", SEEDS), ending(360)]
    desk.states["r1"] = {"status": "finished"}
    expect(page.locator("#loss .stage")).to_have_text("Finished: 360 steps in 43 s")
    expect(state).to_contain_text(
        f"Best on held-out examples: accuracy {100 * max(ends):.1f}% (seed 2); majority-class baseline: 51.0%, "
        "exceeded since step "
    )
    mean, spread = 100 * np.mean(ends), 100 * np.std(ends, ddof=1)
    expect(state).to_contain_text(f"Over 3 seeds: mean {mean:.1f}%, standard deviation {spread:.1f} points")
    expect(page.locator("#loss ol li")).to_have_text([f"seed {n}: accuracy {100 * ends[n]:.1f}%" for n in range(3)])


def test_the_first_trial_of_a_run_that_got_further_seeds_has_its_name(visit: Visit):
    events = task_events("classification", SEEDS)
    (first,) = [row for row in events if row["event"] == "TrialStarted" and row["trial"] == 0]
    first |= {"name": "", "trials": 1}  # as it was when it was the only one
    page = visit(loss=replay_payload([*events, ending(360)]))
    expect(page.locator("#loss ol li")).to_contain_text([f"{name}: accuracy" for name in SEEDS])
    expect(page.locator("#loss .state")).to_contain_text("Over 3 seeds")


def test_random_weights_are_set_beside_the_run_and_are_not_its_best(visit: Visit, feed: Feed):
    ends = [row["accuracy"] for row in done("classification", "", "random weights")]
    page = visit(loss=replay_payload(task_events("classification", ("", "random weights"), until=200)))
    expect(page.locator("#loss .stage")).to_have_text("Fine-tuning: random weights (2 of 2), step 80 of 120")
    feed("loss", replay_payload([*task_events("classification", ("", "random weights")), ending(240)]))
    expect(page.locator("#loss .state")).to_contain_text(
        f"Best on held-out examples: accuracy {100 * ends[0]:.1f}% (pretrained weights); "
        f"random weights: {100 * ends[1]:.1f}%; majority-class baseline: 51.0%, "
        "exceeded since step 30."
    )


def test_trials_begin_at_lines_and_are_named_in_the_table(visit: Visit):
    events = task_events("classification", SEEDS)
    page = visit(loss=replay_payload([*events, ending(360)]))
    expect(page.locator("#loss .legend")).to_contain_text("a new trial begins")
    eventually(page, lambda: bool(traces(page, "score")))
    shapes = page.evaluate("document.querySelector('#loss [data-panel=score] .curves').layout.shapes")
    lines = [shape for shape in shapes if shape["x0"] == shape["x1"]]
    assert [(line["x0"], line["label"]["text"]) for line in lines] == list(zip((0, 120, 240), SEEDS, strict=True))
    # Curves of different trials are not joined.
    assert [math.isnan(x) for x in traces(page, "loss")["loss smoothed"]["x"]].count(True) == 3
    last = [row for row in events if row["event"] == "StepDone"][-1]
    newest = next(row for row in data_table(page.locator("#loss")) if row["kind"] == "training")
    expected = {
        "trial": "seed 2", "step": "360", "time": "36 s", "tokens seen": "180,000",
        "Loss": f"{last['loss']:.3f}", "Accuracy": f"{100 * last['accuracy']:.1f}%",
    }  # fmt: skip
    assert newest | expected == newest


def test_files_carry_every_field_of_every_event(visit: Visit):
    rows = task_events("regression", ("seed 0", "random weights"))
    page = visit(loss=replay_payload([*rows, ending(240)]))
    expect(page.locator("#loss .panels").first).to_be_visible()
    lines = saved_rows(page)
    kinds = [line["kind"] for line in lines]
    assert kinds == ["training"] * 240 + ["held-out"] * 8 + ["best of trial"] * 2
    assert [lines[at]["trial"] for at in (0, 119, 120, 239, 243, 244)] == [
        "seed 0", "seed 0", "random weights", "random weights", "seed 0", "random weights"]  # fmt: skip
    (best,) = [row for row in rows if row["event"] == "TrialDone" and row["trial"] == 1]
    assert {name: float(lines[-1][name]) for name in ("spearman", "pearson", "mse", "best_step")} == {
        name: best[name] for name in ("spearman", "pearson", "mse", "best_step")
    }
    body = json.loads(saved(page, "loss", "json"))
    assert body["started"]["objective"] == "regression"
    assert len(body["rows"]) == len(lines)
    assert body["rows"][240]["kind"] == "held-out"
    assert "mlm_loss" not in body["rows"][0]


NAMES = [("<img src=x onerror=window.hacked=1>", "b"), tuple(f"learning rate {n}e-05, batch 16" for n in range(12))]


@pytest.mark.parametrize("names", NAMES)
def test_trial_names_are_only_text_and_a_phone_is_wide_enough(visit: Visit, names: tuple[str, ...]):
    ended = ending(40 * len(names))
    page = visit(width=400, loss=replay_payload([*task_events("classification", names, steps=40), ended]))
    expect(page.locator("#loss ol li")).to_have_text([re.compile(re.escape(name)) for name in names])
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
