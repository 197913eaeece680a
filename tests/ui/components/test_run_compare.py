"""Runs beside each other, and the cards of the recipe, as pages of their own in a browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.training.runs import RunView, runs_payload
from bertviz_lab.ui.components.standalone import standalone_page
from tests.browser import eventually
from tests.ui.components.harness import HOSTILE, data_table

SETTINGS = {"corpus": ("sample:tiny-town",), "position_embeddings": True}


def rows(last: float, steps: int = 40, nsp: bool = True) -> list[dict]:
    """A run whose MLM accuracy rises in a straight line to `last`."""
    started = {"objective": "mlm+nsp", "parameters": 1234, "baselines": {"nsp_majority": 0.5}}
    found: list[dict] = [{"event": "RunStarted", "step": 0, **started}]
    for step in range(1, steps + 1):
        scores = {"mlm_accuracy": last * step / steps, "mlm_loss": 5 - step / steps}
        scores |= {"nsp_accuracy": 0.5} if nsp else {}
        at = {"step": step, "seconds": step / 2, "tokens": 100 * step}
        found.append({"event": "StepDone", **at, **scores})
        if step % (steps // 4) == 0:
            found.append({"event": "EvalDone", **at, **scores})
    right = {"word_order": last, "agreement": 0.5}
    return [*found, {"event": "ProbesDone", "step": steps, "probes": "tiny-town", "right": right}]


def open_alone(page: Page, folder: Path, kind: str, payload: str, width: int = 1280) -> None:
    path = folder / "alone.html"
    path.write_text(standalone_page(kind, "Alone", payload), encoding="utf-8")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(path.as_uri())


def drawn(page: Page) -> dict[str, list[list[float]]]:
    """The points of each trace that Plotly shows: {"run name role": [[x, y], ...]}."""
    script = """() => Object.fromEntries((document.querySelector('.plotly-host')?.data ?? [])
      .map(({ name, meta, x, y }) => [`${name} ${meta.role}`, Array.from(x, (value, at) => [value, y[at]])]))"""
    return page.evaluate(script)


def test_the_table_has_what_differs_and_the_best_score_is_marked(page: Page, tmp_path: Path):
    views = [
        RunView("", "whole", SETTINGS, rows(0.8)),
        RunView("", "without", SETTINGS | {"position_embeddings": False}, rows(0.4)),
    ]
    open_alone(page, tmp_path, "comparison", runs_payload(views))
    table = page.get_by_role("region", name="Table of runs").get_by_role("table")
    expect(table.get_by_role("row", name="position_embeddings yes no")).to_be_visible()
    expect(table).not_to_contain_text("corpus")
    expect(page.get_by_text("Their cards have those of the finished models")).to_be_visible()
    best = table.get_by_role("row", name="MLM accuracy").locator("b")
    expect(best).to_contain_text("80.0%")
    expect(best).to_contain_text("(best)")
    expect(page.get_by_text("their metrics are not comparable")).to_be_hidden()
    open_alone(page, tmp_path, "comparison", runs_payload([views[0], RunView("", "shipped", {}, rows(0.4))]))
    expect(page.get_by_text("Held-out metrics; the settings of shipped are not known")).to_be_visible()
    expect(page.get_by_text("their metrics are not comparable")).to_be_visible()


def test_the_first_sentence_says_which_run_is_better_and_since_when(page: Page, tmp_path: Path):
    slow, quick = rows(0.8), rows(0.4, steps=20)
    open_alone(
        page,
        tmp_path,
        "comparison",
        runs_payload([RunView("", "quick", SETTINGS, quick), RunView("", "slow", SETTINGS, slow)]),
    )
    verdict = page.locator("body .lead")
    # At step 20 both have 40%, at step 30 the other has ended.
    expect(verdict).to_have_text(
        "slow is better by MLM accuracy: slow 80.0%, quick 40.0%. It has been ahead since step 30 (15 s)."
    )
    page.get_by_label("Metric").select_option("NSP accuracy")
    expect(verdict).to_have_text("NSP accuracy is the same: quick 50.0%, slow 50.0%.")
    page.get_by_label("Metric").select_option("Learning rate")
    expect(verdict).to_be_hidden()
    # What is written the same is not better.
    views = [RunView("", str(last), SETTINGS, rows(last)) for last in (0.8001, 0.8, 0.4)]
    open_alone(page, tmp_path, "comparison", runs_payload(views))
    expect(verdict).to_have_text("MLM accuracy is the same for the best: 0.8001 80.0%, 0.8 80.0%, 0.4 40.0%.")
    expect(page.get_by_role("row", name="MLM accuracy").locator("b")).to_have_count(2)


def test_scores_on_other_texts_are_not_compared_and_missing_ones_are_a_sentence(page: Page, tmp_path: Path):
    views = [RunView("", "one", SETTINGS, rows(0.8)), RunView("", "other", {"corpus": ("b.txt",)}, rows(0.4))]
    open_alone(page, tmp_path, "comparison", runs_payload(views))
    expect(page.get_by_text("their metrics are not comparable")).to_be_visible()
    expect(page.locator("body .lead")).to_be_hidden()
    expect(page.locator("table b")).to_have_count(0)
    views = [RunView("", "new", SETTINGS, [{"event": "RunStarted", "step": 0, "objective": "mlm"}])]
    open_alone(page, tmp_path, "comparison", runs_payload(views))
    expect(page.locator(".empty:visible")).to_have_text("None of these runs has this metric.")
    expect(page.locator(".plotly-host")).to_be_hidden()


def test_the_curves_and_the_data_table_have_the_values_of_all_runs(page: Page, tmp_path: Path):
    views = [RunView("", "whole", SETTINGS, rows(0.8)), RunView("", "half", SETTINGS, rows(0.4, nsp=False))]
    open_alone(page, tmp_path, "comparison", runs_payload(views))
    eventually(page, lambda: len(drawn(page)) == 6)
    assert drawn(page)["half held-out"] == [[10, 0.1], [20, 0.2], [30, pytest.approx(0.3)], [40, 0.4]]
    label = page.locator(".plotly-host").get_attribute("aria-label") or ""
    assert "whole: 80.0%; half: 40.0%" in label
    held = [
        (row["run"], row["step"], row["MLM accuracy"])
        for row in data_table(page.locator("body"))
        if row["kind"] == "held-out"
    ]
    assert held[:4] == [("whole", "40", "80.0%"), ("half", "40", "40.0%"), ("whole", "30", "60.0%"),
                        ("half", "30", "30.0%")]  # fmt: skip
    page.get_by_label("Metric").select_option("NSP accuracy")
    eventually(page, lambda: drawn(page).get("whole held-out", [[0, 0]])[-1] == [40, 0.5])
    assert len(drawn(page)["half held-out"]) == 1, "named in the legend, although it has no such value"
    shapes = page.evaluate("() => document.querySelector('.plotly-host').layout.shapes.map(({ label }) => label.text)")
    assert shapes == ["majority-class baseline: 50.0%"]
    page.get_by_role("radio", name="tokens").check()
    eventually(page, lambda: drawn(page)["whole held-out"][-1] == [4000, 0.5])


def test_runs_of_very_different_lengths_begin_on_a_logarithmic_axis(page: Page, tmp_path: Path):
    views = [RunView("", "long", SETTINGS, rows(0.8, 400)), RunView("", "short", SETTINGS, rows(0.4, 8))]
    kind = "document.querySelector('.plotly-host')._fullLayout?.xaxis.type"
    open_alone(page, tmp_path, "comparison", runs_payload(views))
    box = page.get_by_role("checkbox", name="log x-axis")
    expect(box).to_be_checked()
    eventually(page, lambda: page.evaluate(kind) == "log")
    box.uncheck()
    eventually(page, lambda: page.evaluate(kind) == "linear")
    open_alone(page, tmp_path, "comparison", runs_payload([views[0], RunView("", "as long", SETTINGS, rows(0.4, 400))]))
    expect(box).not_to_be_checked()


@pytest.mark.parametrize("width", [1280, 400])
def test_six_runs_are_told_apart_and_fit(page: Page, tmp_path: Path, width: int):
    names = ["plain", *HOSTILE]
    views = [RunView("", name, SETTINGS, rows(0.1 * (1 + at))) for at, name in enumerate(names)]
    open_alone(page, tmp_path, "comparison", runs_payload(views), width)
    expect(page.locator("thead th")).to_have_text([re.compile(re.escape(name)) for name in names])
    expect(page.locator(".plotly-host .legend .legendtext")).to_have_text(names)
    marks = page.locator(".plotly-host .legend .legendpoints path")
    expect(marks).to_have_count(6)
    assert len({mark.get_attribute("d") for mark in marks.all()}) >= 5  # circles are told apart by their filling
    strokes = marks.evaluate_all("marks => marks.map(mark => getComputedStyle(mark).stroke)")
    assert len(set(strokes)) == 6
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.evaluate("() => window.hacked") is None
