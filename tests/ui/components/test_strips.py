"""The token strip, the masking strip, how words are split, and the fill-mask bars."""

import dataclasses
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.payload import figure
from bertviz_lab.figures.results import splits_body
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.ui.components.standalone import standalone_page
from tests.browser import eventually
from tests.little import little_text, little_tokenizer
from tests.ui.components.harness import SENTENCE, Desk, Feed, Visit, encoding, filled, masked, saved

PARTS = ["tokens", "masking", "fill"]


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
    kinds = page.locator("#tokens .token").evaluate_all("cells => cells.map(cell => cell.className)")
    joined = [("joins-left" in kind, "joins-right" in kind) for kind in kinds]
    pieces = {5: (False, True), 6: (True, True), 7: (True, False)}
    assert joined == [pieces.get(position, (False, False)) for position in range(17)]


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
    assert page.locator('#tokens .lines [tabindex="0"]').count() == 1
    expect(page.locator("#tokens .token button").first).to_be_focused()


def test_punctuation_marks_are_counted_apart_from_words(visit: Visit):
    tokens = ["[CLS]", "do", "n", "##t", ".", "[SEP]", "10", "?", "[SEP]"]
    page = visit(tokens=figure("tokens", encoding=encoding(tokens, second=6)))
    expect(page.locator("#tokens .heading")).to_have_text(
        "3 words and 2 punctuation marks became 6 tokens, plus 3 special tokens"
    )


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


def test_512_tokens_are_all_there_and_a_cut_is_reported(visit: Visit):
    long = encoding(["[CLS]", *[f"w{index}" for index in range(510)], "[SEP]"])
    page = visit(tokens=figure("tokens", encoding=dataclasses.replace(long, dropped_a=("a", "b"))))
    expect(page.locator("#tokens .token")).to_have_count(512)
    expect(page.locator("#tokens")).to_contain_text("2 tokens did not fit and were truncated")
    page.locator("#tokens .token button").first.click()
    page.keyboard.press("End")
    expect(page.locator("#tokens .readout")).to_contain_text("Position 511")


def test_saved_drawing_is_a_well_formed_file_without_the_buttons(visit: Visit):
    page = visit(tokens=figure("tokens", encoding=encoding(["[CLS]", "a\x01b", "<b>&", "[SEP]"])))
    expect(page.locator("#tokens .token")).to_have_count(4)
    tree = ElementTree.fromstring(saved(page, "tokens", "svg").decode())
    texts = {"".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {"<b>&", "a\ufffdb"}
    assert "PNG" not in texts


def test_masking_shows_what_was_given_what_is_asked_and_how_much_was_planned(visit: Visit, feed: Feed):
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
    counts = [line.locator("td").all_inner_texts() for line in page.locator("#masking .counts tbody tr").all()]
    assert counts == [
        ["3", "2", "15% of 14 positions, rounded"],
        ["1", "1.6", "80% of the selected"],
        ["1", "0.2", "10% of the selected"],
        ["1", "0.2", "10% of the selected"],
    ]
    other = masked()  # another draw
    outcomes, given = list(other.outcomes), list(other.input_tokens)
    outcomes[3], given[3] = "not chosen", "cat"
    feed("masking", figure("masking", encoding=other.encoding, outcomes=outcomes, input_tokens=given))
    expect(page.locator("#masking .heading")).to_have_text("2 of 11 tokens must be predicted")
    assert row(page, "input", "masking")[3] == "cat"


LONG = "x" * 101


@pytest.mark.parametrize(
    ("algorithm", "text", "split", "entire", "note"),
    [
        ("wordpiece", f"the {LONG} [UNK]", [LONG], "the  [UNK]", "becomes [UNK] without a search"),
        ("bpe", "a🙂", ["🙂"], "a", "None of its pairs was learned"),
    ],
)
def test_a_word_without_steps_is_not_said_to_be_in_the_vocabulary(
    page: Page, algorithm: str, text: str, split: list[str], entire: str, note: str
):
    tokenizer = little_tokenizer()
    if algorithm == "bpe":
        tokenizer = Tokenizer.train(little_text().splitlines(), vocab_size=340, algorithm="bpe", lowercase=False)
    page.set_content(standalone_page("split", "Words", figure("word_splits", **splits_body(tokenizer, text))))
    page.locator("summary").first.click()
    assert page.locator("summary b").all_inner_texts() == split
    assert page.locator(".wholes .mono").inner_text() == entire
    expect(page.locator("details")).to_contain_text(note)


def sentence(page: Page) -> str:
    return page.locator("#fill .sentence").inner_text()


def test_candidates_stand_in_order_with_their_share(visit: Visit):
    page = visit()
    first = page.locator("#fill .blank").first
    assert first.locator(".name").all_inner_texts() == ["cat", "dog", "old", "man", "##s"]
    assert first.locator(".share").all_inner_texts() == ["41.2%", "23.1%", "9.0%", "4.1%", "0.2%"]
    widths = first.locator(".fill").evaluate_all(
        "bars => bars.map(bar => bar.getBoundingClientRect().width / bar.parentElement.getBoundingClientRect().width)"
    )
    assert widths[:4] == pytest.approx([0.412, 0.231, 0.09, 0.041], abs=0.002)
    expect(first).to_contain_text("Together 77.6%; the other 22.4% is spread over the other 8,187 tokens")


def test_click_puts_a_candidate_into_the_sentence_and_out_again(visit: Visit, feed: Feed):
    page = visit()
    blanks = page.locator("#fill .blank")
    assert sentence(page) == "the masked token 1 sat on the masked token 2 ."
    blanks.nth(0).get_by_role("button", name="##s").click()
    assert sentence(page) == "thes sat on the masked token 2 ."  # a word ending joins the word before
    blanks.nth(0).get_by_role("button", name="dog").click()
    blanks.nth(1).get_by_role("button", name="man").click()
    assert sentence(page) == "the dog sat on the man ."
    expect(page.locator('#fill .candidate[aria-pressed="true"]')).to_have_count(2)
    page.keyboard.press("Enter")
    assert sentence(page) == "the dog sat on the masked token 2 ."
    feed("fill", figure("fill_mask", **vars(filled(["[CLS]", "a", "[MASK]", "ran", "[SEP]"]))))
    expect(blanks).to_have_count(1)
    assert sentence(page) == "a masked token ran"


def test_clicked_words_ask_to_be_hidden_and_masked_tokens_to_come_back(visit: Visit, desk: Desk):
    page = visit()
    page.locator("#fill .word", has_text="sat").click()
    page.locator("#fill .hole").first.click()
    eventually(page, lambda: len(desk.told("toggle_mask")) == 2)
    assert {"position": 3, "token": "sat", "masked": True} in desk.told("toggle_mask")
    assert {"position": 2, "token": "[MASK]", "masked": False} in desk.told("toggle_mask")
