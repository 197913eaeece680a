"""The loss chart: following a run, replaying one, reading its values."""

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from bertviz_lab.figures.training.curves import live_payload, replay_payload
from bertviz_lab.ui.components.assemble import source
from tests.browser import PageLog, eventually
from tests.ui.components.harness import Desk, ending, events

Feed = Callable[[str, str], None]
Visit = Callable[..., Page]
PARTS = ["loss"]
NODES = "document.querySelector('#loss').querySelectorAll('*').length"


def stage(page: Page) -> str:
    return page.locator("#loss .stage").inner_text()


def painted(page: Page, panel: str) -> int:
    """How many pixels of a panel are not background."""
    script = """panel => {
      const canvas = document.querySelector(`#loss [data-panel="${panel}"] .base`);
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return data.filter((value, index) => index % 4 === 3 && value > 0).length;
    }"""
    return page.evaluate(script, panel)


def saved_rows(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save the curves as CSV").click()
    return list(csv.DictReader(Path(waiting.value.path()).read_text().splitlines()))


def test_without_a_run_it_says_what_to_do(visit: Visit):
    page = visit()
    expect(page.locator("#loss .empty")).to_contain_text("No run yet")
    expect(page.locator("#loss .panels")).to_be_hidden()


def test_a_run_is_followed_from_start_to_end(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    rows = events(120)
    desk.runs["r1"], desk.states["r1"] = [], {"status": "starting"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Starting …")
    desk.runs["r1"], desk.states["r1"] = rows[:1], {"status": "preparing"}
    expect(page.locator("#loss .stage")).to_have_text("Preparing: learning the vocabulary: 1 of 2")
    desk.runs["r1"], desk.states["r1"] = rows[:60], {"status": "training"}
    expect(page.locator("#loss .stage")).to_contain_text("Training: step 57 of 500")
    expect(page.locator("#loss .state")).to_contain_text("34,000 tokens per second · about 53 s left")
    expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "11")
    expect(page.locator("#loss [role=status]")).to_contain_text("Training: step 57 of 500; MLM loss")
    ink = painted(page, "mlm")
    desk.runs["r1"] = rows
    expect(page.locator("#loss .stage")).to_contain_text("step 120 of 500")
    eventually(page, lambda: painted(page, "mlm") != ink)
    desk.runs["r1"], desk.states["r1"] = [*rows, ending(120)], {"status": "finished"}
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
    page.wait_for_timeout(2500)
    asked = len(desk.polls)
    page.wait_for_timeout(2500)
    assert len(desk.polls) == asked


def test_reload_finds_the_run_again(visit: Visit, feed: Feed, desk: Desk, page_log: PageLog):
    page = visit()
    desk.runs["r1"], desk.states["r1"] = events(80), {"status": "training"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_contain_text("step 80 of 500")
    page.reload()
    page_log.clear()  # the page was left while it still asked
    expect(page.locator("#loss .stage")).to_contain_text("step 80 of 500")
    assert len(saved_rows(page)) == 80 + 1


def test_lost_connection_is_said_and_outlived(visit: Visit, feed: Feed, desk: Desk, page_log: PageLog):
    page = visit()
    desk.runs["r1"], desk.states["r1"] = events(30), {"status": "training"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_contain_text("step 30")
    desk.poll_fails = True
    expect(page.locator("#loss .state")).to_contain_text("Connection to the server lost")
    desk.poll_fails = False
    desk.runs["r1"] = events(40)
    expect(page.locator("#loss .stage")).to_contain_text("step 40")
    page_log.clear()  # the browser notes each failed request


def test_failed_run_says_why(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    desk.runs["r1"] = events(30)
    desk.states["r1"] = {"status": "failed", "message": "The machine ran out of memory."}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("The run failed")
    expect(page.locator("#loss .state")).to_contain_text("The machine ran out of memory.")


def test_unknown_run_is_said_to_be_gone(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    feed("loss", live_payload("nobody"))
    expect(page.locator("#loss .stage")).to_have_text("This run is no longer here")
    eventually(page, lambda: [data["status"] for data in desk.told("run_changed")] == ["missing"])


def test_resumed_run_is_followed_again_and_overwrites_what_was_trained_anew(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    rows = events(100)
    desk.runs["r1"], desk.states["r1"] = [*rows, ending(100, "stopped")], {"status": "stopped"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Stopped after 100 steps in 12 s")
    again = [row for row in events(90, seed=5) if row.get("step", 0) > 80]
    desk.runs["r1"] += [{**rows[1], "step": 80}, *again]
    desk.states["r1"] = {"status": "training"}
    feed("loss", live_payload("r1", mark="again"))
    expect(page.locator("#loss .stage")).to_contain_text("Training: step 90 of 500")
    steps = [int(row["step"]) for row in saved_rows(page) if row["kind"] == "training"]
    assert steps == list(range(1, 91))


def test_another_run_replaces_the_first(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    desk.runs = {"r1": events(50), "r2": events(7)}
    desk.states = {"r1": {"status": "training"}, "r2": {"status": "training"}}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_contain_text("step 50")
    feed("loss", live_payload("r2"))
    expect(page.locator("#loss .stage")).to_contain_text("step 7 ")
    page.wait_for_timeout(1500)
    asked = len([run for run, _ in desk.polls if run == "r1"])
    page.wait_for_timeout(1500)
    assert len([run for run, _ in desk.polls if run == "r1"]) == asked


def test_finished_log_is_replayed_without_asking(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    feed("loss", replay_payload([*events(500), ending(500)], "Shipped model"))
    expect(page.locator("#loss .stage")).to_have_text("Finished: 500 steps in 1 min 0 s")
    expect(page.locator("#loss .state")).to_contain_text("unigram baseline: 5.2%")
    expect(page.locator("#loss .panels .panel")).to_have_count(3)
    assert desk.polls == []


def test_chance_is_stated_for_every_panel(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload(events(50)))
    labels = [page.locator(f'#loss [data-panel="{name}"] .top') for name in ("mlm", "nsp", "accuracy")]
    expect(labels[0]).to_have_attribute("aria-label", re_contains("ln V 9.011", "unigram-entropy baseline 6.120"))
    expect(labels[1]).to_have_attribute("aria-label", re_contains("uniform baseline, ln 2 0.693"))
    expect(labels[2]).to_have_attribute("aria-label", re_contains("unigram baseline 5.2%", "chance 50.0%"))


def re_contains(*parts: str) -> re.Pattern[str]:
    """A pattern of these words in this order."""
    return re.compile(".*".join(re.escape(part) for part in parts))


def test_without_next_sentence_there_is_no_panel_for_it(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload([*events(60, nsp=False), ending(60)]))
    expect(page.locator('#loss [data-panel="mlm"]')).to_be_visible()
    expect(page.locator('#loss [data-panel="nsp"]')).to_be_hidden()
    expect(page.locator('#loss [data-panel="accuracy"] .now span')).to_have_count(1)
    expect(page.locator("#loss .state")).not_to_contain_text("NSP")


def test_keys_and_mouse_read_the_values_of_a_step(visit: Visit, feed: Feed):
    page = visit()
    rows = [row for row in events(200) if row["event"] == "StepDone"]
    feed("loss", replay_payload(events(200)))
    page.locator('#loss [data-panel="mlm"] .top').focus()
    for key in ("Home", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    readout = page.locator("#loss .readout")
    expect(readout).to_contain_text(f"step 3 · 0 s · 12.3k tokens · MLM loss {rows[2]['mlm_loss']:.3f}")
    page.keyboard.press("End")
    expect(readout).to_contain_text(f"step 200 · 24 s · 819k tokens · MLM loss {rows[-1]['mlm_loss']:.3f}")
    middle = page.locator('#loss [data-panel="accuracy"] .top')
    box = middle.bounding_box()
    assert box
    middle.hover(position={"x": 0.5 * box["width"], "y": 80})
    expect(readout).to_contain_text("step 9")
    page.locator("#loss .panel-head").first.hover()
    expect(readout).to_contain_text("Point at a curve")


def test_learning_rate_gradient_norm_and_throughput_are_drawn_where_they_are_unfolded(visit: Visit, feed: Feed):
    page = visit()
    rows = [row for row in events(200) if row["event"] == "StepDone"]
    feed("loss", replay_payload(events(200)))
    expect(page.locator('#loss [data-panel="mlm"]')).to_be_visible()
    for panel in ("rate", "norm", "speed"):
        assert painted(page, panel) == 0
    page.get_by_text("Learning rate, gradient norm and throughput").click()
    for panel in ("rate", "norm", "speed"):
        expect(page.locator(f'#loss [data-panel="{panel}"] canvas').first).to_be_visible()
        eventually(page, lambda panel=panel: painted(page, panel) > 100)
    rate = page.locator('#loss [data-panel="rate"] .top')
    rate.focus()
    page.keyboard.press("Home")
    expect(page.locator("#loss .readout")).to_contain_text(
        re.compile(rf"learning rate {rows[0]['learning_rate']:.1e}".replace("e-0", "e-0?"))
    )
    expect(page.locator("#loss .readout")).to_contain_text("gradient norm")


def test_axes_can_be_switched(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload(events(200)))
    page.wait_for_timeout(300)
    shots = [page.locator("#loss .panels").screenshot()]
    for name in ("time", "tokens seen", "log"):
        page.locator("#loss").get_by_role("radio", name=name).click()
        page.wait_for_timeout(150)
        shots.append(page.locator("#loss .panels").screenshot())
    page.get_by_label("smooth").click()
    page.wait_for_timeout(150)
    shots.append(page.locator("#loss .panels").screenshot())
    assert len(set(shots)) == 5


def test_saved_rows_are_the_events(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload(events(100)))
    expect(page.locator("#loss .panels")).to_be_visible()
    rows = saved_rows(page)
    steps = [row for row in events(100) if row["event"] == "StepDone"]
    assert [row["kind"] for row in rows] == ["training"] * 100 + ["held-out"] * 2
    assert float(rows[41]["mlm_loss"]) == steps[41]["mlm_loss"]
    assert rows[101]["learning_rate"] == ""
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save the curves as PNG").click()
    assert Path(waiting.value.path()).read_bytes().startswith(b"\x89PNG")


def test_hundred_thousand_steps_in_two_hundred_updates_leave_no_node_behind(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    desk.chunk = 520
    desk.runs["r1"], desk.states["r1"] = events(104_000, total=104_000), {"status": "training"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .panels")).to_be_visible()
    before = page.evaluate(NODES)
    expect(page.locator("#loss .stage")).to_contain_text("step 104,000 of 104,000", timeout=150_000)
    assert len(desk.polls) >= 200
    assert page.evaluate(NODES) == before
    took = page.evaluate(
        """async () => {
          const wait = () => new Promise(requestAnimationFrame);
          const took = [];
          for (const scale of ['log', 'even', 'log']) {
            await wait();
            document.querySelector(`#loss input[value=${scale}]`).click();
            const start = performance.now();
            await wait(); await wait();
            took.push(performance.now() - start);
          }
          return Math.min(...took);  // at another moment the machine has more to do
        }"""
    )
    assert took < 400  # milliseconds to redraw everything, on a busy machine


def test_the_part_that_is_causal_is_shown_and_explained(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    rows = events(200, forwards=80)
    until = next(place for place, row in enumerate(rows) if row.get("step") == 61)
    desk.runs["r1"], desk.states["r1"] = rows[:until], {"status": "training"}
    feed("loss", live_payload("r1"))
    expect(page.locator("#loss .stage")).to_have_text("Training: step 60 of 500, causal-LM warm-up")
    masked, each = (
        next(row[name] for row in rows[until - 1 :: -1] if name in row) for name in ("mlm_loss", "causal_loss")
    )
    now = page.locator('#loss [data-panel="mlm"] .now span')
    expect(now).to_have_text([re.compile("^next token [67]"), re.compile("masked tokens [67]")])
    expect(page.locator("#loss [role=status]").last).to_contain_text(
        f"MLM loss {masked:.3f}, uniform baseline 9.011, next-token loss {each:.3f}"
    )
    expect(page.locator("#loss .legend")).to_contain_text("next token (causal-LM warm-up)")
    expect(page.locator("#loss .why")).to_contain_text("In causal LM every token gives a training signal")

    # Once it is over, the band stays and the curve's last value is no longer the present one.
    desk.runs["r1"] = rows
    expect(page.locator("#loss .stage")).to_have_text("Training: step 200 of 500")
    expect(now).to_have_count(1)
    chart = page.locator('#loss [data-panel="mlm"] .top')
    expect(chart).to_have_attribute("aria-label", re_contains("Up to step 80 is causal-LM warm-up"))


def test_without_causal_lm_warm_up_nothing_is_said_of_it(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload([*events(200), ending(200)]))
    expect(page.locator("#loss .panels")).to_be_visible()
    expect(page.locator("#loss .why")).to_be_hidden()
    assert "causal" not in page.locator("#loss").inner_text()


def test_the_readout_tells_only_what_a_step_has(visit: Visit, feed: Feed):
    page = visit()
    feed("loss", replay_payload(events(40, forwards=40)))
    expect(page.locator("#loss .panels")).to_be_visible()
    page.locator('#loss [data-panel="mlm"] .top').focus()
    page.keyboard.press("Home")
    readout = page.locator("#loss .readout")
    expect(readout).to_contain_text("MLM loss")
    expect(readout).not_to_contain_text("next-token")
    page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text(re.compile(r"next-token loss \d\.\d+ · accuracy -?\d+\.\d%$"))
    expect(readout).not_to_contain_text("MLM")
    assert "–" not in readout.inner_text()


def test_saved_rows_hold_the_values_of_the_causal_lm_warm_up(visit: Visit, feed: Feed):
    page = visit()
    rows = [row for row in events(30, forwards=20) if row["event"] == "StepDone"]
    feed("loss", replay_payload(events(30, forwards=20)))
    expect(page.locator("#loss .panels")).to_be_visible()
    saved = saved_rows(page)
    assert float(saved[1]["causal_loss"]) == rows[1]["causal_loss"]
    assert saved[1]["mlm_loss"] == saved[29]["causal_loss"] == ""
    assert float(saved[0]["nsp_accuracy"]) == rows[0]["nsp_accuracy"]


def test_a_model_that_is_trained_on_is_compared_with_what_it_was(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    before = {"event": "EvalDone", "step": 0, "seconds": 0.0, "tokens": 0, "mlm_loss": 3.5463, "mlm_accuracy": 0.3561,
              "nsp_loss": 0.31, "nsp_accuracy": 0.875}  # fmt: skip
    rows = events(100, total=500)
    state = page.locator("#loss .state")
    middle, now = [row for row in rows if row["event"] == "EvalDone"]
    desk.runs["r1"], desk.states["r1"] = [*rows[:2], before, *rows[2:80]], {"status": "training"}
    feed("loss", live_payload("r1"))
    expect(state).to_contain_text(f"MLM accuracy: 35.6% before, {100 * middle['mlm_accuracy']:.1f}% now")
    desk.runs["r1"], desk.states["r1"] = [*rows[:2], before, *rows[2:], ending(100)], {"status": "finished"}
    expect(page.locator("#loss .stage")).to_contain_text("Finished")
    expect(state).to_contain_text(f"MLM accuracy: 35.6% before, {100 * now['mlm_accuracy']:.1f}% now")
    expect(state).to_contain_text(f"MLM loss: 3.546 before, {now['mlm_loss']:.3f} now")
    expect(state).to_contain_text(f"NSP accuracy: 87.5% before, {100 * now['nsp_accuracy']:.1f}% now")


def test_a_run_on_the_order_of_sentences_calls_it_so(visit: Visit, feed: Feed):
    page = visit()
    rows = events(60)
    rows[1] = {**rows[1], "objective": "mlm+sop"}
    feed("loss", replay_payload([*rows, ending(60)]))
    expect(page.locator('#loss [data-panel="nsp"] .heading')).to_have_text("SOP loss")
    expect(page.locator('#loss [data-panel="accuracy"] .now')).to_contain_text("SOP")


def test_smoothing_leaves_gaps_where_there_are_none_of_the_values(page: Page):
    script = f"() => {{ {source('loss_data.js')}; return [...smoothed(Float64Array.from([4, NaN, NaN, 2, NaN]), 5)]; }}"
    first, *gap, last, end = page.evaluate(script)
    assert first == 4
    assert all(math.isnan(value) for value in (*gap, end))
    assert 2 < last < 4
