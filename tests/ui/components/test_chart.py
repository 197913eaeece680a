"""The chart and the strip of scores under real mouse and keyboard."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.charts import bars_payload, matrix_payload, plane_payload
from bertviz_lab.figures.payload import message_payload
from bertviz_lab.ui.components.chart import CHART
from tests.browser import eventually
from tests.ui.components.harness import HOSTILE, SENTENCE, Desk, charts, token_scores

Feed = Callable[[str, str], None]
Visit = Callable[..., Page]


def saved(page: Page, part: str, kind: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.locator(f"#{part} [data-save={kind}]").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


@pytest.mark.parametrize("kind", list(charts()))
def test_every_item_of_every_kind_is_reached_by_mouse_and_by_keys(visit: Visit, feed: Feed, kind: str):
    page = visit()
    feed("chart", charts()[kind])
    body = json.loads(charts()[kind])
    expect(page.locator("#chart .heading")).to_have_text(body["title"])
    items = page.locator("#chart [data-item]")
    count = items.count()
    assert count == {"matrix": 6, "words": 6, "bars": 6, "columns": 3, "counts": 4, "histogram": 3, "plane": 3,
                     "lines": 5}[kind]  # fmt: skip
    read = page.locator("#chart .readout")
    by_mouse = []
    for place in range(count):
        items.nth(place).hover(force=True)
        by_mouse.append(read.inner_text())
    assert len(set(by_mouse)) == count
    page.locator("#chart .plot").focus()
    page.keyboard.press("End")
    assert read.inner_text() == by_mouse[-1]
    page.keyboard.press("Home")
    assert read.inner_text() == by_mouse[0]
    page.keyboard.press("ArrowRight")
    assert read.inner_text() == by_mouse[1]


def test_arrow_keys_walk_a_matrix_by_rows_and_columns(visit: Visit):
    page = visit()
    page.locator("#chart .plot").focus()
    read = page.locator("#chart .readout")
    page.keyboard.press("Home")
    expect(read).to_have_text("one x: 0.500 nats")
    page.keyboard.press("ArrowDown")
    expect(read).to_have_text("two x: 0.100 nats")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(read).to_have_text("two z: 1.000 nats")


def test_a_cell_is_picked_by_click_and_by_enter(visit: Visit, desk: Desk):
    page = visit()
    page.locator("#chart [data-item='4']").click()
    eventually(page, lambda: {"row": 1, "column": 1} in desk.told("item_select"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    eventually(page, lambda: {"row": 0, "column": 1} in desk.told("item_select"))


@pytest.mark.parametrize("kind", list(charts()))
def test_the_numbers_stand_in_a_table_and_go_out_as_files(visit: Visit, feed: Feed, tmp_path: Path, kind: str):
    page = visit()
    feed("chart", charts()[kind])
    body = json.loads(charts()[kind])
    expect(page.locator("#chart .heading")).to_have_text(body["title"])
    page.locator("#chart summary").click()
    expect(page.locator("#chart .numbers tbody tr")).to_have_count(len(body["table"]["rows"]))
    rows = list(csv.reader(saved(page, "chart", "csv", tmp_path).read_text(encoding="utf-8").splitlines()))
    assert rows[0] == [str(name) for name in body["table"]["header"]]
    assert len(rows) == 1 + len(body["table"]["rows"])
    assert json.loads(saved(page, "chart", "json", tmp_path).read_text(encoding="utf-8"))["kind"] == body["kind"]
    assert saved(page, "chart", "png", tmp_path).read_bytes().startswith(b"\x89PNG")
    assert body["title"] in saved(page, "chart", "svg", tmp_path).read_text(encoding="utf-8")


def test_hostile_words_are_only_words(visit: Visit, feed: Feed):
    page = visit()
    feed("chart", charts()["words"])
    expect(page.locator("#chart .numbers")).to_contain_text(HOSTILE[0])
    assert page.evaluate("() => window.hacked") is None


def test_scores_are_read_by_mouse_and_keys_and_saved(visit: Visit, tmp_path: Path, desk: Desk):
    page = visit()
    body = json.loads(token_scores())
    cell = page.locator("#scores td.token button").nth(3)
    cell.hover()
    read = page.locator("#scores .readout")
    expect(read).to_contain_text(f"{SENTENCE[3]} (3): adds {body['rows'][0]['texts'][3]}")
    cell.click()
    eventually(page, lambda: {"position": 3} in desk.told("token_select"))
    page.keyboard.press("ArrowRight")
    expect(read).to_contain_text(f"{SENTENCE[4]} (4)")
    rows = list(csv.reader(saved(page, "scores", "csv", tmp_path).read_text(encoding="utf-8").splitlines()))
    assert rows[0] == ["position", "token", "adds", "weighs", "guess"]
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
            expect(page.locator("#chart .heading")).to_have_text(json.loads(kinds[kind])["title"])
        counts.append(page.evaluate("() => document.querySelectorAll('#chart *').length"))
    assert len(set(counts)) == 1


def test_a_picture_keeps_its_look_and_survives_control_characters(visit: Visit, feed: Feed, tmp_path: Path):
    page = visit()
    names = ["plain", "bell \x07 and \x01"]
    feed("chart", plane_payload(np.array([[0.0, 0.0], [1.0, 1.0]]), names, title="On a map", paths=[[0, 1]]))
    expect(page.locator("#chart .heading")).to_have_text("On a map")
    vector = saved(page, "chart", "svg", tmp_path)
    ElementTree.parse(vector)
    assert 'paint-order="stroke' in vector.read_text(encoding="utf-8")
    assert saved(page, "chart", "png", tmp_path).read_bytes().startswith(b"\x89PNG")


def test_a_saved_page_offers_no_link_to_itself(page: Page, tmp_path: Path):
    body = plane_payload(np.array([[0.0, 0.0]]), ["a"], title="T").having(link={"tab": "x", "model": "", "part": ""})
    path = tmp_path / "page.html"
    path.write_text(CHART.page("T", body), encoding="utf-8")
    page.goto(path.as_uri())
    expect(page.locator(".heading")).to_have_text("T")
    expect(page.locator("[data-save=png]")).to_be_visible()
    expect(page.locator("[data-save=link]")).to_have_count(0)


def paint(page: Page, item: int) -> str:
    return page.locator(f"#chart [data-item='{item}'] rect").last.evaluate("node => getComputedStyle(node).fill")


def test_a_histogram_stands_on_the_ground_with_its_names_below(visit: Visit, feed: Feed):
    page = visit()
    feed("chart", charts()["histogram"])
    expect(page.locator("#chart .heading")).to_have_text("Histogram")
    size = "node => ['y', 'height'].map((name) => Number(node.getAttribute(name)))"
    columns = [page.locator(f"#chart [data-item='{item}'] rect").last.evaluate(size) for item in range(3)]
    foot = sum(columns[0])
    assert [sum(column) for column in columns] == pytest.approx([foot] * 3)
    assert [height / columns[2][1] for _, height in columns] == pytest.approx([4, 9, 1])
    for name in ("1–8", "9–16", "17–24"):
        assert float(page.locator("#chart .plot text", has_text=name).first.get_attribute("y") or 0) > foot
    assert paint(page, 0) == paint(page, 1) != paint(page, 2)
    expect(page.locator("#chart .key")).to_have_text(["fits", "cut"])


def test_counts_are_written_as_they_are_and_what_is_wrong_has_another_colour(visit: Visit, feed: Feed):
    page = visit()
    feed("chart", charts()["counts"])
    expect(page.locator("#chart [data-item] text")).to_have_text(["9", "1", "1", "1"])
    assert paint(page, 2) != paint(page, 3)  # the same share, on the diagonal and off it
    page.locator("#chart [data-item='1']").hover()
    expect(page.locator("#chart .readout")).to_have_text("b")


def test_a_count_is_left_out_rather_than_cut(visit: Visit, feed: Feed):
    page = visit()
    names = [f"label {number}" for number in range(60)]
    counts = np.full((60, 60), 1234)
    feed("chart", matrix_payload(counts / 2000, names, names, title="Many", counts=counts, diagonal=True))
    expect(page.locator("#chart .heading")).to_have_text("Many")
    expect(page.locator("#chart [data-item]")).to_have_count(3600)
    expect(page.locator("#chart [data-item] text")).to_have_count(0)


def test_a_number_is_written_whole_into_its_cell_or_not_at_all(visit: Visit, feed: Feed):
    page = visit()
    values = np.array([[-0.00059, 0.0001, 0.1234, -1.5, 123.45, -1234567.0]])
    feed("chart", matrix_payload(values, ["row"], list("abcdef"), title="Numbers"))
    expect(page.locator("#chart [data-item] text")).to_have_text(["-.001", "0", ".123", "-1.50", "123.5"])


def test_a_tall_chart_scrolls_on_the_page_and_is_saved_entire(visit: Visit, feed: Feed, tmp_path: Path):
    page = visit()
    names = [f"label {number}" for number in range(100)]
    feed("chart", bars_payload(names, [("share", [0.5] * 100)], title="Tall"))
    expect(page.locator("#chart .heading")).to_have_text("Tall")
    plot = page.locator("#chart .plot")
    assert plot.evaluate("node => node.scrollHeight > node.clientHeight + 500")
    plot.focus()
    page.keyboard.press("End")
    assert plot.evaluate("node => node.scrollTop") > 500
    before = plot.bounding_box()
    root = ElementTree.parse(saved(page, "chart", "svg", tmp_path)).getroot()
    assert float(root.attrib["height"]) > plot.evaluate("node => node.scrollHeight")
    assert plot.bounding_box() == before


def test_names_too_long_for_a_phone_stand_above_their_bars(visit: Visit, feed: Feed):
    page = visit(width=400)
    name = "learning rate 5e-05, batch 16, epochs 2"
    feed("chart", bars_payload([name], [("share", [0.5])], title="Trials"))
    expect(page.locator("#chart .heading")).to_have_text("Trials")
    expect(page.locator("#chart .plot text").first).to_have_text(name)
