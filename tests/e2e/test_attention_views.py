"""Attention, Attribution and Causes on the real page, by mouse and by keyboard."""

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from bertviz_lab import BertForTokenClassification, BertModel, interpret
from tests.browser import PageLog, at_rest, complaints, data_table, eventually, expect_marks, in_menu, query_of, reload
from tests.family_checkpoints import family_folder
from tests.little import little_folder
from tests.ui.pages import OWNER, Served, little_settings, serve

TEXT = "the red [MASK] sat on the mat"
A, B = "the red cat sat on the mat", "she gave him the red book"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = little_settings(tmp_path_factory.mktemp("attention"))
    little_folder(settings.checkpoints / "other", seed=1)
    labels = {"id2label": ("O", "animal", "place"), "num_labels": 3}
    little_folder(settings.checkpoints / "words", kind=BertForTokenClassification, **labels)
    little_folder(settings.checkpoints / "encoder", kind=BertModel)
    for family in ("deberta-v2", "modernbert"):
        family_folder(family, settings.checkpoints / family)
    with serve(settings) as served:
        yield served


def visit(page: Page, address: str, view: str, text_a: str = A, text_b: str = "", **more: str) -> None:
    """Open the page at a view, or several, with texts and settings."""
    asked = {"model": "little", "text_a": text_a, "text_b": text_b, "explore.open": view} | more
    page.goto(f"{address}?{urlencode(asked)}")
    for shown in view.split(","):
        page.locator(f"#tab-{shown}").click(timeout=60_000)
        expect(page.locator(f"#panel-{shown} .drawing .heading:visible").first).to_be_visible(timeout=60_000)


def type_into(page: Page, text_a: str, text_b: str = "") -> None:
    page.locator("#text-b").fill(text_b)
    page.locator("#text-a").fill(text_a)
    page.locator("#text-a").press("Enter")


def token(page: Page, position: int) -> Locator:
    return page.locator(f"#tokens-strip [data-position='{position}']")


def test_the_terms_of_a_score_are_shown_apart_and_the_choice_stays_in_the_address(
    page: Page, page_log: PageLog, served: Served
) -> None:
    visit(page, served[0], "attention", A, B, model="deberta-v2")
    grid, shown = page.locator("#attention-grid"), page.locator("#attention-shown")
    expect(shown.locator("option")).to_have_count(5)
    expect(grid).to_contain_text("attention scores have terms for relative positions")
    shown.select_option("position_to_content")
    expect(grid).to_contain_text("position-to-content term")
    expect(grid.locator(".strongest caption")).to_contain_text("scores furthest from 0 with")
    eventually(page, lambda: query_of(page).get("attention.shown") == "position_to_content")
    grid.get_by_text("Why this weight?").click()
    expect(grid.locator(".pair")).to_contain_text("for the content-to-position term")
    reload(page, page_log)
    expect(grid).to_contain_text("position-to-content term", timeout=60_000)
    expect(shown).to_have_value("position_to_content")
    page.locator("#model-picker").select_option("little")
    expect(grid).to_contain_text("Attention of little")
    expect(shown).to_have_value("weights")
    expect(page.locator("#model-facts")).not_to_contain_text("Family")


def test_local_attention_and_what_differs_from_bert_are_said(page: Page, served: Served) -> None:
    visit(page, served[0], "attention", A, B, model="modernbert", **{"attention.layer": "1"})
    grid = page.locator("#attention-grid")
    expect(grid.locator(".one .heading").first).to_have_text("Layer 2 of 2 (local attention, window 4), head 1 of 2")
    expect(grid).to_contain_text("Layer 2 has local attention, window 4")
    facts = page.locator("#model-facts")
    in_menu(facts.get_by_text("What differs from BERT")).click()
    expect(facts).to_contain_text("What ModernBERT changed")
    expect(facts).to_contain_text("pre-norm")


def test_attention_of_two_families_is_subtracted_where_their_tokens_are_matched(page: Page, served: Served) -> None:
    visit(page, served[0], "attention", "the red cat [MASK] on the mat", B, model="deberta-v2", other="little")
    page.get_by_text("Attention difference: two models").click()
    difference = page.locator("#attention-difference")
    expect(difference).to_contain_text("deberta-v2 minus little")
    expect(difference).to_contain_text("tokens, which are matched by their characters")


def test_attention_is_compared_with_a_model_a_causal_mask_and_another_text(page: Page, served: Served) -> None:
    visit(page, served[0], "attention")
    page.get_by_text("Attention difference: two models").click()
    difference = page.locator("#attention-difference")
    expect(difference).to_contain_text("little minus before training")
    expect(difference).to_contain_text("Blue is positive: more attention than in the one that is subtracted")
    in_menu(page.locator("#other-picker")).select_option("other")
    expect(difference).to_contain_text("little minus other")
    page.locator("#attention-against").select_option("causal")
    expect(difference).to_contain_text("Causal minus bidirectional")
    page.locator("#attention-against").select_option("text")
    expect(difference).to_contain_text("Type the other text")
    page.locator("#attention-other-text").fill("the cat")
    page.locator("#attention-other-text").press("Enter")
    expect(difference).to_contain_text("choose texts of equal length")
    page.locator("#attention-other-text").fill("the old man ran to a mat")
    page.locator("#attention-other-text").press("Enter")
    expect(difference).to_contain_text("Other text minus this one")


def test_a_token_selected_anywhere_is_the_attending_one_and_the_other_way_round(page: Page, served: Served) -> None:
    visit(page, served[0], "attention")
    grid = page.locator("#attention-grid")
    token(page, 3).click()
    expect(grid.locator(".strongest caption")).to_contain_text("(3) attends most to")
    grid.get_by_role("radio", name="Single tokens").check(force=True)
    grid.locator(".from .item").nth(5).click()
    expect(token(page, 5)).to_have_attribute("aria-selected", "true")
    expect(token(page, 3)).to_have_attribute("aria-selected", "false")
    grid.get_by_role("radio", name="All tokens").check(force=True)
    grid.locator(".map .top").focus()
    page.keyboard.press("ArrowUp")
    expect(token(page, 4)).to_have_attribute("aria-selected", "true")


def test_the_address_keeps_the_place_in_the_grid(page: Page, page_log: PageLog, served: Served) -> None:
    visit(page, served[0], "attention")
    grid = page.locator("#attention-grid")
    grid.locator(".grid canvas[data-layer='1'][data-head='0']").click()
    grid.get_by_role("radio", name="per head").check(force=True)
    kept = {"attention.layer": "1", "attention.scale": "head"}
    eventually(page, lambda: kept.items() <= query_of(page).items())
    reload(page, page_log)
    expect(grid).to_contain_text("Layer 2 of 2, head 1 of 2", timeout=60_000)
    expect(grid.get_by_role("radio", name="per head")).to_be_checked()
    # It stays with another text and another model.
    type_into(page, "a small dog ran")
    expect(token(page, 3)).to_have_text("dog")
    page.locator("#model-picker").select_option("other")
    expect(grid).to_contain_text("Attention of other")
    expect(grid).to_contain_text("Layer 2 of 2, head 1 of 2")


def test_a_link_restores_lines_of_several_tokens(page: Page, served: Served) -> None:
    place = {"layer": "1", "scale": "head", "form": "lines", "rows": "2,3", "column": "1", "difference": "open"}
    settings = {f"attention.{name}": value for name, value in (place | {"against": "causal"}).items()}
    visit(page, served[0], "attention", **settings)
    grid = page.locator("#attention-grid")
    expect(grid).to_contain_text("Layer 2 of 2, head 1 of 2")
    expect(grid.locator(".strongest caption")).to_contain_text("2 tokens together")
    expect(grid.get_by_role("radio", name="per head")).to_be_checked()
    expect(page.locator("#attention-difference")).to_contain_text("Causal minus bidirectional")


def test_a_masked_token_is_explained_and_heads_are_ablated(page: Page, page_log: PageLog, served: Served) -> None:
    address, session = served
    visit(page, address, "attribution", TEXT)
    truth = interpret.attribute(session.models.open("little"), TEXT)
    tokens = page.locator("#attribution-tokens")
    expect(tokens).to_contain_text(f"Attribution for {truth.target.name}")
    expect(tokens).to_contain_text("Attention weights show where a head gathers information")
    page.locator("#attribution-heads > summary").click()
    heads = page.locator("#attribution-head-map")
    expect_marks(heads, 1)
    page.locator("#attribution-intervention > summary").click()
    changed = page.locator("#attribution-changed")
    expect(changed).to_contain_text("nothing changed yet")
    data_table(heads).locator("[data-item='1']").click()
    expect(changed).to_contain_text("without layer 1 head 2")
    expect(heads.locator(".plot")).to_contain_text("off")
    page.get_by_label("Causal mask, as in GPT").check()
    expect(changed).to_contain_text("causal mask")
    kept = {"attribution.ablated": "0.1", "attribution.causal": "1"}
    eventually(page, lambda: kept.items() <= query_of(page).items())
    reload(page, page_log)
    expect(changed).to_contain_text("without layer 1 head 2 and causal mask", timeout=60_000)
    page.get_by_role("button", name="Restore all heads").click()
    expect(changed).not_to_contain_text("layer 1 head 2")
    data_table(heads).locator("[data-item='5']").click()  # the column after the last head: the whole layer
    expect(changed).to_contain_text("without layer 2 head 1, layer 2 head 2")
    # Another model has other heads.
    page.locator("#model-picker").select_option("other")
    expect(changed).not_to_contain_text("layer 2 head 1")
    expect(changed).to_contain_text("causal mask")


def test_what_is_explained_is_chosen_with_the_keyboard(page: Page, served: Served) -> None:
    visit(page, served[0], "attribution", TEXT, B)
    tokens = page.locator("#attribution-tokens")
    expect(page.locator("#attribution-kind")).to_have_value("token")
    page.locator("#attribution-choice").focus()
    page.keyboard.type("cat")
    page.keyboard.press("Tab")
    page.keyboard.type("book")
    page.keyboard.press("Enter")
    expect(tokens).to_contain_text("Attribution for cat rather than book")
    page.locator("#attribution-kind").focus()
    page.keyboard.press("ArrowDown")
    expect(tokens).to_contain_text("Attribution for the prediction that B ")
    expect(page.locator("#attribution-choice")).to_have_value("")
    page.locator("#attribution-intervention > summary").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Causal mask, as in GPT").focus()
    page.keyboard.press("Space")
    expect(page.locator("#attribution-changed")).to_contain_text("causal mask")
    expect(page.locator("#attribution-change")).to_contain_text("Prediction before and after")


def test_the_masked_token_that_is_selected_is_explained(page: Page, served: Served) -> None:
    text = "the [MASK] cat sat on the [MASK]"
    visit(page, served[0], "attribution", text)
    position = page.locator("#attribution-position")
    expect(position).to_have_value("2")
    token(page, 7).click()
    expect(position).to_have_value("7")
    _, second = interpret.fill_mask(served[1].models.open("little"), text).masks
    expect(page.locator("#attribution-facts")).to_contain_text(f"{second.candidates[0].probability:.1%}")
    # A click on a token of the strip selects it everywhere.
    tokens = page.locator("#attribution-tokens")
    tokens.locator("td.token[data-position='3'] button").click()
    expect(token(page, 3)).to_have_attribute("aria-selected", "true")
    expect(tokens.locator("td.token[data-position='3']")).to_have_class(re.compile("selected"))
    expect(position).to_have_value("7")


def test_the_label_of_a_selected_word_is_explained(page: Page, served: Served) -> None:
    visit(page, served[0], "attribution", A, model="words")
    title = page.locator("#attribution-tokens .heading").first
    expect(title).to_contain_text("as the label of")
    token(page, 3).click()
    expect(title).to_have_text(re.compile(r"as the label of \S+$"))
    expect(page.locator("#attribution-position")).to_have_value("3")
    page.locator("#attribution-choice").fill("place")
    page.locator("#attribution-choice").press("Enter")
    expect(title).to_contain_text("Attribution for place as the label of")


def test_what_cannot_be_explained_is_one_sentence(page: Page, served: Served) -> None:
    visit(page, served[0], "attribution", TEXT)
    facts = page.locator("#attribution-facts")
    type_into(page, A)
    expect(facts).to_contain_text("Put [MASK] in place of a word")
    type_into(page, A, B)
    expect(page.locator("#attribution-tokens")).to_contain_text("Attribution for the prediction that B ")
    page.locator("#attribution-kind").select_option("token")
    expect(facts).to_contain_text("Put [MASK] in place of a word")
    page.locator("#model-picker").select_option("encoder")
    expect(facts).to_contain_text("encoder has no prediction head")
    type_into(page, "[MASK] " + "x" * 60_000)
    expect(facts).to_contain_text("50,000 characters")
    page.locator("#model-picker").select_option("little")
    type_into(page, TEXT)
    expect(page.locator("#attribution-tokens")).to_contain_text("Attribution for ")


# ---- causes


def test_a_prediction_is_traced_by_mouse_and_by_keyboard(page: Page, page_log: PageLog, served: Served) -> None:
    visit(page, served[0], "causes", TEXT)
    checkpoint = served[1].models.open("little")
    truth = interpret.patch_activations(checkpoint, TEXT)
    facts, chart, cell = (page.locator(f"#causes-{name}") for name in ("facts", "map", "cell"))
    expect(facts).to_contain_text(truth.corruption.title(truth.encoding))
    expect_marks(chart, 1)
    data_table(chart).locator(f"[data-item='{len(truth.encoding.tokens) + 2}']").click()  # layer 1, "red"
    expect(cell).to_contain_text("Prediction with a patch: residual state, layer 1, red (2)")
    # A click on a token of the input changes that one, and what was picked is gone.
    token(page, 4).click()
    expect(facts).to_contain_text("sat →")
    expect(cell).to_be_hidden()
    expect(page.locator("#causes-changed")).to_have_value("4")
    # With the keyboard: the token that replaces it, the direction, and the component.
    page.locator("#causes-replacement").focus()
    page.keyboard.type("ran")
    page.keyboard.press("Enter")
    expect(facts).to_contain_text("sat → ran")
    page.locator("#causes-direction").focus()
    page.keyboard.press("ArrowDown")
    expect(chart).to_contain_text("Residual state: noising of")
    page.locator("#causes-component").focus()
    page.keyboard.press("End")
    expect(chart).to_contain_text("Attention heads: noising of")
    for fold, host in (("decomposition", "#causes-components"), ("flow", "#causes-flow-layers")):
        page.locator(f"#causes-{fold} > summary").focus()
        page.keyboard.press("Enter")
        expect(page.locator(host)).to_contain_text("Components of" if fold == "decomposition" else "layer by layer")
    page.locator("#causes-method").select_option("ALTI")
    expect(page.locator("#causes-flow-layers")).to_contain_text("layer by layer: ALTI")
    page.locator("#causes-threshold").select_option("0.2")
    expect(page.locator("#causes-flow-graph")).to_contain_text("those under 20% are left out")
    page.locator("#causes-findings > summary").click()
    report = page.locator("#causes-report")
    expect(report.locator(".findings > li")).to_have_count(5)
    report.locator("li summary").first.click()
    expect(report.locator("li").first).to_contain_text("Logit lens")
    expect(page).to_have_url(re.compile("causes.findings=open"))  # written when nothing has changed for a while
    reload(page, page_log)
    expect(facts).to_contain_text("sat → ran", timeout=60_000)
    expect(chart).to_contain_text("Attention heads: noising of")
    # Another text has other tokens, and a text of one's own has as many.
    type_into(page, "a small [MASK] ran")
    expect(page.locator("#causes-changed")).to_have_value("")
    page.locator("#causes-corruption").select_option("text")
    page.locator("#causes-replacement").fill("a [MASK] ran")
    page.locator("#causes-replacement").press("Enter")
    expect(facts).to_contain_text("replace words by others of as many tokens")


# ---- corpus search


def test_heads_and_neurons_are_searched_in_both_directions(
    page: Page, page_log: PageLog, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviz_lab.interpret.MOST_TEXTS", 80)
    visit(page, served[0], "corpus", A, model="other")
    index = served[1].corpora.index("other", OWNER, "")
    chart, examples = page.locator("#corpus-map"), page.locator("#corpus-examples")
    # A head of all, by its number in the table, then by its metrics.
    data_table(chart).locator("[data-item='3']").click()
    expect(examples).to_contain_text("Where head 2.2 attends")
    page.locator("#corpus-x").select_option("entropy")
    expect(chart).to_contain_text("attention entropy is in nats")
    # The grid of Attention shows that head, and has the names of the corpus.
    page.locator("#tab-attention").click()
    expect(page.locator("#attention-grid")).to_contain_text("Layer 2 of 2, head 2 of 2")
    page.locator("#attention-grid .grid canvas[data-layer='0'][data-head='1']").click()
    page.locator("#tab-corpus").click()
    expect(examples).to_contain_text("Where head 1.2 attends")
    # By an example: two tokens are clicked, and a head of the answer is looked at.
    page.locator("#corpus-pairs > summary").click()
    found = page.locator("#corpus-found")
    expect(found).to_contain_text("Heads that link mat to")
    token(page, 6).click()
    token(page, 1).click()
    expect(found).to_contain_text("Heads that link the to the")
    data_table(found).locator("[data-item='2']").click()
    expect(examples).to_contain_text("Where head 2.1 attends")
    # Neurons at the selected token; one of them is chosen with the keyboard, another one typed.
    page.locator("#corpus-neurons > summary").click()
    firing, neuron = page.locator("#corpus-neuron-firing"), page.locator("#corpus-neuron-examples")
    expect(firing).to_contain_text("Neurons that fire at the (1)")
    firing.locator(".context").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#corpus-neuron")).not_to_have_value("")
    page.locator("#corpus-neuron").fill("2.7")
    page.locator("#corpus-neuron").press("Enter")
    expect(neuron).to_contain_text("Neuron 2.7: most activating tokens")
    page.locator("#corpus-training > summary").click()
    expect(page.locator("#panel-corpus")).to_contain_text("This model has no snapshots")
    # A text of the corpus becomes the input, with its token selected.
    examples.locator(".context").first.click()
    text, query, *_ = index.heads[1, 0][0][0].tolist()
    expect(page.locator("#text-a")).to_have_value(index.texts[text])
    expect(token(page, query)).to_have_attribute("aria-selected", "true")
    # The control: the same model with random weights, in every panel.
    row, control = data_table(chart).locator("tr").nth(1), page.locator("#random-weights")
    of_trained = str(row.text_content())
    in_menu(control).check()
    expect(page.locator("#model-picker option:checked")).to_have_text("other with random weights")
    expect(row).not_to_have_text(of_trained)
    in_menu(control).uncheck()
    expect(page.locator("#model-picker")).to_have_value("other")


# ---- all


def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(
    page: Page, served: Served, screen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviz_lab.interpret.MOST_TEXTS", 80)
    folds = ("attention.difference", "attribution.heads", "attribution.intervention", "corpus.pairs", "corpus.neurons")
    settings = dict.fromkeys(folds, "open") | {"attribution.ablated": "0.1", "__theme": screen}
    visit(page, served[0], "attention,attribution", TEXT, B, **settings)
    token(page, 3).click()
    page.locator("#attribution-change").scroll_into_view_if_needed()
    expect(page.locator("#attribution-change .heading")).to_be_visible()
    at_rest(page)
    assert complaints(page, "panel-attention", "panel-attribution") == []
    page.locator("#tab-corpus").click()
    expect(page.locator("#corpus-found")).to_contain_text("Heads that link")
    expect(page.locator("#corpus-neuron-promoted")).to_contain_text("promotes and suppresses")
    at_rest(page)
    assert complaints(page, "panel-corpus") == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
