"""The loss chart: following a run, replaying one, reading its values."""

import csv
import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.training.curves import live_payload, replay_payload
from tests.browser import PageLog, eventually, reload
from tests.ui.components.harness import Desk, Feed, Visit, data_table, ending, events, saved

PARTS = ["loss"]


def painted(page: Page, panel: str) -> int:
    """How many points of a panel Plotly has been given; 0 where it is not drawn."""
    script = """panel => (document.querySelector(`#loss [data-panel="${panel}"] .curves`)?.data ?? [])
      .reduce((sum, trace) => sum + trace.x.length, 0)"""
    return page.evaluate(script, panel)


def traces(page: Page, panel: str) -> dict[str, dict[str, list[float]]]:
    """The points of a panel that is drawn: {"mlm_loss smoothed": {"x": [...], "y": [...]}, ...}; a gap is NaN."""
    script = """panel => document.querySelector(`#loss [data-panel="${panel}"] .curves`).data
      .map(({ meta, x, y }) => [`${meta.field} ${meta.role}`, { x: [...x], y: [...y] }])"""
    eventually(page, lambda: painted(page, panel) > 0)
    return dict(page.evaluate(script, panel))


def axis(page: Page, panel: str, name: str) -> dict[str, Any]:
    """An axis of a panel as Plotly shows it."""
    script = """([panel, name]) => {
      const { type, range, title } = document.querySelector(`#loss [data-panel="${panel}"] .curves`)._fullLayout[name];
      return { type, range, title: title.text };
    }"""
    eventually(page, lambda: painted(page, panel) > 0)
    return page.evaluate(script, [panel, name])


def saved_rows(page: Page) -> list[dict[str, str]]:
    return list(csv.DictReader(saved(page, "loss", "csv").decode().splitlines()))


def test_a_run_is_followed_from_start_to_end(visit: Visit, desk: Desk):
    rows = events(120)
    desk.run([], "starting")
    page = visit(loss=live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Starting …")
    desk.run(rows[:1], "preparing")
    expect(page.locator("#loss .stage")).to_have_text("Preparing: learning the vocabulary: 50%")
    desk.run(rows[:60], "training")
    expect(page.locator("#loss .stage")).to_contain_text("Training: step 57 of 500")
    expect(page.locator("#loss .state")).to_contain_text("34,000 tokens per second · about 53 s left")
    expect(page.locator("#loss .state")).to_contain_text("Better than guessing: MLM accuracy since step 50, NSP")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "11")
    expect(page.locator("#loss [role=status]")).to_contain_text("Training: step 57 of 500; MLM loss")
    eventually(page, lambda: painted(page, "mlm") > 0)
    points = painted(page, "mlm")
    desk.runs["r1"] = rows
    expect(page.locator("#loss .stage")).to_contain_text("step 120 of 500")
    eventually(page, lambda: painted(page, "mlm") > points)
    desk.run([*rows, ending(120)], "finished")
    expect(page.locator("#loss .stage")).to_have_text("Finished: 120 steps in 14 s")
    expect(page.get_by_role("progressbar")).to_be_hidden()

    eventually(page, lambda: {"finished"} <= {data["status"] for data in desk.told("run_changed")})
    changes = [(data["status"], data["first"]) for data in desk.told("run_changed")]
    # A busy browser may first look when the run is no longer starting.
    assert [status for status, _ in changes][-3:] == ["preparing", "training", "finished"]
    assert [first for _, first in changes] == [True] + [False] * (len(changes) - 1)

    # Only new rows were asked for, and nobody asks any more.
    starts = [start for run, start in desk.polls if run == "r1"]
    assert starts == sorted(starts)
    assert set(starts) <= {0, 1, 60, len(rows), len(rows) + 1}
    eventually(page, lambda: desk.polls[-1] == ("r1", len(rows) + 1))  # an answer without rows is the last
    asked = len(desk.polls)
    page.wait_for_timeout(1500)  # a question a second before
    assert len(desk.polls) == asked


def test_a_lost_connection_and_a_reload_are_outlived(visit: Visit, desk: Desk, page_log: PageLog):
    desk.run(events(30), "training")
    page = visit(loss=live_payload("r1"))
    expect(page.locator("#loss .stage")).to_contain_text("step 30")
    desk.poll_fails = True
    expect(page.locator("#loss .state")).to_contain_text("Connection to the server lost")
    desk.poll_fails = False
    desk.runs["r1"] = events(80)
    expect(page.locator("#loss .stage")).to_contain_text("step 80")
    page_log.clear()  # the browser notes each failed request
    reload(page, page_log)
    expect(page.locator("#loss .stage")).to_contain_text("step 80 of 500")
    assert len(saved_rows(page)) == 80 + 1


@pytest.mark.parametrize(
    ("state", "stage", "words"),
    [
        (None, "This run is no longer here", ""),
        ({"status": "failed", "message": "The machine ran out of memory."}, "The run failed", "ran out of memory."),
        ({"status": "waiting", "message": "One other run is ahead."}, "Queued", "One other run is ahead."),
    ],
)
def test_what_keeps_a_run_from_training_is_said(
    visit: Visit, feed: Feed, desk: Desk, state: Any, stage: str, words: str
):
    page = visit()
    expect(page.locator("#loss .empty")).to_contain_text("No run yet")
    expect(page.locator("#loss .knobs")).to_be_hidden()
    if state:
        desk.runs["r1"], desk.states["r1"] = [], state
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text(stage)
    expect(page.locator("#loss .state")).to_contain_text(words)
    eventually(
        page, lambda: [data["status"] for data in desk.told("run_changed")] == [(state or {}).get("status", "missing")]
    )


def test_resumed_run_is_followed_again_and_overwrites_what_was_trained_anew(visit: Visit, feed: Feed, desk: Desk):
    rows = events(100)
    desk.run([*rows, ending(100, "stopped")], "stopped")
    page = visit(loss=live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Stopped after 100 steps in 12 s")
    again = [row for row in events(90, seed=5) if row.get("step", 0) > 80]
    desk.runs["r1"] += [{**rows[1], "step": 80}, *again]
    desk.states["r1"] = {"status": "training"}
    feed("loss", live_payload("r1", "again"))
    expect(page.locator("#loss .stage")).to_contain_text("Training: step 90 of 500")
    steps = [int(row["step"]) for row in saved_rows(page) if row["kind"] == "training"]
    assert steps == list(range(1, 91))


def test_another_run_replaces_the_first(visit: Visit, feed: Feed, desk: Desk):
    desk.runs = {"r1": events(50), "r2": events(7)}
    desk.states = {"r1": {"status": "training"}, "r2": {"status": "training"}}
    page = visit(loss=live_payload("r1"))
    expect(page.locator("#loss .stage")).to_contain_text("step 50")
    feed("loss", live_payload("r2"))
    expect(page.locator("#loss .stage")).to_contain_text("step 7 ")
    eventually(page, lambda: ("r2", len(desk.runs["r2"])) in desk.polls)
    asked = len([run for run, _ in desk.polls if run == "r1"])
    page.wait_for_timeout(1500)
    assert len([run for run, _ in desk.polls if run == "r1"]) == asked


def test_the_baselines_of_every_panel_are_stated_and_do_not_cover_each_other(visit: Visit, feed: Feed):
    page = visit(loss=replay_payload(events(50)))
    stated = {
        "mlm": ("ln V 9.011", "unigram-entropy baseline 6.120"),
        "nsp": ("uniform baseline, ln 2 0.693", "class-prior baseline 0.679"),
        "accuracy": ("unigram baseline 5.2%", "majority-class baseline 58.3%"),
    }
    for panel, parts in stated.items():
        chart = page.locator(f'#loss [data-panel="{panel}"] .curves')
        expect(chart).to_have_attribute("aria-label", re_contains(*parts))
    names = page.locator('#loss [data-panel="nsp"] .shape-label text')
    expect(names).to_have_text(["uniform baseline, ln 2: 0.693", "class-prior baseline: 0.679"])

    def apart() -> bool:
        above, below = (names.nth(place).bounding_box() for place in (0, 1))
        return bool(above and below) and above["y"] + above["height"] <= below["y"]

    eventually(page, apart)
    halo = "(node) => [getComputedStyle(node).paintOrder, parseFloat(getComputedStyle(node).strokeWidth) > 2]"
    assert names.first.evaluate(halo) == ["stroke", True], "a curve does not strike it through"
    # An older log states chance.
    started, *rows = [row for row in events(50) if row["event"] != "Preparing"]
    feed("loss", replay_payload([started | {"baselines": {"nsp_loss": 0.6931, "nsp_accuracy": 0.5}}, *rows]))
    chart = page.locator('#loss [data-panel="accuracy"] .curves')
    expect(chart).to_have_attribute("aria-label", re_contains("Baselines: chance 50.0%"))


def test_reference_runs_are_drawn_behind_a_curve_and_compared_in_a_sentence(visit: Visit, feed: Feed):
    rows = [row | ({"tokens": 4096 * row["step"]} if row["event"] == "EvalDone" else {}) for row in events(200)]
    rows[1] |= {"text_tokens": 100_000}
    own = next(row["mlm_loss"] for row in rows if row["event"] == "EvalDone" and row["step"] == 200)
    curve = {"text": "Wikipedia", "text_tokens": 200_000, "unigram_entropy": 3.06, "differs": ["Batch size"]}
    # Losses of 3.5 and 2.5 at half of the unigram entropy are 7 and 5 in this run.
    curves = [
        curve | {"pairs": False, "points": [[0, 4.5, 0.7], [409_600, 3.5, 0.7], [1_228_800, 2.5, 0.5]]},
        curve | {"pairs": True, "points": [[409_600, 4.0, 0.7], [1_228_800, 3.0, 0.6]]},
        curve | {"pairs": True, "differs": ["Batch size", "Dropout"], "points": [[0, 9.0, 0.7], [1_000_000, 9.0, 0.7]]},
        curve | {"pairs": True, "text_tokens": 320_000, "points": [[0, 9.0, 0.7], [1_000_000, 9.0, 0.7]]},
        curve | {"pairs": True, "points": [[0, 9.0, 0.7], [600_000, 9.0, 0.7]]},
        curve | {"pairs": True, "points": [[0, 9.0, 0.7], [5_600_000, 9.0, 0.7]]},  # others are nearer in length
    ]
    page = visit(loss=replay_payload(rows, references={"preset": "tiny", "curves": curves}))
    said = page.locator("#loss .compared")
    expect(said).to_contain_text(
        "At 819K tokens seen, 2 reference runs of size tiny, 0.6 times as long as yours, had a "
        f"held-out MLM loss of 6.00 to 7.00; "
        f"yours is {own:.2f}, lower. They read Wikipedia (200K tokens, your text has 100K) with other settings of "
        "Batch size; the loss is scaled to the unigram entropy of your text."
    )
    drawn = page.locator('#loss [data-panel="mlm"] .curves')
    script = "host => host.data.filter(({ meta }) => meta.role === 'reference').map(({ x, y }) => [x, y])"
    eventually(page, lambda: painted(page, "mlm") > 0)
    assert drawn.evaluate(script) == [[[0, 100], [9.0, 7.0]], [[100], [8.0]]], "by step, and not far beyond the run"
    expect(page.locator("#loss .legend")).to_contain_text("gray: reference runs of the lab")
    feed("loss", replay_payload(rows, references={"preset": "base", "curves": []}))
    expect(said).to_contain_text("No reference run to compare with: the lab has none of size base")
    feed("loss", replay_payload(rows))
    expect(said).to_be_empty()


def re_contains(*parts: str) -> re.Pattern[str]:
    """A pattern of these words in this order."""
    return re.compile(".*".join(re.escape(part) for part in parts))


def test_the_panel_of_sentence_pairs_is_named_by_the_objective_or_left_out(visit: Visit, feed: Feed):
    page = visit(loss=replay_payload([*events(60, nsp=False), ending(60)]))
    expect(page.locator('#loss [data-panel="mlm"]')).to_be_visible()
    expect(page.locator('#loss [data-panel="nsp"]')).to_be_hidden()
    expect(page.locator('#loss [data-panel="accuracy"] .now span')).to_have_count(1)
    expect(page.locator("#loss .state")).not_to_contain_text("NSP")
    rows = events(60)
    rows[1] = {**rows[1], "objective": "mlm+sop"}
    feed("loss", replay_payload([*rows, ending(60)]))
    expect(page.locator('#loss [data-panel="nsp"] .heading')).to_have_text("SOP loss")
    expect(page.locator('#loss [data-panel="accuracy"] .now')).to_contain_text("SOP")


def test_a_verdict_names_what_is_not_above_its_baseline_and_what_to_do(visit: Visit):
    rows = [row | ({"nsp_accuracy": 0.59} if row["event"] == "EvalDone" else {}) for row in events(200)]
    page = visit(loss=replay_payload([*rows, ending(200)]))
    verdict = page.locator("#loss .state")
    expect(verdict).to_contain_text("Better than guessing: MLM accuracy since step 50.")
    expect(verdict).to_contain_text(
        "NSP accuracy is not clearly above its majority-class baseline: train longer, on more text, or start from"
    )


def test_a_finished_log_is_replayed_without_asking_and_tabled_in_its_units(visit: Visit, desk: Desk):
    page = visit(loss=replay_payload([*events(500), ending(500)], "Shipped model"))
    expect(page.locator("#loss .stage")).to_have_text("Finished: 500 steps in 1 min 0 s")
    expect(page.locator("#loss .state")).to_contain_text("unigram baseline: 5.2%")
    expect(page.locator("#loss .state")).to_contain_text("majority-class baseline: 58.3%")
    expect(page.locator("#loss .state")).to_contain_text("Better than guessing: MLM accuracy since step 50, NSP")
    expect(page.locator("#loss .panels").first.locator(".panel:visible")).to_have_count(3)
    expect(page.locator("#loss .why")).to_be_hidden()
    assert "causal" not in page.locator("#loss").inner_text()
    assert desk.polls == []
    table = data_table(page.locator("#loss"))
    assert len(table) == 100
    last = [row for row in events(500) if row["event"] == "StepDone"][-1]
    newest = next(row for row in table if row["kind"] == "training")
    expected = {
        "step": "500", "time": "1 min 0 s", "tokens seen": "2,048,000", "MLM loss": f"{last['mlm_loss']:.3f}",
        "MLM accuracy": f"{100 * last['mlm_accuracy']:.1f}%", "Learning rate": "1.0e-3",
    }  # fmt: skip
    assert newest | expected == newest
    assert [row["step"] for row in table if row["kind"] == "held-out"] == ["500", "450"]


def test_pointing_reads_the_same_step_in_every_panel(visit: Visit):
    page = visit(loss=replay_payload(events(200)))
    eventually(page, lambda: painted(page, "accuracy") > 0)
    first = page.locator('#loss [data-panel="mlm"] .nsewdrag').first.bounding_box()
    assert first
    page.mouse.move(first["x"] + 0.4 * first["width"], first["y"] + 40)
    page.mouse.move(first["x"] + 0.5 * first["width"], first["y"] + 50)
    labels = page.locator("#loss .hoverlayer .legend")
    expect(labels).to_have_count(3)
    expect(labels.first).to_contain_text(re.compile(r"step \d+.*masked tokens : \d\.\d{3}"))
    step = re.search(r"step \d+", labels.first.text_content() or "")
    assert step
    expect(labels.last).to_contain_text(step[0])
    page.locator("#loss .stage").hover()
    expect(labels).to_have_count(0)


def test_learning_rate_gradient_norm_and_throughput_are_drawn_where_they_are_unfolded(visit: Visit):
    page = visit(loss=replay_payload(events(200)))
    eventually(page, lambda: painted(page, "accuracy") > 0)
    for panel in ("perplexity", "rate", "norm", "speed"):
        assert painted(page, panel) == 0
    page.get_by_text("Perplexity, learning rate, gradient norm and throughput").click()
    assert set(traces(page, "rate")["learning_rate smoothed"]["y"][:-1]) == {1e-3}
    assert traces(page, "speed")["tokens_per_second smoothed"]["y"][:-1] == pytest.approx([34_000.0] * 200)
    assert "grad_norm training" in traces(page, "norm")
    held = [row for row in events(200) if row["event"] == "EvalDone"]
    drawn = traces(page, "perplexity")["perplexity held-out"]["y"]
    assert drawn == pytest.approx([math.exp(row["mlm_loss"]) for row in held])
    assert axis(page, "perplexity", "yaxis")["type"] == "log"
    ticks = page.locator('#loss [data-panel="perplexity"] .ytick text').evaluate_all(
        "nodes => nodes.map((node) => node.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])"
    )
    assert len(ticks) > 1
    assert all(upper <= lower for (_, upper), (lower, _) in itertools.pairwise(sorted(ticks))), "none is overprinted"


def test_axes_and_smoothing_can_be_changed(visit: Visit):
    page = visit(loss=replay_payload(events(200)))
    assert axis(page, "mlm", "xaxis")["title"] == "step"
    assert traces(page, "mlm")["mlm_loss held-out"]["x"] == [50, 100, 150, 200]
    page.get_by_role("radio", name="time").check()
    eventually(page, lambda: axis(page, "accuracy", "xaxis")["title"] == "time (s)")
    assert traces(page, "mlm")["mlm_loss held-out"]["x"] == pytest.approx([6, 12, 18, 24])
    page.get_by_role("radio", name="tokens seen").check()
    eventually(page, lambda: axis(page, "accuracy", "xaxis")["title"] == "tokens seen")

    def roughness(name: str) -> float:
        return float(np.abs(np.diff(traces(page, "mlm")[f"mlm_loss {name}"]["y"][:-1])).mean())

    measured = [row["mlm_loss"] for row in events(200) if row["event"] == "StepDone"]
    assert traces(page, "mlm")["mlm_loss training"]["y"][:-1] == pytest.approx(measured)
    before = roughness("smoothed")
    slider = page.get_by_role("slider", name="Smoothing")
    slider.fill("0.95")
    eventually(page, lambda: roughness("smoothed") < 0.7 * before)
    slider.fill("0")
    eventually(page, lambda: roughness("smoothed") == pytest.approx(roughness("training")))
    assert axis(page, "mlm", "yaxis")["range"][0] > 0.5 * min(measured), "the axis fits the data"
    page.get_by_role("radio", name="log").check()
    eventually(page, lambda: axis(page, "nsp", "yaxis")["type"] == "log")
    assert axis(page, "mlm", "yaxis")["type"] == "log"
    assert axis(page, "accuracy", "yaxis")["type"] == "linear"


def test_a_zoom_is_kept_while_rows_come_and_shows_every_step_of_a_long_run(visit: Visit, desk: Desk):
    rows = events(3000, total=4000)
    desk.run(rows[:-500], "training")
    page = visit(loss=live_payload("r1"))
    eventually(page, lambda: painted(page, "accuracy") > 0)
    entire = traces(page, "mlm")["mlm_loss training"]["x"]
    assert len(entire) <= 603  # two for each of 301 columns, and the gap at the end
    box = page.locator('#loss [data-panel="mlm"] .nsewdrag').first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.50 * box["width"], box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.58 * box["width"], box["y"] + 150, steps=4)
    page.mouse.up()

    def steps_in_sight() -> list[float]:
        left, right = axis(page, "mlm", "xaxis")["range"]
        return [x for x in traces(page, "mlm")["mlm_loss training"]["x"] if left <= x <= right]

    eventually(page, lambda: 150 < len(steps_in_sight()) < 250)
    eventually(page, lambda: np.diff(steps_in_sight()).max() == 1)
    zoomed = axis(page, "mlm", "xaxis")["range"]
    desk.runs["r1"] = rows
    expect(page.locator("#loss .stage")).to_contain_text("step 3,000")
    eventually(page, lambda: axis(page, "accuracy", "xaxis")["range"][1] >= 3000)
    assert axis(page, "mlm", "xaxis")["range"] == zoomed


def test_saved_and_tabled_rows_have_only_what_their_step_has(visit: Visit):
    page = visit(loss=replay_payload(events(100, forwards=20)))
    expect(page.locator("#loss .panels").first).to_be_visible()
    rows = saved_rows(page)
    steps = [row for row in events(100, forwards=20) if row["event"] == "StepDone"]
    assert [row["kind"] for row in rows] == ["training"] * 100 + ["held-out"] * 2
    assert float(rows[41]["mlm_loss"]) == steps[41]["mlm_loss"]
    assert float(rows[1]["causal_loss"]) == steps[1]["causal_loss"]
    assert rows[1]["mlm_loss"] == rows[41]["causal_loss"] == rows[101]["learning_rate"] == ""
    assert saved(page, "loss", "png").startswith(b"\x89PNG")
    assert b"gradient norm" not in saved(page, "loss", "svg"), "a picture has no folds"
    by_step = {row["step"]: row for row in data_table(page.locator("#loss")) if row["kind"] == "training"}
    assert by_step["9"]["MLM loss"] != "" == by_step["9"]["Next-token loss"]
    assert by_step["10"]["Next-token loss"] != "" == by_step["10"]["MLM loss"]


def test_nothing_is_drawn_while_it_is_hidden(visit: Visit, desk: Desk):
    desk.run(events(50), "training")
    page = visit(loss=live_payload("r1"))
    eventually(page, lambda: painted(page, "accuracy") > 0)
    page.evaluate("document.getElementById('loss').style.display = 'none'")
    points = painted(page, "mlm")
    desk.runs["r1"] = events(300)
    eventually(page, lambda: "step 300" in (page.locator("#loss .stage").text_content() or ""))
    page.wait_for_timeout(300)
    assert painted(page, "mlm") == points
    page.evaluate("document.getElementById('loss').style.display = ''")
    eventually(page, lambda: painted(page, "mlm") > points)


def test_the_part_that_is_causal_is_shown_and_explained(visit: Visit, desk: Desk):
    rows = events(200, forwards=80)
    until = next(place for place, row in enumerate(rows) if row.get("step") == 61)
    desk.run(rows[:until], "training")
    page = visit(loss=live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Training: step 60 of 500, causal-LM warm-up")
    masked, each = (
        next(row[name] for row in rows[until - 1 :: -1] if name in row) for name in ("mlm_loss", "causal_loss")
    )
    now = page.locator('#loss [data-panel="mlm"] .now span')
    expect(now).to_have_text([re.compile("^next token [67]"), re.compile("masked tokens [67]")])
    expect(page.locator("#loss [role=status]").last).to_contain_text(
        f"Next-token loss {each:.3f}, MLM loss {masked:.3f}, uniform baseline, ln V 9.011"
    )
    expect(page.locator("#loss .legend")).to_contain_text("next token (causal-LM warm-up)")
    expect(page.locator("#loss .why")).to_contain_text("there every token contributes to the loss")

    # Once it is over, the band stays and the curve's last value is no longer the present one.
    desk.runs["r1"] = rows
    expect(page.locator("#loss .stage")).to_have_text("Training: step 200 of 500")
    expect(now).to_have_count(1)
    chart = page.locator('#loss [data-panel="mlm"] .curves')
    expect(chart).to_have_attribute("aria-label", re_contains("Up to step 80 is causal-LM warm-up"))


def test_a_model_that_is_trained_on_is_compared_with_what_it_was(visit: Visit, desk: Desk):
    before = {"event": "EvalDone", "step": 0, "seconds": 0.0, "tokens": 0, "mlm_loss": 3.5463, "mlm_accuracy": 0.3561,
              "nsp_loss": 0.31, "nsp_accuracy": 0.875}  # fmt: skip
    rows = events(100, total=500)
    middle, now = [row for row in rows if row["event"] == "EvalDone"]
    desk.run([*rows[:2], before, *rows[2:80]], "training")
    page = visit(loss=live_payload("r1"))
    state = page.locator("#loss .state")
    expect(state).to_contain_text(f"MLM accuracy: 35.6% before, {100 * middle['mlm_accuracy']:.1f}% now")
    desk.run([*rows[:2], before, *rows[2:], ending(100)], "finished")
    expect(page.locator("#loss .stage")).to_contain_text("Finished")
    expect(state).to_contain_text(f"MLM accuracy: 35.6% before, {100 * now['mlm_accuracy']:.1f}% now")
    expect(state).to_contain_text(f"MLM loss: 3.546 before, {now['mlm_loss']:.3f} now")
    expect(state).to_contain_text(f"NSP accuracy: 87.5% before, {100 * now['nsp_accuracy']:.1f}% now")


@pytest.mark.parametrize(
    ("values", "weight", "parts", "expected"),
    [
        # TensorBoard's average divides by the weight so far.
        ("4, NaN, 2, NaN", 0.6, "[0, 4]", [4, math.nan, (0.24 * 4 + 0.4 * 2) / 0.64, math.nan]),
        ("4, 4, 4, 1, 1, NaN", 0.9, "[0, 3], [3, 6]", [4, 4, 4, 1, 1, math.nan]),
    ],
)
def test_smoothing_is_a_moving_average_that_leaves_gaps_and_begins_anew_with_each_part(
    visit: Visit, values: str, weight: float, parts: str, expected: list[float]
):
    script = f"""async () => {{
      const {{ smoothed }} = await import('lab/components/charts/curve_figure.js');
      return [...smoothed(Float64Array.from([{values}]), {weight}, [{parts}])];
    }}"""
    assert visit().evaluate(script) == pytest.approx(expected, nan_ok=True)
