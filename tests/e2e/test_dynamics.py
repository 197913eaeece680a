"""Training dynamics on the real page: drag through a run by mouse and by keys, also while it trains."""

import csv
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from bertviz_lab import interpret
from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.ui.state.app_state import AppState
from tests.browser import PageLog, complaints, eventually, in_menu, watch
from tests.processes import wait_for
from tests.ui.pages import Served, little_settings, serve
from tests.ui.snapshots import STEPS, little_history

TEXT, SECOND = "the red [MASK] sat on the mat", "she gave him the red book"
MINI = BertConfig.preset("mini")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = little_settings(tmp_path_factory.mktemp("learning"))
    little_history(settings.checkpoints / "tiny-town")
    mini = {name: getattr(MINI, name) for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")}
    little_history(settings.checkpoints / "mini", intermediate_size=MINI.intermediate_size, **mini)
    with serve(settings) as served:
        yield served


def at(page: Page, address: str, query: str = "") -> Locator:
    """Open the view; the scrubber, with every frame there."""
    page.goto(f"{address}?space=runs&runs.open=dynamics{query}")
    return ready(page)


def ready(page: Page) -> Locator:
    view = page.locator("#dynamics-scrubber")
    expect(view.locator("[data-step]").first).to_be_attached()
    expect(view.locator(".state")).not_to_contain_text("are loading")
    return view


def ask(page: Page, a: str, b: str = "", words: str = "") -> Locator:
    """Fill the fields and press Show; the scrubber of the new text."""
    before = page.locator("#dynamics-scrubber .sentence").inner_text()
    if not page.locator("#dynamics-b").is_visible():
        page.locator("#dynamics-more summary").click()
    for name, text in (("a", a), ("b", b), ("words", words)):
        page.locator(f"#dynamics-{name}").fill(text)
    page.locator("#dynamics-show").click()
    page.wait_for_function(
        "before => document.querySelector('#dynamics-scrubber .sentence').innerText !== before", arg=before
    )
    return ready(page)


def step_of(view: Locator) -> int:
    return int(view.locator("div[data-step]").get_attribute("data-step") or -1)


def at_step(view: Locator, step: int) -> None:
    expect(view.locator("div[data-step]")).to_have_attribute("data-step", str(step))


def guesses(view: Locator) -> list[str]:
    return view.locator(".said .guesses").first.locator(".name").all_inner_texts()


def truth(session: AppState, step: int, text: str = TEXT, second: str | None = None) -> list[str]:
    found = interpret.fill_mask(session.snapshots.open("tiny-town", step), text, 8, text_b=second)
    return [one.token.removeprefix("##") for one in found.masks[0].candidates]


def cursor(chart: Locator) -> float:
    """Where the cursor of a chart stands in the window, in pixels."""
    place = "node => node.getBoundingClientRect().x + parseFloat(getComputedStyle(node, '::after').left)"
    return float(chart.evaluate(place))


def head_pixels(view: Locator) -> str:
    return view.locator(".grid canvas").first.evaluate("canvas => canvas.toDataURL()")


def test_an_example_is_there_at_first_and_keys_and_mouse_move_the_slider_and_every_view(
    page: Page, served: Served
) -> None:
    address, session = served
    assert guesses(at(page, address)) == truth(session, STEPS[-1], page.locator("#dynamics-a").input_value())
    view = ask(page, TEXT, SECOND, "cat, dog")
    slider = view.get_by_role("slider", name="Training step")
    slider.focus()
    seen = []
    page.keyboard.press("Home")
    for place, step in enumerate(STEPS):
        if place:
            page.keyboard.press("ArrowRight")
        at_step(view, step)
        assert guesses(view) == truth(session, step, TEXT, SECOND)
        expect(view.locator(".where")).to_contain_text(f"Step {step}")
        expect(slider).to_have_attribute("aria-valuetext", re.compile(rf"^Step {step}\. "))
        follows = interpret.next_sentence(session.snapshots.open("tiny-town", step), TEXT, SECOND).is_next
        expect(view.locator(".said")).to_contain_text("is next" if follows > 0.5 else "not next")
        watched = interpret.fill_mask(session.snapshots.open("tiny-town", step), TEXT, text_b=SECOND, word="cat")
        asked = watched.masks[0].asked
        assert asked is not None
        expect(view.locator(".watched .keys")).to_contain_text(f"cat {100 * asked.probability:.1f}%")
        seen.append((head_pixels(view), cursor(view.locator(".watched .plotly-host"))))
    assert len(set(seen)) == len({pixels for pixels, _ in seen}) == len(STEPS)
    page.keyboard.press("End")
    at_step(view, STEPS[-1])
    box = slider.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert step_of(view) in STEPS[1:-1]
    # A press on the curve jumps to the snapshot nearest to it, which stands under the middle of the slider's thumb.
    curve = view.locator(".timeline .plotly-host").first
    area = curve.bounding_box()
    assert area is not None
    page.mouse.click(area["x"] + 60, area["y"] + 60)
    at_step(view, STEPS[0])
    assert abs(cursor(curve) - (box["x"] + 8)) < 1.5


def test_space_plays_and_pauses(page: Page, served: Served) -> None:
    address, _ = served
    view = at(page, address)
    view.get_by_role("slider").focus()
    page.keyboard.press("Space")  # from the end it begins again
    expect(view.get_by_role("button", name="Pause")).to_be_visible()
    at_step(view, STEPS[0])
    at_step(view, STEPS[2])
    page.keyboard.press("Space")
    expect(view.get_by_role("button", name="Play")).to_be_visible()
    stopped = step_of(view)
    page.wait_for_timeout(1500)
    assert step_of(view) == stopped
    view.get_by_role("button", name="Play").click()
    at_step(view, STEPS[-1])
    expect(view.get_by_role("button", name="Play")).to_be_visible()


def test_what_is_folded_away_follows_too(page: Page, served: Served) -> None:
    address, session = served
    at(page, address)
    view = ask(page, TEXT, "", "cat, dog")
    for part in ("heads", "lens", "map", "losses"):
        view.locator(f"[data-part={part}] > summary").click()
    # Heads: what the sentence says of the head that does it most is true.
    traces = {step: interpret.trace_text(session.snapshots.open("tiny-town", step), TEXT) for step in STEPS}
    metrics = {step: interpret.head_metrics(trace.attentions, trace.encoding) for step, trace in traces.items()}
    box = view.get_by_role("combobox", name="Head metric")
    for name in ("previous", "special", "entropy", "distance"):
        box.select_option(name)
        values = metrics[STEPS[-1]][name]
        best = values.argmin() if name == "entropy" else values.argmax()
        layer, head = divmod(int(best), values.shape[1])
        expect(view.locator("[data-part=heads] .chart")).to_contain_text(
            re.compile(f"layer {layer + 1}, head {head + 1}", re.I)
        )
    view.get_by_role("button", name="Show this head").click()
    expect(view.locator(".one .heading").first).to_have_text(f"Layer {layer + 1} of 2, head {head + 1} of 2")
    # The lens: layers down, steps across; a press goes there.
    first = interpret.logit_lens(session.snapshots.open("tiny-town", STEPS[1]), TEXT, top_k=1)
    lens = view.locator("[data-part=lens]")
    lens.get_by_text("Data table").click()
    cells = lens.locator(f"tbody td:nth-child({STEPS.index(STEPS[1]) + 2}) button")
    tokens = [layer.candidates[0].token for layer in reversed(first.layers)]
    expect(cells).to_have_text([re.compile(f"^{re.escape(token)} ") for token in tokens])
    before = cursor(lens.locator(".plotly-host"))
    cells.first.click()
    at_step(view, STEPS[1])
    assert cursor(lens.locator(".plotly-host")) < before
    # A press on a column of the picture goes there too.
    column = lens.locator(".nsewdrag").bounding_box()
    assert column is not None
    page.mouse.click(column["x"] + 2.5 * column["width"] / len(STEPS), column["y"] + 10)
    at_step(view, STEPS[2])
    cells.first.click()
    at_step(view, STEPS[1])
    # The map: words move, and those that are watched stand on it.
    words = view.locator("[data-part=map] .scatterlayer .textpoint")
    expect(words.filter(has_text="cat")).to_have_count(1)
    places = "nodes => nodes.map((node) => node.getBoundingClientRect().x)"
    page.wait_for_timeout(500)  # it is drawn when the slider rests
    before_words = words.evaluate_all(places)
    loss = interpret.analyze_snapshot(session.snapshots.open("tiny-town", STEPS[1]), TEXT).loss
    expect(view.locator("[data-part=losses]")).to_contain_text(f"{loss:.3f} nats per token")
    view.get_by_role("slider").focus()
    page.keyboard.press("End")
    at_step(view, STEPS[-1])
    eventually(page, lambda: words.evaluate_all(places) != before_words)


def test_ranks_and_several_masked_tokens(page: Page, served: Served) -> None:
    address, session = served
    at(page, address)
    text = "the [MASK] cat sat on the [MASK]"
    view = ask(page, text, "", "cat")
    view.get_by_role("radio", name="rank").check(force=True)
    found = interpret.fill_mask(session.snapshots.open("tiny-town", STEPS[-1]), text, 8, word="cat").masks
    for place, mask in enumerate(found):
        view.get_by_role("radiogroup", name="Masked token").get_by_role("radio", name=str(place + 1)).check(force=True)
        assert mask.asked is not None
        expect(view.locator(".watched .keys")).to_contain_text(f"cat {mask.asked.rank:,}")
        assert guesses(view) == [one.token.removeprefix("##") for one in mask.candidates]


def test_a_link_to_a_run_that_was_deleted_says_so(page: Page, served: Served) -> None:
    page.goto(f"{served[0]}?space=runs&runs.open=dynamics&dynamics.run=deleted-run-1")
    expect(page.locator("#dynamics-scrubber")).to_contain_text("This run is no longer here; choose another one.")
    page.locator("#dynamics-run").select_option("tiny-town")
    expect(ready(page).locator("canvas").first).to_be_visible()


def test_a_link_leads_back_to_the_step_the_text_and_the_head(page: Page, served: Served) -> None:
    address, _ = served
    at(page, address)
    view = ask(page, TEXT, SECOND, "cat, dog")
    view.locator("canvas[data-layer='1'][data-head='0']").click()
    view.get_by_role("slider").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    at_step(view, STEPS[1])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#dynamics-body").get_by_role("button", name="Copy link").click()
    expect(page.locator("#dynamics-body")).to_contain_text("Link copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    eventually(page, lambda: page.url == link)  # the address follows too
    page.goto("about:blank")
    page.goto(link)
    view = ready(page)
    at_step(view, STEPS[1])
    expect(page.locator("#dynamics-a")).to_have_value(TEXT)
    expect(view.locator(".one .heading").first).to_have_text("Layer 2 of 2, head 1 of 2")
    expect(view.locator(".watched .keys")).to_contain_text("dog")


def test_a_run_leads_to_its_dynamics_and_to_its_comparison(page: Page, served: Served) -> None:
    page.goto(f"{served[0]}?space=runs&run.id=mini")
    expect(page.locator("#run-body h3")).to_have_text("mini")
    page.locator("#tab-dynamics").click()  # opened by its tab, it is about the run that is chosen
    expect(page.locator("#dynamics-scrubber")).to_contain_text("Training dynamics of mini")
    page.locator("#tab-run").click()
    page.locator("#run-dynamics").click()
    expect(page.locator("#dynamics-scrubber")).to_contain_text("Training dynamics of mini")
    page.locator("#tab-run").click()
    page.locator("#run-compare").click()
    expect(page.locator("#compare-chosen button")).to_have_text("mini (comes with the lab) ×")
    expect(page.locator("#compare-runs table")).to_contain_text("mini")


def test_pictures_and_numbers_leave_the_page(page: Page, browser: Browser, served: Served, tmp_path: Path) -> None:
    address, session = served
    at(page, address)
    view = ask(page, TEXT, "", "cat, dog")
    view.get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")

    def save(button: Locator) -> Path:
        with page.expect_download() as waiting:
            button.click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        return path

    watched = view.locator(".watched")
    with save(in_menu(watched.locator("[data-save=csv]"))).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(STEPS)
    for row in rows:
        found = interpret.fill_mask(session.snapshots.open("tiny-town", int(row["step"])), TEXT, word="dog")
        assert found.masks[0].asked is not None
        assert float(row["dog"]) == pytest.approx(found.masks[0].asked.probability, rel=0.01)
    assert save(in_menu(watched.locator("[data-save=png]"))).read_bytes().startswith(b"\x89PNG")
    svg = save(in_menu(view.locator(".said").locator("xpath=..").locator("[data-save=svg]"))).read_text(
        encoding="utf-8"
    )
    assert f"step {STEPS[-2]}" in svg
    body = json.loads(save(in_menu(view.locator("[data-save=json]").first)).read_text(encoding="utf-8"))
    assert [int(step) for step in body["frames"]] == list(STEPS)
    # The whole training as a page of its own, which nobody serves.
    saved = save(in_menu(view.locator("[data-save=html]").first))
    alone, log = browser.new_page(), PageLog()
    watch(alone, log)
    alone.goto(saved.as_uri())
    at_step(alone.locator("#view"), STEPS[-1])
    alone.get_by_role("slider").focus()
    alone.keyboard.press("Home")
    at_step(alone.locator("#view"), STEPS[0])
    assert guesses(alone.locator("#view")) == truth(session, STEPS[0])
    assert (log.errors, log.outside) == ([], [])
    alone.close()


def test_everybody_can_read_it_on_any_screen(page: Page, served: Served, screen: str) -> None:
    at(page, served[0], f"&__theme={screen}")
    view = ask(page, TEXT, SECOND, "cat, dog")
    for summary in view.locator("details.fold > summary").all():
        summary.click()
    page.wait_for_timeout(300)
    assert complaints(page, "panel-dynamics") == []


KITES = {"ben": "black", "sara": "white", "mia": "red", "leo": "green", "ravi": "blue", "amara": "yellow"}
KITE = "The kite of Ben is [MASK]."


def stories() -> str:
    """A text from which a small model learns within seconds whose kite has which colour."""
    pick = random.Random(0)
    documents = (pick.sample(sorted(KITES), 3) for _ in range(400))
    return "\n\n".join("\n".join(f"The kite of {name} is {KITES[name]}." for name in names) for names in documents)


def shares(session: AppState, run_id: str) -> list[dict[str, float]]:
    """What the snapshots of a run say of the tracked words."""
    reader = session.snapshots.reader(run_id)
    masks = [
        {word: interpret.fill_mask(reader.open(step), KITE, word=word).masks[0].asked for word in KITES.values()}
        for step in reader.steps()
    ]
    return [{word: asked.probability for word, asked in mask.items() if asked is not None} for mask in masks]


def test_a_run_is_watched_while_it_learns(page: Page, served: Served, tmp_path: Path) -> None:
    address, session = served
    corpus = tmp_path / "kites.txt"
    corpus.write_text(stories(), encoding="utf-8")
    config = PretrainConfig(
        corpus=(str(corpus),), preset="tiny", objective="mlm", vocab_size=200, seq_len=32, batch_size=8, steps=500,
        threads=1, causal_share=0.0,
    )  # fmt: skip
    run_id = session.runs.start(config)
    wait_for(lambda: session.snapshots.has_snapshots(run_id))

    # While it trains: its snapshots are the ones that are shown, and the slider grows.
    view = at(page, address)
    expect(view).to_contain_text(f"Training dynamics of {run_id.rsplit('-', 1)[0]}", timeout=60_000)
    expect(view).to_contain_text("Training is in progress", timeout=30_000)
    ask(page, KITE, "", "black, white, red")
    slider = view.get_by_role("slider")
    # With a few steps there, the second is not the last one, at which the slider would go along with the training.
    eventually(page, lambda: int(slider.get_attribute("max") or 0) > 4, 60)
    known = int(slider.get_attribute("max") or 0)
    slider.focus()
    page.keyboard.press("Home")
    at_step(view, 0)
    page.keyboard.press("ArrowRight")
    at_step(view, 1)
    page.keyboard.press("End")
    eventually(page, lambda: int(slider.get_attribute("max") or 0) > known, 60)
    assert session.runs.state(run_id).status == "training"
    # It stood at the end, so it stays at the end.
    eventually(page, lambda: slider.input_value() == slider.get_attribute("max"), 10)

    eventually(page, lambda: session.runs.state(run_id).status == "finished", 300)
    last = session.snapshots.reader(run_id).steps()[-1]
    at_step(ready(page), last)
    first, *_, final = shares(session, run_id)
    assert first["black"] < 0.05
    assert final["black"] > 0.5
    assert final["black"] > 10 * max(final["white"], final["red"])
    expect(view.locator(".watched .keys")).to_contain_text(f"black {100 * final['black']:.1f}%")
    expect(view.locator(".sentence .hole")).to_have_text("black")
