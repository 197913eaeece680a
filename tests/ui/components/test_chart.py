"""The chart and the strip of scores under real mouse and keyboard."""

import csv
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from bertviz_lab.figures.charts import bars_payload, plane_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.figures.training.finetuning import confusion_payload
from bertviz_lab.metrics import classification_report
from bertviz_lab.ui.components.standalone import standalone_page
from tests.browser import eventually
from tests.charts import shown
from tests.ui.components.harness import HOSTILE, SENTENCE, Desk, charts, token_scores

Feed = Callable[[str, str], None]
Visit = Callable[..., Page]
PARTS = ["chart", "scores", "attention"]


def saved(page: Page, part: str, kind: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.locator(f"#{part} [data-save={kind}]").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


MARKS = {
    "matrix": ".heatmaplayer image",
    "words": ".heatmaplayer image",
    "counts": ".heatmaplayer image",
    "bars": ".barlayer .point",
    "columns": ".barlayer .point",
    "histogram": ".barlayer .point",
    "plane": ".scatterlayer .point",
    "lines": ".scatterlayer .point",
}


def drawn(page: Page, kind: str) -> Locator:
    """The marks of a chart, once they are there."""
    marks = page.locator(f"#chart .plot {MARKS[kind]}")
    expect(marks.first).to_be_attached()
    return marks


def box_of_cells(page: Page) -> dict[str, float]:
    """Where the cells of a heatmap lie in the window."""
    cells = page.locator("#chart .nsewdrag").first
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    assert box
    return dict(box)


def table(page: Page) -> Locator:
    """The data table of the chart, unfolded."""
    if not page.locator("#chart details.table[open]").count():
        page.locator("#chart details.table summary").click()
    return page.locator("#chart .numbers tbody")


@pytest.mark.parametrize("kind", list(charts()))
def test_every_kind_is_drawn_by_plotly_and_described_for_those_who_do_not_see_it(visit: Visit, feed: Feed, kind: str):
    page = visit()
    feed("chart", charts()[kind])
    body = shown(charts()[kind])
    expect(page.locator("#chart .heading")).to_have_text(body["title"])
    marks = drawn(page, kind)
    expected = {"bars": 6, "columns": 3, "histogram": 3, "plane": 3, "lines": 5}
    expect(marks).to_have_count(expected.get(kind, 1))
    # Those that can be zoomed hold buttons, which an image cannot.
    picture = page.get_by_role("group" if kind in ("plane", "lines") else "img", name=body["title"])
    expect(picture).to_have_count(1)
    expect(table(page).locator("tr")).to_have_count(len(body["table"]["rows"]))


def test_pointing_at_a_cell_says_what_it_is(visit: Visit, feed: Feed):
    page = visit()
    feed("chart", charts()["counts"])
    drawn(page, "counts")
    box = box_of_cells(page)
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
    expect(page.locator("#chart .hoverlayer .hovertext")).to_contain_text("b")


def test_a_cell_is_picked_by_a_click_on_it_and_by_its_button_in_the_table(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    feed("chart", charts()["matrix"])
    drawn(page, "matrix")
    box = box_of_cells(page)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 0.75 * box["height"])
    eventually(page, lambda: {"row": 1, "column": 1} in desk.told("item_select"))
    buttons = table(page).get_by_role("button")
    expect(buttons).to_have_count(6)
    buttons.nth(1).focus()
    page.keyboard.press("Enter")
    eventually(page, lambda: {"row": 0, "column": 1} in desk.told("item_select"))


@pytest.mark.parametrize("kind", list(charts()))
def test_the_numbers_stand_in_a_table_and_go_out_as_files(visit: Visit, feed: Feed, tmp_path: Path, kind: str):
    page = visit()
    feed("chart", charts()[kind])
    body = shown(charts()[kind])
    expect(page.locator("#chart .heading")).to_have_text(body["title"])
    expect(table(page).locator("tr")).to_have_count(len(body["table"]["rows"]))
    rows = list(csv.reader(saved(page, "chart", "csv", tmp_path).read_text(encoding="utf-8").splitlines()))
    assert rows[0] == [str(name) for name in body["table"]["header"]]
    assert len(rows) == 1 + len(body["table"]["rows"])
    assert shown(saved(page, "chart", "json", tmp_path).read_text(encoding="utf-8"))["figure"] == body["figure"]
    assert saved(page, "chart", "png", tmp_path).read_bytes().startswith(b"\x89PNG")
    assert body["title"] in saved(page, "chart", "svg", tmp_path).read_text(encoding="utf-8")


def test_of_a_chart_that_shows_some_labels_the_csv_has_all(visit: Visit, feed: Feed, tmp_path: Path) -> None:
    page = visit()
    classes = np.arange(41)
    feed("chart", confusion_payload(classification_report(classes, np.roll(classes, 1), [f"{n:02}" for n in classes])))
    drawn(page, "matrix")
    expect(table(page).locator("tr")).to_have_count(40)
    expect(table(page).locator("td").first).to_have_text("0")  # a count, not a share
    rows = list(csv.reader(saved(page, "chart", "csv", tmp_path).read_text(encoding="utf-8").splitlines()))
    assert rows[:2] == [["true label", "predicted", "examples"], ["00", "40", "1"]]
    assert len(rows) == 1 + 41


def test_a_share_is_written_in_the_table_as_at_its_bar(visit: Visit, feed: Feed):
    page = visit()
    words = [["12.8% (5)", "0.0% (0)"]]
    feed("chart", bars_payload(["cat", "dog"], [("share", [0.1282, 0.0])], title="Shares", texts=words))
    expect(page.locator("#chart .heading")).to_have_text("Shares")
    expect(table(page).locator("td")).to_have_text(words[0])


def test_hostile_words_are_only_words(visit: Visit, feed: Feed):
    page = visit()
    for kind in ("words", "bars"):
        feed("chart", charts()[kind])
        expect(page.locator("#chart .heading")).to_have_text(shown(charts()[kind])["title"])
        drawn(page, kind)
        expect(table(page)).to_contain_text(HOSTILE[0])
    expect(page.locator("#chart .plot .ytick").last).to_contain_text("<img src=x")
    assert page.evaluate("() => window.hacked") is None


def test_scores_are_read_by_mouse_and_keys_and_saved(visit: Visit, tmp_path: Path):
    page = visit()
    body = shown(token_scores())
    cell = page.locator("#scores td.token button").nth(3)
    cell.hover()
    read = page.locator("#scores .readout")
    expect(read).to_contain_text(f"{SENTENCE[3]} (3): adds {body['rows'][0]['texts'][3]}")
    cell.click()
    page.keyboard.press("ArrowRight")
    expect(read).to_contain_text(f"{SENTENCE[4]} (4)")
    rows = list(csv.reader(saved(page, "scores", "csv", tmp_path).read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["position", "token", "adds", "weighs", "guess", "text"]
    assert len(rows) == 1 + len(SENTENCE)
    assert float(rows[1][2]) == pytest.approx(-1.5)


def test_what_adds_and_what_takes_away_have_different_shades(visit: Visit):
    page = visit()
    paint = "node => getComputedStyle(node).backgroundColor"
    cells = page.locator("#scores tr:nth-child(2) .cell")
    first, last = cells.nth(0).evaluate(paint), cells.nth(cells.count() - 1).evaluate(paint)
    assert first != last


@pytest.mark.parametrize("part", ["scores", "chart", "attention"])
def test_a_view_is_saved_as_a_page_that_works_alone(visit: Visit, tmp_path: Path, page: Page, part: str):
    visit()
    words = page.locator(f"#{part} .heading").first.inner_text()
    path = saved(page, part, "html", tmp_path)
    page.goto(path.as_uri())
    expect(page.locator(".lab .heading").first).to_have_text(words)


@pytest.mark.parametrize("part", ["scores", "chart"])
def test_what_cannot_be_computed_is_one_sentence(visit: Visit, feed: Feed, part: str):
    page = visit()
    feed(part, message_payload("Type a sentence first."))
    expect(page.locator(f"#{part} .empty")).to_have_text("Type a sentence first.")


def test_updates_leave_no_rubbish(visit: Visit, feed: Feed):
    page = visit()
    kinds = charts()
    counts = []
    for _ in range(4):
        for kind in kinds:
            feed("chart", kinds[kind])
            expect(page.locator("#chart .heading")).to_have_text(shown(kinds[kind])["title"])
            drawn(page, kind)
        counts.append(page.evaluate("() => document.querySelectorAll('#chart *').length"))
    assert len(set(counts[1:])) == 1


def test_a_chart_takes_the_colours_of_a_dark_page(visit: Visit, feed: Feed):
    page = visit()
    feed("chart", charts()["bars"])
    bars = drawn(page, "bars").first.locator("path")
    light = bars.evaluate("node => getComputedStyle(node).fill")
    page.evaluate("() => document.body.classList.add('dark')")
    expect(bars).not_to_have_css("fill", light)


def test_names_with_control_characters_are_saved(visit: Visit, feed: Feed, tmp_path: Path):
    page = visit()
    names = ["plain", "bell \x07 and \x01"]
    feed("chart", plane_payload(np.array([[0.0, 0.0], [1.0, 1.0]]), names, title="On a map", paths=[[0, 1]]))
    expect(page.locator("#chart .heading")).to_have_text("On a map")
    assert "plain" in saved(page, "chart", "svg", tmp_path).read_text(encoding="utf-8")
    assert saved(page, "chart", "png", tmp_path).read_bytes().startswith(b"\x89PNG")


def test_a_saved_page_needs_no_server(page: Page, tmp_path: Path):
    body = plane_payload(np.array([[0.0, 0.0]]), ["a"], title="T")
    path = tmp_path / "page.html"
    path.write_text(standalone_page("chart", "T", body), encoding="utf-8")
    page.goto(path.as_uri())
    expect(page.locator(".heading")).to_have_text("T")
    expect(page.locator("[data-save=png]")).to_be_visible()


def test_marked_columns_have_another_look_and_both_are_named(visit: Visit, feed: Feed):
    page = visit()
    feed("chart", charts()["histogram"])
    columns = drawn(page, "histogram").locator("path")
    fills = [columns.nth(place).evaluate("node => getComputedStyle(node).fill") for place in range(3)]
    assert fills[0] == fills[1] != fills[2]
    expect(page.locator("#chart .key")).to_have_text(["fits", "cut"])


def test_a_tall_chart_scrolls_on_the_page_and_is_saved_entire(visit: Visit, feed: Feed, tmp_path: Path):
    page = visit()
    names = [f"label {number}" for number in range(100)]
    feed("chart", bars_payload(names, [("share", [0.5] * 100)], title="Tall"))
    expect(page.locator("#chart .heading")).to_have_text("Tall")
    expect(drawn(page, "bars")).to_have_count(100)
    plot = page.locator("#chart .plot")
    assert plot.evaluate("node => node.scrollHeight > node.clientHeight + 500")
    root = ElementTree.parse(saved(page, "chart", "svg", tmp_path)).getroot()
    assert float(root.attrib["height"]) >= plot.evaluate("node => node.scrollHeight")


def test_the_chart_library_is_loaded_once_and_only_when_a_chart_is_there(page: Page, tmp_path: Path):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    path = tmp_path / "page.html"
    path.write_text(standalone_page("chart", "T", charts()["lines"]), encoding="utf-8")
    page.goto(path.as_uri())
    expect(page.locator(".plot .scatterlayer .point")).to_have_count(5)
    assert asked == [path.as_uri()]  # a saved page needs nothing else
