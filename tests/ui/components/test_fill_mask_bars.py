"""The fill-mask bars."""

import csv

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.figures.interpret.predictions import fill_mask_payload
from tests.browser import eventually
from tests.ui.components.harness import Desk, Feed, Visit, filled, saved

PARTS = ["fill"]


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
    feed("fill", fill_mask_payload(filled(["[CLS]", "a", "[MASK]", "ran", "[SEP]"])))
    expect(blanks).to_have_count(1)
    assert sentence(page) == "a masked token ran"


def test_clicked_words_ask_to_be_hidden_and_masked_tokens_to_come_back(visit: Visit, desk: Desk):
    page = visit()
    page.locator("#fill .word", has_text="sat").click()
    page.locator("#fill .hole").first.click()
    eventually(page, lambda: len(desk.told("toggle_mask")) == 2)
    assert {"position": 3, "token": "sat", "masked": True} in desk.told("toggle_mask")
    assert {"position": 2, "token": "[MASK]", "masked": False} in desk.told("toggle_mask")


def test_predictions_are_saved(visit: Visit):
    page = visit()
    files = {kind: saved(page, "fill", kind) for kind in ("png", "svg", "csv", "json")}
    assert files["png"].startswith(b"\x89PNG")
    assert all(b"dog" in files[kind] for kind in ("svg", "csv", "json"))
    header, *rows = csv.reader(files["csv"].decode().splitlines())
    assert header == ["masked_token", "position", "rank", "token", "id", "probability"]
    assert rows[6] == ["2", "6", "2", "dog", "51", "0.231"]
