"""The picture of a model on the real page, by mouse and by keyboard, in Explore and beside the lessons."""

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab import interpret
from tests.browser import complaints
from tests.little import little_checkpoint, little_folder
from tests.ui.components.harness import saved
from tests.ui.pages import Served, little_settings, serve

TEXT, SECOND = "the red [MASK] sat on the mat", "a small dog ran"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = little_settings(tmp_path_factory.mktemp("architecture"))
    little_folder(settings.checkpoints / "wiki-mini")  # the model of the lessons
    with serve(settings) as served:
        yield served


def test_a_model_is_zoomed_into_and_each_part_opens_its_view_and_its_code(page: Page, served: Served) -> None:
    asked = {"model": "little", "text_a": TEXT, "text_b": SECOND, "explore.open": "predictions,architecture"}
    page.goto(f"{served[0]}?{urlencode(asked)}")
    host = page.locator("#architecture-picture")
    picture, card = host.locator(".model"), host.locator(".card")
    checkpoint = little_checkpoint()
    norms = interpret.norms_by_layer(checkpoint, TEXT, SECOND)
    mask = norms.encoding.mask_positions(checkpoint.tokenizer.mask_id)[0]
    expect(picture.get_by_text(f"{norms.hidden[2][mask]:.1f}", exact=True).first).to_be_visible(timeout=60_000)
    best = interpret.fill_mask(checkpoint, TEXT, text_b=SECOND).masks[0].candidates[0]
    expect(picture).to_contain_text(f"{best.token}{best.probability:.1%}")
    is_next = interpret.next_sentence(checkpoint, TEXT, SECOND).is_next
    expect(picture).to_contain_text(f"B follows A{is_next:.1%}")
    expect(picture).to_contain_text(f"1 × {len(norms.encoding)} × 32")
    assert saved(page, "architecture-picture", "svg").count(b"<svg") == 2  # the picture, on its ground
    assert complaints(page, "architecture-picture") == []

    # By keyboard: the second layer, then the attention in it.
    picture.get_by_role("button").first.focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(picture.locator("[data-part=layer][data-layer='1']:focus")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(picture).to_contain_text("Layer 2 of 2")
    expect(card).to_contain_text("LayerNorm(x + attention(x))")
    host.get_by_label("head", exact=True).check()
    expect(picture).to_contain_text("Head 1 of 2, layer 2")
    picture.locator("[data-part=scores]").click()
    expect(card).to_contain_text("B × H × L × K → B × H × L × L")
    card.locator("summary").click()
    expect(card.locator("mark")).to_contain_text("scores_BHQL = (q_BHQK")
    weights = interpret.trace_text(checkpoint, TEXT, SECOND).attentions[1, 0, mask]
    strongest = norms.encoding.tokens[weights.argmax()]
    expect(picture).to_contain_text(f"{strongest} ({weights.argmax()}){weights.max():.1%}")
    host.get_by_role("combobox", name="Token").select_option("1")
    expect(page.locator("#tokens-strip [aria-selected=true]")).to_have_attribute("data-position", "1")
    expect(picture).to_contain_text("the attends to")

    page.set_viewport_size({"width": 400, "height": 900})
    expect(picture.locator("[data-part=scores]")).to_be_visible()
    expect(picture.locator("[data-part=tokens]")).to_have_count(0)
    assert complaints(page, "architecture-picture") == []
    card.get_by_role("button", name="Open Attention").click()
    expect(page.locator("#tab-attention")).to_have_attribute("aria-selected", "true")


def test_a_lesson_lights_its_part_of_the_picture_of_the_person_s_own_sentence(page: Page, served: Served) -> None:
    page.goto(f"{served[0]}?space=learn&lesson=4&lang=de")
    picture = page.locator("#lessons .map .model")
    expect(picture.locator(".lit")).to_have_attribute("data-part", "embeddings", timeout=60_000)
    page.get_by_label("Ein eigener Satz").fill("the old man reads")
    expect(picture.locator("[data-part=text] ~ text", has_text=re.compile("^the old man reads$"))).to_be_visible()
    page.locator("#lessons .list [data-number='10']").click()
    expect(picture.locator("[data-part=feed_forward].lit")).to_be_visible()
    expect(picture).to_contain_text("Layer 1 von 2")
    assert complaints(page, "lessons") == []
    page.locator("#lessons .card").get_by_role("button", name="Attention öffnen").click()
    expect(page.locator("#tab-attention")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#text-a")).to_have_value("the old man reads")
    expect(page.locator("#lesson-bar")).to_contain_text("Lektion 10")
