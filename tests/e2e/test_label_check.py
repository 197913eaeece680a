"""From wrong labels to a better classifier: doubts are decided with keys and mouse, and a run learns from them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab import FinetuneConfig
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.runs.run_folder import record
from tests.browser import complaints, data_table, eventually, expect_marks
from tests.ui.finetuned import RUN
from tests.ui.pages import Served, little_settings, serve

FLIPPED = (6, 21)
TRAINING = 240_000  # milliseconds until a short training on a busy machine has ended


def line(n: int, *, right: bool = False) -> str:
    label = ("good", "bad")[(n % 2) ^ (n in FLIPPED and not right)]
    return f'{n};"the {("red cat", "small dog")[n % 2]} sat on day {n}";{label}\r\n'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page with a run on reviews of which two have a wrong label."""
    folder = tmp_path_factory.mktemp("labels")
    settings, run, reviews = little_settings(folder), folder / "runs" / RUN, folder / "reviews.csv"
    reviews.write_bytes("".join(["id;text;label\r\n", *map(line, range(60))]).encode())
    config = FinetuneConfig(
        train=(str(reviews),), model=str(folder / "checkpoints" / "little"), epochs=2, batch_size=8, threads=1
    )
    for _ in record(finetune(config, run), run):
        pass
    with serve(settings) as (url, session):
        yield url, session


def test_wrong_labels_are_corrected_and_a_further_run_learns_from_them(page: Page, served: Served) -> None:
    url, session = served
    page.add_init_script("delete Uint8Array.fromBase64")  # a browser of 2024
    page.goto(f"{url}?space=runs&run.id={RUN}&show=labels")
    items = page.locator("#labels-list [role=option]")
    expect(page.locator("#labels-facts")).to_contain_text("Estimated wrong labels", timeout=TRAINING)
    expect(page.locator("#labels-download")).to_be_disabled()
    expect(items).to_have_count(2)
    for n in FLIPPED:
        doubted = page.locator("#labels-list [role=option]", has_text=f"on day {n}").first
        expect(doubted).to_contain_text(f"suggested {('good', 'bad')[n % 2]}")
        expect(doubted).to_contain_text("During training the given label was predicted in")

    # With keys: accepted, the next one left out, which is undone.
    items.first.click()
    page.keyboard.press("a")
    expect(items.first).to_contain_text(re.compile("decided (good|bad)"))
    expect(items.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("d")
    progress = page.locator("#panel-labels .part").first
    expect(progress).to_contain_text("1 label corrected, 1 example left out, 0 kept.")
    page.keyboard.press("u")
    expect(progress).to_contain_text("1 label corrected, 0 examples left out, 0 kept.")

    # With the mouse: another label, by its name.
    items.nth(1).click()
    given = "good" if "given bad" in items.nth(1).inner_text() else "bad"
    page.locator("#labels-other").fill(given)
    page.locator("#labels-label").click()
    expect(items.nth(1)).to_contain_text(f"decided {given}")

    # A point of the map, and an example that nobody doubts.
    page.locator("#labels-map > summary").click()
    expect_marks(page.locator("#labels-map-chart"), 54)
    click = "node => node.emit('plotly_click', {points: [{pointNumber: 0}]})"
    page.locator("#labels-map-chart .plotly-host").evaluate(click)
    expect(page.locator("#labels-all")).to_be_visible()
    page.locator("#labels-all").click()
    data_table(page.locator("#labels-map-chart")).locator("[data-item]").last.click()
    expect(page.locator("#labels-list")).to_contain_text("Chosen training examples")
    expect(items).to_have_count(1)
    items.first.click()
    page.locator("#labels-keep").click()
    expect(items.first).to_contain_text("decided keep")
    page.locator("#labels-all").click()
    expect(items.first).to_contain_text("suggested")
    page.locator("#labels-leaks > summary").click()
    expect(page.locator("#labels-leaks-list")).to_contain_text("There are no examples of this kind.")

    # The file as it came, but for the two labels.
    with page.expect_download(timeout=TRAINING) as waiting:
        page.locator("#labels-download").click()
    assert waiting.value.suggested_filename == "reviews-corrected.csv"
    right = [line(n, right=True) for n in range(60)]
    assert Path(waiting.value.path()).read_bytes() == "".join(["id;text;label\r\n", *right]).encode()

    # A further run, with the same examples held out, and both compared.
    page.locator("#labels-again").click()
    eventually(page, lambda: len(session.runs.ids()) == 2, 60)
    (again,) = set(session.runs.ids()) - {RUN}
    eventually(page, lambda: session.runs.state(again).status == "finished", TRAINING / 1000)
    held_out = [session.runs.folder(run) / "examples" / "held_out.jsonl" for run in (RUN, again)]
    assert held_out[0].read_bytes() == held_out[1].read_bytes()
    page.reload()
    expect(page.locator("#labels-compared")).to_contain_text(session.runs.name(again), timeout=TRAINING)
    expect(page.locator("#panel-labels [aria-busy=true]")).to_have_count(0, timeout=TRAINING)
    assert complaints(page, "panel-labels") == []

    # Its labels are not doubted: there is nothing to decide, and nothing to download.
    page.goto(f"{url}?space=runs&run.id={again}&show=labels")
    expect(page.locator("#labels-list")).to_contain_text("There are no examples of this kind.", timeout=TRAINING)
    buttons = [page.locator(f"#labels-{name}") for name in ("accept", "undo", "download", "again")]
    for button in buttons:
        expect(button).to_be_hidden()
    # One that is chosen on the map is decided, which can be undone.
    page.locator("#labels-map > summary").click()
    page.locator("#labels-map-chart .plotly-host").evaluate(click)
    items.first.click()
    page.keyboard.press("u")
    page.keyboard.press("k")
    expect(progress).to_contain_text("1 kept.")
    expect(page.locator("#panel-labels [role=status]", has_text="taken back")).to_have_count(0)
    page.locator("#labels-all").click()
    expect(items).to_have_count(0)
    page.locator("#labels-undo").click()
    for button in buttons:
        expect(button).to_be_hidden()


def test_of_a_pretraining_the_panel_says_why_there_is_no_check(page: Page, served: Served) -> None:
    page.goto(f"{served[0]}?space=runs&run.id=little&show=labels")
    expect(page.locator("#panel-labels")).to_contain_text("of a shipped model are not here", timeout=TRAINING)
