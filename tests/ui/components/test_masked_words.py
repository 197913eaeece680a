"""Words that a click masks, and another one brings back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from bertviz_lab import Checkpoint
from tests.family_checkpoints import family_checkpoint
from tests.little import little_checkpoint
from tests.ui.components.harness import Visit

PARTS = ["marked"]
TEXT = "the red cat sat on the mat"
A, B = "the red cat sat", "she gave him the book"
GUESSES = ("dog", "house")
MAKE = """async (guesses) => {
  const { makeMaskedWords } = await import('lab/views/predictions/masked_words.js');
  const input = { model: '', text_a: '', text_b: '' };
  window.page = { input, set: (texts) => Object.assign(input, texts), ask: async (view, question, texts) =>
    (question === 'guesses' ? guesses : window.encode(texts.text_a, texts.text_b)) };
  window.masked = makeMaskedWords(window.page);
}"""
CLICK = """async ([text_a, text_b, position]) => {
  Object.assign(page.input, { text_a, text_b });
  const failed = await masked.toggle(position).then(() => '', ({ message }) => message);
  return failed || [page.input.text_a, page.input.text_b];
}"""
FILLED = "async ([text_a, text_b]) => { Object.assign(page.input, { text_a, text_b }); return masked.filled(); }"

Click = Callable[..., Any]


@pytest.fixture
def page_of(visit: Visit) -> Callable[[Checkpoint], tuple[Page, Click]]:
    """Return a page with the input of a model, and a click on the token of a surface in one of its texts."""

    def opened(checkpoint: Checkpoint) -> tuple[Page, Click]:
        page, tokenizer = visit(), checkpoint.tokenizer

        def encode(text_a: str, text_b: str) -> dict[str, Any]:
            return {"encoding": vars(tokenizer.encode(text_a, text_b or None)), "mask": tokenizer.special.mask}

        def click(surface: str, text_a: str, text_b: str = "") -> Any:
            encoding = tokenizer.encode(text_a, text_b or None)
            texts = (text_a, text_b)
            columns = zip(encoding.token_type_ids, encoding.offsets, strict=True)
            found = [at for at, (side, span) in enumerate(columns) if texts[side][slice(*span)] == surface]
            return page.evaluate(CLICK, [text_a, text_b, found[0] if found else 999])

        page.expose_function("encode", encode)
        page.evaluate(MAKE, GUESSES)
        return page, click

    return opened


def test_a_click_masks_a_word_and_another_brings_it_back(page_of: Callable[..., Any]) -> None:
    _, click = page_of(little_checkpoint())
    assert click("cat", TEXT) == ["the red [MASK] sat on the mat", ""]
    assert click("red", "the red [MASK] sat on the mat") == ["the [MASK] [MASK] sat on the mat", ""]
    assert click("[MASK]", "the [MASK] [MASK] sat on the mat") == ["the red [MASK] sat on the mat", ""]
    assert click("[MASK]", "the red [MASK] sat on the mat") == [TEXT, ""]
    assert click("bird", TEXT) == "That word is no longer there."


def test_words_of_both_texts_are_masked_and_brought_back(page_of: Callable[..., Any]) -> None:
    page, click = page_of(little_checkpoint())
    assert click("book", A, B) == [A, "she gave him the [MASK]"]
    assert click("cat", A, "she gave him the [MASK]") == ["the red [MASK] sat", "she gave him the [MASK]"]
    filled = page.evaluate(FILLED, ["the red [MASK] sat", "she gave him the [MASK]"])
    assert (filled["text_a"], filled["text_b"]) == (A, B)
    assert click("[MASK]", "the red [MASK] sat", "she gave him the [MASK]") == [A, "she gave him the [MASK]"]


def test_a_masked_token_that_was_typed_is_filled_with_the_first_prediction(page_of: Callable[..., Any]) -> None:
    page, click = page_of(little_checkpoint())
    text = "the [MASK] cat 😀 in a [MASK]"
    filled = page.evaluate(FILLED, [text, ""])
    assert (filled["text_a"], filled["text_b"]) == ("the dog cat 😀 in a house", "")
    assert filled["positions"] == len(little_checkpoint().tokenizer.encode(text))
    assert click("cat", text) == ["the [MASK] [MASK] 😀 in a [MASK]", ""]
    known = page.evaluate(FILLED, ["the [MASK] [MASK] 😀 in a [MASK]", ""])["text_a"]
    assert known.startswith("the dog cat 😀 in a ")
    assert page.evaluate(FILLED, [text, ""])["text_a"] == "the dog cat 😀 in a house"  # not as many words as masks
    assert click("[MASK]", text) == ["the dog cat 😀 in a [MASK]", ""]


@pytest.mark.parametrize("model_type", ["electra", "roberta", "modernbert", "xlm-roberta"])
def test_a_click_masks_a_whole_word_and_neither_space_nor_punctuation(
    model_type: str, page_of: Callable[..., Any], tmp_path: Path
) -> None:
    checkpoint = family_checkpoint(model_type, tmp_path)
    text, mask = "they saw Qxz, and sat", checkpoint.tokenizer.special.mask
    page, click = page_of(checkpoint)
    pieces = {text[start:end] for start, end in checkpoint.tokenizer.encode(text).offsets if start < end}
    for piece in sorted(piece for piece in pieces if piece in "Qxz"):
        assert click(piece, text) == [f"they saw {mask}, and sat", ""]
        assert page.evaluate(FILLED, [f"they saw {mask}, and sat", ""])["text_a"] == text
        assert click(mask, f"they saw {mask}, and sat") == [text, ""]
