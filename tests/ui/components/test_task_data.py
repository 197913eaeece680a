"""The preview of a data file, the list of examples and the marked text, under real mouse and keyboard."""

import csv
import json
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.training.data import examples_payload, preview_payload
from tests.browser import eventually
from tests.ui.components import tuned
from tests.ui.components.harness import HOSTILE, Desk, Feed, Visit, saved

PARTS = ["preview", "examples", "marked"]


def test_the_table_shows_the_rows_and_its_columns_are_chosen_by_click_and_enter(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    expect(page.locator("#preview thead th")).to_have_text(["id", "reviewtext", "starslabel", "note"])
    expect(page.locator("#preview tbody tr").nth(1).locator("td")).to_have_text(["2", HOSTILE[0], "bad", ""])
    cell = page.locator("#preview tbody .cell").nth(1)
    assert cell.evaluate("node => node.scrollHeight > node.clientHeight")  # a long text is cut to two lines
    assert page.evaluate("window.hacked") is None
    page.get_by_role("button", name="stars, used as label. Choose what this column is.").click()
    eventually(page, lambda: desk.told("column_select") == [{"column": 2, "name": "stars"}])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    eventually(page, lambda: desk.told("column_select")[1:] == [{"column": 3, "name": "note"}])
    feed("preview", preview_payload(replace(tuned.table(), text_b="note")))
    expect(page.locator("#preview .role")).to_have_text(["text A", "label", "text B"])


def test_words_stand_over_their_labels_and_questions_with_passage_and_answer(visit: Visit, feed: Feed, desk: Desk):
    page = visit(preview=preview_payload(*tuned.sentence_data()))
    words = page.locator("#preview .words")
    expect(words).to_have_count(2)
    expect(words.first.locator(".tag")).to_have_text(["B-PER", "I-PER", "O", "O", "B-LOC", "O"])
    page.locator("#preview .names button").nth(1).click()
    eventually(page, lambda: desk.told("column_select") == [{"column": 1, "name": "2"}])
    feed("preview", preview_payload(*tuned.question_data()))
    expect(page.locator("#preview thead th")).to_have_text(["passage", "question", "answer"])
    expect(page.locator("#preview tbody tr").last.locator("td").last).to_have_text("(not in the passage)")
    expect(page.locator("#preview button:visible")).to_have_count(0)


def test_a_wide_table_scrolls_by_itself_on_a_phone(visit: Visit):
    page = visit(width=400)
    assert page.locator("#preview .rows").evaluate("node => node.scrollWidth > node.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator("#preview .rows").focus()
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: page.locator("#preview .rows").evaluate("node => node.scrollLeft") > 0)


def test_an_example_tells_the_truth_the_prediction_and_how_sure_it_is(visit: Visit):
    page = visit()
    items = page.locator("#examples [role=option]")
    expect(items.nth(0)).to_contain_text("true good")
    expect(items.nth(0)).to_contain_text("predicted bad")
    expect(items.nth(0).get_by_role("img", name="wrong:")).to_be_visible()
    expect(items.nth(0).locator(".share")).to_have_text("99.0%")
    expect(items.nth(0).locator(".second")).to_have_text("And a second text.")
    expect(items.nth(1)).to_contain_text("true and predicted good")
    expect(items.nth(1).locator(".text")).to_have_text(f"1: {HOSTILE[0]}")
    text = items.nth(0).locator(".text").first
    lines = text.evaluate("node => node.clientHeight / parseFloat(getComputedStyle(node).lineHeight)")
    assert round(lines) == 2
    assert page.evaluate("window.hacked") is None


def test_an_example_is_chosen_by_click_and_by_keys_and_stays_marked(visit: Visit, feed: Feed, desk: Desk):
    page = visit()
    items = page.locator("#examples [role=option]")
    items.nth(2).click()
    eventually(page, lambda: desk.told("example_select") == [{"index": 1014}])
    expect(items.nth(2)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(items.nth(3)).to_be_focused()
    page.keyboard.press("Enter")
    eventually(page, lambda: desk.told("example_select")[1:] == [{"index": 1021}])
    expect(page.locator("#examples [aria-selected=true]")).to_have_count(1)

    # The same examples in another order: the mark goes with its example; with others it goes away.
    mixed = list(reversed(tuned.classified(60)))
    feed("examples", examples_payload(mixed, title="Turned round", key="toy"))
    expect(page.locator("#examples .heading")).to_have_text("Turned round")
    expect(page.locator("#examples [aria-selected=true]")).to_contain_text("3:")
    assert page.locator("#examples [tabindex='0'].item").count() == 1
    feed("examples", examples_payload(mixed, title="Others", key="other"))
    expect(page.locator("#examples .heading")).to_have_text("Others")
    expect(page.locator("#examples [aria-selected=true]")).to_have_count(0)


def test_keys_lead_to_the_last_example_and_an_empty_list_says_so(visit: Visit, feed: Feed):
    page = visit()
    items = page.locator("#examples [role=option]")
    expect(items).to_have_count(60)
    items.first.press("End")
    expect(items.last).to_be_focused()
    expect(items.last).to_be_in_viewport()
    feed("examples", examples_payload([], title="Mistakes"))
    expect(page.locator("#examples .empty").last).to_have_text("There are no examples of this kind.")
    expect(page.locator("#examples .list")).to_be_hidden()
    expect(page.locator("#examples [data-save=csv]")).to_be_hidden()


def test_numbers_words_and_answers_have_their_own_looks(visit: Visit, feed: Feed):
    page = visit(examples=examples_payload(tuned.numbers(), title="Numbers"))
    items = page.locator("#examples [role=option]")
    expect(items.nth(0)).to_contain_text("true 2.500predicted 2.000error −0.500")
    feed("examples", examples_payload(tuned.tagged(), title="Words"))
    expect(items.nth(0)).to_contain_text("1 wrong label")
    expect(items.nth(0).locator(".wrong.word")).to_have_text("Rome B-PER, not B-LOC")
    expect(items.nth(1)).to_contain_text("all labels correct")
    feed("examples", examples_payload(tuned.answered(), title="Answers"))
    expect(items.nth(0)).to_contain_text("true at nine / nine o'clock")
    expect(items.nth(1)).to_contain_text("predicted not in the passage")
    expect(items.nth(1).get_by_role("img", name="correct:")).to_be_visible()


@pytest.mark.parametrize(
    ("examples", "column", "value"),
    [
        (tuned.classified(60), "probability", "0.99"),
        (tuned.numbers(), "predicted", "2"),
        (tuned.tagged(), "predicted", "B-PER O O B-PER"),
        (tuned.answered(), "answers", "at nine / nine o'clock"),
    ],
)
def test_all_examples_go_into_the_file(visit: Visit, feed: Feed, examples: list[object], column: str, value: str):
    page = visit()
    feed("examples", examples_payload(examples, title="For a file"))  # type: ignore[arg-type]
    expect(page.locator("#examples .heading")).to_have_text("For a file")
    rows = list(csv.DictReader(saved(page, "examples", "csv").decode().splitlines()))
    assert len(rows) == len(examples)
    assert rows[0][column] == value
    assert len(json.loads(saved(page, "examples", "json"))["items"]) == len(examples)


def marks(page: Page) -> list[str]:
    return page.locator("#marked mark .words").all_inner_texts()


def test_marks_stand_where_python_counts_characters(visit: Visit):
    page = visit()
    assert marks(page) == ["Ada Lovelace", "Charles Babbage", "London", "שלום", "Paris"]
    expect(page.locator("#marked mark .type")).to_have_text(["PER", "PER", "LOC", "MISC", "LOC"])
    plain = """node => {
      const copy = node.cloneNode(true);
      copy.querySelectorAll('.type').forEach((type) => type.remove());
      return copy.textContent;
    }"""
    assert page.locator("#marked .running").evaluate(plain) == tuned.TEXT
    expect(page.locator("#marked .key")).to_have_text(["PER: 2", "LOC: 2", "MISC: 1"])
    borders = "nodes => nodes.map(node => getComputedStyle(node).borderBottomStyle)"
    styles = page.locator("#marked mark").evaluate_all(borders)
    assert styles == ["solid", "solid", "dashed", "dotted", "dashed"]  # types differ without colour
    rows = list(csv.DictReader(saved(page, "marked", "csv").decode().splitlines()))
    assert [tuned.TEXT[int(row["start"]) : int(row["end"])] for row in rows] == [row["text"] for row in rows]
    assert [row["label"] for row in rows] == ["PER", "PER", "LOC", "MISC", "LOC"]
    assert json.loads(saved(page, "marked", "json"))["text"] == tuned.TEXT


def test_marks_are_read_by_mouse_and_by_keys(visit: Visit):
    page = visit()
    readout = page.locator("#marked .readout")
    page.locator("#marked mark").nth(2).hover()
    start = tuned.TEXT.index("London")
    expect(readout).to_have_text(f"London: LOC, 90.0%. Characters {start} to {start + 6}.")
    page.locator("#marked mark[tabindex='0']").press("ArrowRight")
    expect(readout).to_contain_text("שלום: MISC. Characters")  # nobody knows how likely
    page.keyboard.press("Home")
    expect(readout).to_contain_text("Ada Lovelace: PER, 98.0%")


def test_text_from_right_to_left_runs_so(visit: Visit):
    found = [tuned.span(tuned.HEBREW, "דוד כהן", "PER"), tuned.span(tuned.HEBREW, "תל אביב", "LOC")]
    page = visit(marked=tuned.marked(tuned.HEBREW, found, title="Hebrew"))
    expect(page.locator("#marked .heading").first).to_have_text("Hebrew")
    assert marks(page) == ["דוד כהן", "תל אביב"]
    assert page.locator("#marked .running").evaluate("node => getComputedStyle(node).direction") == "rtl"
    first, second = (page.locator("#marked mark").nth(place).bounding_box() for place in (0, 1))
    assert first
    assert second
    assert first["x"] > second["x"]


PASSAGE = "😀 The museum opens at nine. On Sundays it opens at ten, and in winter it is closed. " * 30


def answers() -> list[dict[str, Any]]:
    start = PASSAGE.rindex("ten")
    far = {"text": "ten", "start": start, "end": start + 3, "probability": 0.2}
    none = {"text": "", "start": 0, "end": 0, "probability": 0.05}
    return [*tuned.alternatives(PASSAGE, "nine"), far, none]


def test_choosing_an_answer_moves_the_mark_and_brings_it_into_sight(visit: Visit, feed: Feed):
    page = visit(marked=tuned.marked(PASSAGE, [], answers(), title="When does it open?"))
    expect(page.locator("#marked .answer")).to_have_count(3)
    assert marks(page) == ["nine"]
    page.get_by_role("button", name="ten, 20.0%").click()
    assert marks(page) == ["ten"]
    box, text = page.locator("#marked mark").bounding_box(), page.locator("#marked .running").bounding_box()
    assert box
    assert text
    assert text["y"] <= box["y"] <= text["y"] + text["height"]
    expect(page.locator("#marked [aria-pressed=true]")).to_have_count(1)
    start = PASSAGE.rindex("ten")
    expect(page.locator("#marked .readout")).to_contain_text(f"Characters {start:,} to {start + 3:,}")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#marked .readout")).to_have_text("No answer is marked in the text.")
    assert marks(page) == []
    # An answer takes the place of a mark that it covers.
    gold = [tuned.span(PASSAGE, "at nine", "right answer", None)]
    feed("marked", tuned.marked(PASSAGE, gold, answers(), title="T"))
    expect(page.locator("#marked mark .type")).to_have_text(["answer"])
    page.get_by_role("button", name="ten, 20.0%").click()
    expect(page.locator("#marked mark .type")).to_have_text(["right answer", "answer"])


def test_hostile_text_and_labels_are_text(visit: Visit):
    text = " ".join(HOSTILE)
    spans = [tuned.span(text, words, words) for words in HOSTILE]
    page = visit(marked=tuned.marked(text, spans, answers()[2:], title=HOSTILE[0], sentence=HOSTILE[1]))
    expect(page.locator("#marked .heading").first).to_have_text(HOSTILE[0])
    assert marks(page) == list(HOSTILE)
    assert page.locator("#marked img").count() == 0
    assert page.evaluate("window.hacked") is None
