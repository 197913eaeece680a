"""The token strip, the masking strip, and how words are split."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.interpret.masking import masking_payload
from bertviz_lab.figures.interpret.tokens import splitting_payload, token_payload
from bertviz_lab.tokenization import Tokenizer, explain
from bertviz_lab.ui.components.standalone import standalone_page
from tests.little import little_text, little_tokenizer
from tests.ui.components.harness import HOSTILE, SENTENCE, encoding, hostile_encoding, masked

Feed = Callable[[str, str], None]
Visit = Callable[..., Page]
PARTS = ["tokens", "masking"]


def row(page: Page, name: str, component: str = "tokens") -> list[str]:
    """The cells of one row over all lines of a strip."""
    lines = page.locator(f"#{component} .lines tr", has=page.locator(f'th:text-is("{name}")'))
    return [text for line in lines.all() for text in line.locator("td").all_inner_texts()]


def test_columns_hold_what_the_encoding_holds(visit: Visit):
    page = visit()
    truth = encoding(SENTENCE, second=10, padding=3)
    assert row(page, "token") == list(truth.tokens)
    assert row(page, "id") == [str(number) for number in truth.ids]
    assert row(page, "position") == [str(index) for index in range(17)]
    assert row(page, "attention mask") == ["1"] * 14 + ["0"] * 3
    assert row(page, "segment") == ["0 A"] * 10 + ["1 B"] * 4 + ["0"] * 3
    expect(page.locator("#tokens .heading")).to_have_text("9 words became 11 tokens, plus 3 special tokens")


def test_pieces_of_a_word_are_joined(visit: Visit):
    page = visit()
    cells = page.locator("#tokens .token")
    kinds = [cells.nth(index).get_attribute("class") or "" for index in range(14)]
    joined = [("joins-left" in kind, "joins-right" in kind) for kind in kinds]
    assert joined[5:8] == [(False, True), (True, True), (True, False)]
    assert not any(left or right for index, (left, right) in enumerate(joined) if index not in (5, 6, 7))


def test_tokens_explain_themselves_to_mouse_and_keyboard(visit: Visit):
    page = visit()
    readout = page.locator("#tokens .readout")
    page.locator("#tokens .token button", has_text="[SEP]").first.hover()
    expect(readout).to_contain_text("[SEP] separator: marks the end of a sentence.")
    page.locator("#tokens .token button", has_text="##believ").click()
    expect(readout).to_have_text(
        "##believ is piece 2 of 3 of the word unbelievably. Position 6, id 142, segment 0 (A)."
    )
    page.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("##ably is piece 3 of 3")
    page.keyboard.press("Home")
    expect(readout).to_contain_text("[CLS] classification token at the start of every input")
    expect(page.locator("#tokens .token button").first).to_be_focused()


def test_one_tab_stop_leads_into_the_strip(visit: Visit):
    page = visit()
    assert page.locator('#tokens .lines [tabindex="0"]').count() == 1


def test_narrow_page_breaks_the_strip_into_lines(visit: Visit):
    page = visit(width=400)
    assert page.locator("#tokens table").count() > 1
    assert row(page, "token") == list(encoding(SENTENCE, second=10, padding=3).tokens)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    inside = "node => node.scrollWidth <= node.clientWidth"
    assert page.locator("#tokens .lines").evaluate(inside)
    assert page.locator("#masking .lines").evaluate(inside)
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator("#tokens table")).to_have_count(1)


def test_512_tokens_are_all_there(visit: Visit, feed: Feed):
    page = visit()
    tokens = ["[CLS]", *[f"w{index}" for index in range(510)], "[SEP]"]
    feed("tokens", token_payload(encoding(tokens)))
    expect(page.locator("#tokens .token")).to_have_count(512)
    page.locator("#tokens .token button").first.click()
    page.keyboard.press("End")
    expect(page.locator("#tokens .readout")).to_contain_text("Position 511")


def test_cut_text_is_reported(visit: Visit, feed: Feed):
    page = visit()
    cut = encoding(SENTENCE)
    cut.dropped_a = ("a", "b")
    feed("tokens", token_payload(cut))
    expect(page.locator("#tokens")).to_contain_text("2 tokens did not fit and were truncated")


def test_hostile_tokens_are_text(visit: Visit, feed: Feed):
    page = visit()
    feed("tokens", token_payload(hostile_encoding()))
    expect(page.locator("#tokens .token")).to_have_count(7)
    assert row(page, "token")[1:6] == list(HOSTILE)
    page.locator("#tokens .token button").nth(1).hover()
    expect(page.locator("#tokens .readout")).to_contain_text(HOSTILE[0])
    assert page.locator("#tokens img").count() == 0
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("component", ["tokens", "masking"])
@pytest.mark.parametrize("kind", ["PNG", "SVG", "CSV", "JSON"])
def test_strip_is_saved(visit: Visit, component: str, kind: str):
    page = visit()
    with page.expect_download() as waiting:
        page.locator(f'#{component} [data-save="{kind.lower()}"]').click()
    content = Path(waiting.value.path()).read_bytes()
    assert waiting.value.suggested_filename == f"{component}.{kind.lower()}"
    if kind == "PNG":
        assert content.startswith(b"\x89PNG")
    else:
        assert b"##believ" in content
    if kind == "CSV":
        rows = list(csv.DictReader(content.decode().splitlines()))
        assert [row["token"] for row in rows][:14] == SENTENCE


def test_saved_drawing_is_a_well_formed_file_without_the_buttons(visit: Visit, feed: Feed, tmp_path: Path):
    from xml.etree import ElementTree

    page = visit()
    feed("tokens", token_payload(encoding(["[CLS]", "a\x01b", "<b>&", "[SEP]"])))
    expect(page.locator("#tokens .token")).to_have_count(4)
    with page.expect_download() as waiting:
        page.locator('#tokens [data-save="svg"]').click()
    tree = ElementTree.parse(waiting.value.path())
    texts = ["".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert "<b>&" in texts
    assert "a\ufffdb" in texts
    assert "PNG" not in texts


def test_masking_shows_what_was_given_and_what_is_asked(visit: Visit):
    page = visit()
    assert row(page, "your text", "masking") == SENTENCE
    given = row(page, "input", "masking")
    assert (given[3], given[6], given[11]) == ("[MASK]", "tree", "was")
    asked = row(page, "label", "masking")
    assert {index: text for index, text in enumerate(asked) if text} == {3: "cat", 6: "##believ", 11: "was"}
    signs = row(page, "masking", "masking")
    assert len({signs[index] for index in (0, 1, 3, 6, 11)}) == 5  # told apart without colour
    page.locator("#masking .token button").nth(6).click()
    expect(page.locator("#masking .readout")).to_contain_text("The model sees tree in its place")


def test_masking_sets_counts_beside_the_plan(visit: Visit):
    page = visit()
    rows = [line.locator("th, td").all_inner_texts() for line in page.locator("#masking .counts tbody tr").all()]
    assert [cells[1:] for cells in rows] == [
        ["3", "2", "15% of 14 positions, rounded"],
        ["1", "1.6", "80% of the selected"],
        ["1", "0.2", "10% of the selected"],
        ["1", "0.2", "10% of the selected"],
    ]


def test_another_draw_replaces_the_first(visit: Visit, feed: Feed):
    page = visit()
    other = masked()
    other.outcomes[3], other.input_tokens[3] = "not chosen", "cat"
    feed("masking", masking_payload(other))
    expect(page.locator("#masking .heading")).to_have_text("2 of 11 tokens must be predicted")
    assert row(page, "input", "masking")[3] == "cat"


def draw_splits(page: Page, tokenizer: Tokenizer, text: str) -> tuple[list[str], str]:
    """The words that are shown split, and those that are said to be in the vocabulary as a whole."""
    words = explain(tokenizer, text)
    page.set_content(standalone_page("split", "Words", splitting_payload(words, tokenizer.algorithm)))
    page.locator("summary").first.click()
    return page.locator("summary b").all_inner_texts(), page.locator(".wholes .mono").inner_text()


def test_a_word_that_is_too_long_for_wordpiece_is_not_said_to_be_in_the_vocabulary(page: Page):
    long = "x" * 101
    assert draw_splits(page, little_tokenizer(), f"the {long} [UNK]") == ([long], "the  [UNK]")
    expect(page.locator("details")).to_contain_text("becomes [UNK] without a search")


def test_a_word_whose_bytes_are_never_merged_is_not_said_to_be_in_the_vocabulary(page: Page):
    bpe = Tokenizer.train(little_text().splitlines(), vocab_size=340, algorithm="bpe", lowercase=False)
    assert draw_splits(page, bpe, "a🙂") == (["🙂"], "a")
    expect(page.locator("details")).to_contain_text("None of its pairs was learned")
