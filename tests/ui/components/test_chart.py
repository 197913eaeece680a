"""The chart under real mouse and keyboard, drawings as pages of their own, and what modules may not do."""

import csv
import itertools
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import figure, message_payload
from bertviz_lab.figures.training.finetuning import confusion_payload
from bertviz_lab.metrics.classification import classification_report
from bertviz_lab.ui.components.standalone import DRAWINGS, standalone_page
from bertviz_lab.ui.server import assets
from tests.browser import eventually, in_menu
from tests.charts import shown
from tests.ui.components.harness import HOSTILE, SENTENCE, Desk, Feed, Visit, charts, first_values, saved, token_scores

PARTS = ["chart", "scores", "attention"]

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


def saved_rows(page: Page, part: str) -> list[list[str]]:
    return list(csv.reader(saved(page, part, "csv").decode().splitlines()))


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


def test_on_a_phone_the_names_of_masking_outcomes_are_not_cut(visit: Visit):
    outcomes = [
        {"outcome": outcome, "observed": count, "expected": count, "low": count - 180.0, "high": count + 180.0}
        for outcome, count in (("mask", 24_000), ("random", 3_000), ("kept", 3_000))
    ]
    page = visit(width=400, chart=figure("masking_statistics", draws=10_000, chosen=30_000, outcomes=outcomes))
    expect(page.locator("#chart .ytick text").last).to_have_text("unchanged")
    lefts = "texts => texts.map(text => text.getBoundingClientRect().x - text.closest('svg').getBoundingClientRect().x)"
    assert min(page.locator("#chart .ytick text").evaluate_all(lefts)) >= 0


@pytest.mark.parametrize("kind", list(charts()))
def test_every_kind_is_drawn_described_tabled_and_saved(visit: Visit, kind: str):
    page = visit(chart=charts()[kind])
    body = shown(charts()[kind])
    expect(page.locator("#chart .heading")).to_have_text(body["title"])
    expected = {"bars": 6, "columns": 3, "histogram": 3, "plane": 3, "lines": 5}
    expect(drawn(page, kind)).to_have_count(expected.get(kind, 1))
    # Those that can be zoomed hold buttons, which an image cannot.
    picture = page.get_by_role("group" if kind in ("plane", "lines") else "img", name=body["title"])
    expect(picture).to_have_count(1)
    expect(table(page).locator("tr")).to_have_count(len(body["table"]["rows"]))
    rows = saved_rows(page, "chart")
    assert rows[0] == [str(name) for name in body["table"]["header"]]
    assert len(rows) == 1 + len(body["table"]["rows"])
    assert shown(saved(page, "chart", "json").decode())["figure"] == body["figure"]
    assert saved(page, "chart", "png").startswith(b"\x89PNG")
    assert body["title"] in saved(page, "chart", "svg").decode()


def test_pictures_are_dark_on_white_or_have_no_ground(visit: Visit):
    page = visit("dark", chart=charts()["bars"])
    for name, ground in (("PNG", (255, 255, 255, 255)), ("PNG, transparent", (0, 0, 0, 0))):
        with page.expect_download() as waiting:
            in_menu(page.locator(f"#chart [aria-label='Save the picture as {name}']")).click()
        picture = Image.open(waiting.value.path()).convert("RGBA")
        assert picture.getpixel((0, 0)) == ground
        shades = [sum(pixel[:3]) for pixel in picture.get_flattened_data() if pixel[3] == 255]
        assert min(shades) < 200 if name == "PNG" else max(shades) > 600, "text"
        assert picture.width > 1.9 * page.locator("#chart .plotly-host").evaluate("node => node.clientWidth")
    expect(page.locator("body")).to_have_class(re.compile("dark"))


def test_a_cell_is_read_by_pointing_and_picked_by_a_click_and_in_the_table(visit: Visit, feed: Feed, desk: Desk):
    page = visit(chart=charts()["counts"])
    drawn(page, "counts")
    box = box_of_cells(page)
    page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
    expect(page.locator("#chart .hoverlayer .hovertext")).to_contain_text("b")
    feed("chart", charts()["matrix"])
    expect(page.locator("#chart .xtick").last).to_have_text("z")  # both are heat maps: the marks do not differ
    box = box_of_cells(page)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.75 * box["height"])
    expect(page.locator("#chart .hoverlayer .hovertext")).to_contain_text("two")  # a click is of the cell that is read
    page.mouse.down()
    page.mouse.up()
    eventually(page, lambda: {"row": 1, "column": 1} in desk.told("item_select"))
    buttons = table(page).get_by_role("button")
    expect(buttons).to_have_count(6)
    buttons.nth(1).focus()
    page.keyboard.press("Enter")
    eventually(page, lambda: {"row": 0, "column": 1} in desk.told("item_select"))


def test_the_table_has_counts_and_shares_as_they_are_drawn_and_the_csv_has_all(visit: Visit, feed: Feed):
    classes = np.arange(41)
    report = classification_report(classes, np.roll(classes, 1), [f"{n:02}" for n in classes])
    page = visit(chart=confusion_payload(report))
    drawn(page, "matrix")
    expect(table(page).locator("tr")).to_have_count(40)
    expect(table(page).locator("td").first).to_have_text("0")  # a count, not a share
    rows = saved_rows(page, "chart")
    assert rows[:2] == [["true label", "predicted", "examples"], ["00", "40", "1"]]
    assert len(rows) == 1 + 41
    words = [["12.8% (5)", "0.0% (0)"]]
    feed("chart", figure("bars", groups=["cat", "dog"], series=[("share", [0.1282, 0.0])], title="Shares", texts=words))
    expect(page.locator("#chart .heading")).to_have_text("Shares")
    expect(table(page).locator("td")).to_have_text(words[0])


def test_hostile_words_are_only_words_and_control_characters_are_saved(visit: Visit, feed: Feed):
    page = visit()
    for kind in ("words", "bars"):
        feed("chart", charts()[kind])
        expect(page.locator("#chart .heading")).to_have_text(shown(charts()[kind])["title"])
        drawn(page, kind)
        expect(table(page)).to_contain_text(HOSTILE[0])
    expect(page.locator("#chart .plot .ytick").last).to_contain_text("<img src=x")
    assert page.evaluate("() => window.hacked") is None
    names = ["plain", "bell \x07 and \x01"]
    feed("chart", figure("plane", points=[[0, 0], [1, 1]], names=names, title="On a map", paths=[[0, 1]]))
    expect(page.locator("#chart .heading")).to_have_text("On a map")
    assert b"plain" in saved(page, "chart", "svg")
    assert saved(page, "chart", "png").startswith(b"\x89PNG")


def test_scores_are_read_by_mouse_and_keys_and_saved(visit: Visit):
    page = visit()
    body = shown(token_scores())
    paint = "nodes => nodes.map(node => getComputedStyle(node).backgroundColor)"
    first, *_, last = page.locator("#scores tr:nth-child(2) .cell").evaluate_all(paint)
    assert first != last, "what adds and what takes away have different shades"
    cell = page.locator("#scores td.token button").nth(3)
    cell.hover()
    read = page.locator("#scores .readout")
    expect(read).to_contain_text(f"{SENTENCE[3]} (3): adds {body['rows'][0]['texts'][3]}")
    cell.click()
    page.keyboard.press("ArrowRight")
    expect(read).to_contain_text(f"{SENTENCE[4]} (4)")
    rows = saved_rows(page, "scores")
    assert rows[0] == ["position", "token", "adds", "weighs", "guess", "text"]
    assert len(rows) == 1 + len(SENTENCE)
    assert float(rows[1][2]) == pytest.approx(-1.5)


@pytest.mark.parametrize("part", PARTS)
def test_what_cannot_be_computed_is_one_sentence(visit: Visit, feed: Feed, part: str):
    page = visit()
    empty = page.locator(f"#{part} .empty").first  # a drawing inside has one, too
    for value in (message_payload("Type a sentence first."), ""):
        feed(part, value)
        expect(empty).to_have_text("Type a sentence first." if value else re.compile("..."))
    feed(part, first_values()[part])
    expect(empty).to_be_hidden()


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


def test_marked_columns_have_another_look_and_all_take_the_colours_of_a_dark_page(visit: Visit):
    page = visit(chart=charts()["histogram"])
    columns = drawn(page, "histogram").locator("path")
    fills = columns.evaluate_all("nodes => nodes.map(node => getComputedStyle(node).fill)")
    assert fills[0] == fills[1] != fills[2]
    expect(page.locator("#chart .key")).to_have_text(["fits", "cut"])
    page.evaluate("() => document.body.classList.add('dark')")
    expect(columns.first).not_to_have_css("fill", fills[0])


def test_a_tall_chart_scrolls_on_the_page_and_is_saved_entire(visit: Visit):
    names = [f"label {number}" for number in range(100)]
    page = visit(chart=figure("bars", groups=names, series=[("share", [0.5] * 100)], title="Tall"))
    expect(page.locator("#chart .heading")).to_have_text("Tall")
    expect(drawn(page, "bars")).to_have_count(100)
    plot = page.locator("#chart .plot")
    assert plot.evaluate("node => node.scrollHeight > node.clientHeight + 500")
    root = ElementTree.fromstring(saved(page, "chart", "svg").decode())
    assert float(root.attrib["height"]) >= plot.evaluate("node => node.scrollHeight")


def test_the_names_of_many_columns_lie_apart_and_the_matrix_scrolls(visit: Visit):
    names = [f"label {number}" for number in range(40)]
    page = visit(width=400, chart=figure("matrix", values=np.eye(40), rows=names, columns=names, title="Wide"))
    expect(page.locator("#chart .xtick")).to_have_count(40)
    lefts = page.locator("#chart .xtick").evaluate_all("all => all.map((tick) => tick.getBoundingClientRect().left)")
    widths = page.locator("#chart .xtick").evaluate_all("all => all.map((tick) => tick.getBoundingClientRect().width)")
    lefts.sort()
    assert min(right - left for left, right in itertools.pairwise(lefts)) >= max(widths) - 1
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.locator("#chart .plot").focus()
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: page.locator("#chart .plot").evaluate("node => node.scrollLeft") > 0)


MODULES = {name: text for name, text in assets.files().items() if name.endswith(".js") and "vendor" not in name}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_module_parses_text_as_html_or_reaches_outside(name: str):
    text = MODULES[name]
    # explanation.html; lessons, the exam, and the leader's page, whose texts are escaped by their templates
    pages = ("views/lessons/lessons.js", "views/lessons/exam.js", "workshop/leader.js")
    trusted = name in ("client/workspace.js", *pages)
    assert trusted or not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", text)
    assert "new Function" not in text
    if name != "site.js":
        assert set(re.findall(r"https?://[^'\"` ]+", text)) <= {"http://www.w3.org/2000/svg"}


DRAWN = {
    "attention": ".grid canvas", "chart": ".plotly-host svg", "examples": ".item", "fill": ".candidate",
    "marked": "mark", "tokens": "td",
}  # fmt: skip


@pytest.mark.parametrize("kind", DRAWN)
def test_a_page_of_its_own_is_drawn_from_a_file_and_loads_nothing(kind: str, tmp_path: Path, page: Page):
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    file = tmp_path / "page.html"
    file.write_text(standalone_page(kind, "A picture", first_values()[kind]), encoding="utf-8")
    page.goto(file.as_uri())
    page.locator(f"#view {DRAWN[kind]}").first.wait_for()
    assert {url.split(":")[0] for url in asked[1:]} <= {"data"}


def test_a_label_is_text_on_a_page():
    page = standalone_page("preview", "</script><b>&", '{"rows": []}')
    assert "<title>&lt;/script&gt;&lt;b&gt;&amp;</title>" in page
    assert '"payload">{"rows": []}</script>' in page


def test_an_unknown_drawing_is_refused():
    with pytest.raises(InputError, match="no drawing 'nothing'"):
        standalone_page("nothing", "")
    assert "nothing" not in DRAWINGS
