"""Tokens, Predictions, Embeddings and Layers on the real page, with mouse and keyboard."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from bertviz_lab import BertForSequenceClassification, BertModel, interpret
from tests.browser import PageLog, at_rest, complaints, data_table, eventually, in_menu
from tests.little import little_folder
from tests.ui.pages import Served, little_settings, serve
from tests.ui.state.test_models import RUN, make_run

TEXT = "the red [MASK] sat on the mat"
A, B = "the red cat sat on the mat", "she gave him the red book"
HOSTILE = "[MASK] <img src=x onerror=window.hacked=1> {{7*7}} ${window.hacked=1} \\ ` \u200b e\u0301 مرحبا 🙂"
#: Of each view the drawing that is in sight when its panel is opened.
DRAWN = {"tokens": "#token-strip", "predictions": "#fill-bars", "embeddings": "#similarity", "layers": "#lens"}
WEIGHED = {"attention": "#attention-grid", "attribution": "#attribution-tokens"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = little_settings(tmp_path_factory.mktemp("views"))
    little_folder(settings.checkpoints / "other", seed=1)
    little_folder(settings.checkpoints / "classifier", kind=BertForSequenceClassification)
    little_folder(settings.checkpoints / "encoder", kind=BertModel)
    with serve(settings) as served:
        yield served


def visit(page: Page, served: Served, *views: str, text_a: str = A, **query: str) -> None:
    """Open Explore, and then each of some views; those of the same slot take each other's place."""
    words = {"model": "little", "text_a": text_a} | query
    page.goto(f"{served[0]}?{urlencode(words)}")
    expect(page.locator("#tokens-strip [role=option]").first).to_be_visible(timeout=60_000)
    for view in views:
        page.locator(f"#tab-{view}").click()
        drawn = page.locator(f"{(DRAWN | WEIGHED)[view]} :is(.heading, .sentence, .empty):visible")
        expect(drawn.first).to_be_visible()


def write(page: Page, field: str, text: str) -> None:
    """Type into a field and press Enter."""
    page.locator(field).fill(text)
    page.locator(field).press("Enter")


def unfold(page: Page, fold: str) -> None:
    page.locator(f"#{fold} > summary").click()
    expect(page.locator(f"#{fold}")).to_have_attribute("open", "")


def set_range(page: Page, field: str, value: int) -> None:
    page.locator(field).fill(str(value))


def tokens_of(drawing: Locator) -> Locator:
    return drawing.locator("td.token button")


def test_masked_tokens_are_predicted_asked_about_and_toggled(page: Page, served: Served) -> None:
    model = served[1].models.open("little")
    visit(page, served, "predictions", text_a=TEXT)
    bars = page.locator("#fill-bars")
    expect(bars.locator(".candidate")).to_have_count(5)
    set_range(page, "#fill-top-k", 12)
    expect(bars.locator(".candidate")).to_have_count(12)
    write(page, "#fill-word", "cat")
    asked = interpret.fill_mask(model, TEXT, word="cat").masks[0].asked
    assert asked is not None
    expect(bars.locator(".asked")).to_contain_text(f"rank {asked.rank} of")
    write(page, "#fill-word", "unbelievably long")
    expect(bars).to_contain_text("not one token")
    write(page, "#fill-word", "")
    # A click masks a word, another brings it back; so does the keyboard.
    bars.get_by_role("button", name="mat", exact=True).click()
    expect(page.locator("#text-a")).to_have_value("the red [MASK] sat on the [MASK]")
    expect(bars.locator(".blank")).to_have_count(2)
    bars.locator(".hole").last.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#text-a")).to_have_value(TEXT)
    unfold(page, "predictions-joint")
    best = interpret.joint_fill(model, TEXT, beams=8).joint[0]
    expect(data_table(page.locator("#fill-joint"))).to_contain_text(" · ".join(best.tokens))
    write(page, "#text-a", A)
    unfold(page, "predictions-surprisal")
    scored = interpret.pseudo_log_likelihood(model, A)
    strip = page.locator("#fill-surprisal")
    expect(strip).to_contain_text(f"pseudo-perplexity {scored.perplexity:.1f}")
    tokens_of(strip).nth(2).hover()
    expect(strip.locator(".readout")).to_contain_text(f"surprisal {-scored.log_probabilities[2]:.1f}")


def test_two_models_and_two_texts_are_compared(page: Page, served: Served) -> None:
    model = served[1].models.open("little")
    visit(page, served, "predictions", text_a=TEXT)
    expect(page.locator("#fill-comparison")).to_be_hidden()
    in_menu(page.locator("#other-picker")).select_option("before")
    expect(page.locator("#fill-comparison .heading")).to_have_text("little and before training")
    in_menu(page.locator("#other-picker")).select_option("other")
    expect(page.locator("#fill-comparison .heading")).to_have_text("little and other")
    in_menu(page.locator("#other-picker")).select_option("classifier")
    expect(page.get_by_text("The model to compare with, classifier, predicts no masked tokens")).to_be_visible()
    expect(page.locator("#fill-comparison")).to_be_hidden()
    in_menu(page.locator("#other-picker")).select_option("other")
    expect(page.locator("#nsp-verdict")).to_be_hidden()
    write(page, "#text-a", A)
    expect(page.get_by_text("Mask a word to compare the two models.")).to_be_visible()
    write(page, "#text-b", B)
    verdict = page.locator("#nsp-verdict")
    expect(verdict).to_be_visible()
    share = interpret.next_sentence(model, A, B).is_next
    expect(data_table(verdict)).to_contain_text(f"{share:.1%}")
    in_menu(page.get_by_text("Swap A and B")).click()
    expect(page.locator("#text-a")).to_have_value(B)
    swapped = interpret.next_sentence(model, B, A).is_next
    expect(data_table(verdict)).to_contain_text(f"{swapped:.1%}")
    in_menu(page.get_by_text("Random B")).click()
    expect(page.locator("#text-b")).not_to_have_value(A)
    expect(page.locator("#text-a")).to_have_value(B)


def test_a_selected_token_is_marked_in_every_drawing(page: Page, served: Served) -> None:
    visit(page, served, "tokens")
    above, strip, masking = page.locator("#tokens-strip"), page.locator("#token-strip"), page.locator("#masking-strip")
    tokens_of(strip).nth(3).click()
    expect(above.locator('[aria-selected="true"]')).to_have_text("cat")
    expect(tokens_of(masking).nth(3)).to_have_attribute("aria-current", "true")
    # By keyboard: arrows move, Enter selects.
    tokens_of(strip).nth(3).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(above.locator('[aria-selected="true"]')).to_have_text("red")
    expect(strip.locator("td.token.selected")).to_have_count(1)
    above.locator("[role=option]").nth(2).click()  # pressed again: none
    expect(above.locator('[aria-selected="true"]')).to_have_count(0)
    above.locator("[role=option]").nth(2).click()
    page.locator("#tab-predictions").click()
    expect(page.locator("#fill-bars .selected")).to_have_text("red")
    # Another text has another third token: nothing is selected any more.
    page.locator("#tab-tokens").click()
    write(page, "#text-a", "a small dog ran")
    expect(above.locator('[aria-selected="true"]')).to_have_count(0)
    expect(strip.locator(".selected")).to_have_count(0)


def test_a_strip_of_tokens_breaks_into_lines_that_fit_beside_the_longest_row_name(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    visit(page, served, "attribution", text_a="a small red [MASK] ran over the hill and slept by the old tree")
    lines = page.locator("#attribution-tokens .lines")
    expect(lines).to_contain_text("integrated gradients")
    assert lines.locator("table").count() > 1
    assert lines.evaluate("(node) => node.scrollWidth <= node.clientWidth")


def test_masking_has_its_settings_loss_statistics_and_epochs(page: Page, served: Served) -> None:
    visit(page, served, "tokens", text_b=B)
    expect(page.locator("#token-strip .heading")).to_contain_text("13 words became")
    unfold(page, "tokens-split")
    expect(page.locator("#word-splits")).to_contain_text("WordPiece takes the longest prefix")
    strip = page.locator("#masking-strip")
    expect(strip.locator(".heading")).to_contain_text("must be predicted")
    shown = strip.locator(".lines").inner_text()
    page.locator("#masking-again").click()
    expect(page.locator("#masking-seed")).to_have_value("2")
    eventually(page, lambda: strip.locator(".lines").inner_text() != shown)
    set_range(page, "#masking-rate", 50)
    expect(strip.locator(".counts")).to_contain_text("50% of 16 positions")
    set_range(page, "#masking-random", 30)
    expect(strip).to_contain_text("exceed 100 percent")
    set_range(page, "#masking-random", 20)
    page.locator("#masking-unit").select_option("spans")
    expect(strip.locator(".counts")).to_contain_text("20% of the selected")
    unfold(page, "tokens-loss")
    expect(page.locator("#masking-loss .heading")).to_contain_text("nats")
    unfold(page, "tokens-statistics")
    counts = page.locator("#masking-statistics")
    expect(counts.locator(".heading")).to_have_text("10,000 draws")
    page.locator("#masking-draws").select_option("100000")
    expect(counts.locator(".heading")).to_have_text("100,000 draws", timeout=60_000)
    unfold(page, "tokens-epochs")
    epochs = page.locator("#masking-epochs .heading")
    expect(epochs).to_have_text("Dynamic masking")
    page.locator("#masking-masks").select_option("static")
    expect(epochs).to_have_text("Static masking")


def test_sentences_words_and_a_word_in_two_contexts(page: Page, served: Served) -> None:
    visit(page, served, "embeddings", text_a="a small dog ran to the mat")
    table = page.locator("#similarity")
    expect(data_table(table)).to_contain_text(
        "1. a small dog ran to the mat"
    )  # nobody has named sentences: the input and examples
    page.locator("#similarity-sentences").fill(f"{A}\n{B}\n{A}")
    expect(data_table(table).locator("tr")).to_have_count(3)
    expect(data_table(table)).to_contain_text("1.00")
    page.locator("#similarity-pooling").select_option("cls")
    unfold(page, "embeddings-map")
    expect(data_table(page.locator("#sentence-map")).locator("tr")).to_have_count(3)
    unfold(page, "embeddings-neighbours")
    near = page.locator("#neighbours .heading")
    expect(near).to_have_text("Nearest neighbors of small")
    write(page, "#neighbours-word", "red")
    expect(near).to_have_text("Nearest neighbors of red")
    page.locator("#tokens-strip [role=option]", has_text="mat").click()
    expect(page.locator("#neighbours-word")).to_have_value("mat")
    expect(near).to_have_text("Nearest neighbors of mat")
    unfold(page, "embeddings-contexts")
    lines = page.locator("#contexts-similarity .heading")
    expect(lines).to_have_text("Contextual embeddings of bank")  # an example while text B is empty
    write(page, "#text-b", B)
    expect(lines).to_have_text("Contextual embeddings of the")
    write(page, "#text-a", A)
    write(page, "#contexts-word", "red")
    expect(lines).to_have_text("Contextual embeddings of red")
    expect(page.locator("#contexts-path .heading")).to_contain_text("Trajectory of red")
    write(page, "#contexts-word", "zebra")
    expect(page.locator("#contexts-similarity")).to_contain_text("not in the sentence")
    expect(page.locator("#contexts-path")).to_be_hidden()


def test_charts_do_not_vanish_when_the_address_changes(page: Page, served: Served) -> None:
    visit(page, served, "embeddings", "layers", text_a=TEXT)
    expect(page.locator("#norms-by-layer .plot .point").first).to_be_attached()
    clips = page.locator(".plot [clip-path]").evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('clip-path'))"
    )
    assert clips
    assert all(clip.startswith("url(#") for clip in clips), clips  # in this document, whatever its address


def test_the_lens_and_norms_follow_the_input_and_the_selected_token(page: Page, served: Served) -> None:
    model = served[1].models.open("little")
    text = "the [MASK] cat sat on the [MASK]"
    visit(page, served, "layers", text_a=TEXT)
    lens = page.locator("#lens")
    expect(lens).to_contain_text(
        f"The last row is the model's prediction: {interpret.logit_lens(model, TEXT).target.name}"
    )
    write(page, "#text-a", text)
    expect(lens.locator(".heading")).to_contain_text("masked token 1")
    page.locator("#tokens-strip .masked").last.click()
    expect(lens.locator(".heading")).to_contain_text("masked token 2")
    last = interpret.fill_mask(model, text).masks[1].candidates[0].token
    expect(data_table(lens).locator("tr").last).to_contain_text(last)
    norms = page.locator("#norms-by-layer .heading")
    expect(norms).to_have_text("Norms by layer: [MASK] (position 7)")
    page.locator("#tokens-strip .masked").last.click()
    expect(norms).to_have_text("Norms by layer: median")
    unfold(page, "layers-token_norms")
    strip = page.locator("#norms-of-tokens")
    expect(strip.locator("th", has_text="embeddings")).to_have_count(1)
    page.locator("#norms-kind").select_option("attention")
    expect(strip.locator(".heading")).to_have_text("Norm of the attention output at each layer")
    tokens_of(strip).nth(2).click()
    expect(norms).to_have_text("Norms by layer: [MASK] (position 2)")
    unfold(page, "layers-sum")
    expect(page.locator("#embedding-sum")).to_contain_text("cos position")
    tokens_of(page.locator("#embedding-sum")).nth(3).hover()
    expect(page.locator("#embedding-sum .readout")).to_contain_text("segment")


def test_what_looks_like_code_is_text_everywhere(page: Page, served: Served) -> None:
    visit(page, served, text_a=HOSTILE, text_b=HOSTILE)
    for view, drawing in (DRAWN | WEIGHED).items():
        page.locator(f"#tab-{view}").click()
        expect(page.locator(drawing)).to_contain_text(re.compile(r"img|\[UNK\]|Logit"))
        closed = page.locator(f"#panel-{view} details.fold:not([open]) > summary").filter(visible=True)
        while closed.count():  # what is opened may hold others
            closed.first.click()
        at_rest(page)
    expect(page.locator(".panel img")).to_have_count(0)
    assert page.evaluate("() => window.hacked") is None


def test_too_much_is_cut_or_one_sentence_as_too_little_is_and_the_page_lives_on(page: Page, served: Served) -> None:
    visit(page, served, *DRAWN, text_a=TEXT)
    cut = f"[MASK] {'cat ' * (served[1].models.open('little').config.max_position_embeddings + 1)}"
    for text, words in (("x" * 60_000, "50,000 characters"), ("", "Type a sentence"), (cut, ""), (TEXT, "")):
        page.locator("#text-a").fill(text)
        page.locator("#text-a").press("Enter")
        for view, drawing in DRAWN.items():
            page.locator(f"#tab-{view}").click()
            if not words:
                expect(page.locator(f"{drawing} .heading").first, view).to_be_visible()
            elif view != "embeddings" or text:  # which has examples to compare
                expect(page.locator(f"{drawing} .empty"), view).to_contain_text(words)
        page.locator("#tab-tokens").click()
        said = expect(page.locator("#token-strip"))
        (said.to_contain_text if text == cut else said.not_to_contain_text)("did not fit and were truncated")


def test_a_model_without_a_head_hides_or_says_what_it_cannot_do(page: Page, served: Served) -> None:
    visit(page, served, "predictions", text_a=TEXT)
    folds = page.locator("#predictions-joint, #predictions-surprisal")
    expect(folds.filter(visible=True)).to_have_count(2)
    page.locator("#model-picker").select_option("classifier")
    expect(page.locator("#task-labels .heading")).to_contain_text("Predicted label")
    expect(folds.filter(visible=True)).to_have_count(0)
    expect(page.locator("#fill-bars")).to_be_hidden()
    headless = page.get_by_text("This model has no prediction head.")
    expect(headless).to_be_hidden()
    page.locator("#model-picker").select_option("encoder")
    expect(headless).to_be_visible()
    visit(page, served, "tokens", "layers", text_a=TEXT, model="classifier", **{"tokens.loss": "open"})
    expect(page.locator("#masking-loss")).to_contain_text("no masked-LM head")
    expect(page.locator("#lens")).to_contain_text("no masked-LM head")
    expect(page.locator("#norms-by-layer .heading")).to_have_text("Norms by layer: median")


def test_copying_the_link_to_a_run_says_what_its_model_reveals(page: Page, served: Served) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    make_run(served[1])
    for model, warned in (("little", False), (RUN, True)):
        visit(page, served, model=model)
        in_menu(page.locator("#copy-link")).click()
        status = page.locator("#copy-link + [role=status]")
        expect(status).to_contain_text("Link copied")
        assert ("can reveal parts of its training text" in (status.text_content() or "")) is warned
    served[1].runs.delete(RUN)


@pytest.mark.parametrize(
    ("view", "drawing"), [(view, drawing) for view, drawing in (DRAWN | WEIGHED).items() if view != "layers"]
)
def test_every_drawing_is_saved(
    page: Page, page_log: PageLog, served: Served, tmp_path: Path, view: str, drawing: str
) -> None:
    visit(page, served, view, text_a=TEXT)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    menu = page.locator(f"{drawing} details.menu:visible", has_text="Copy as figure caption").last
    in_menu(menu.get_by_text("Copy as figure caption")).click()
    expect(menu.locator("[aria-live]")).to_have_text("Caption copied")
    caption = page.evaluate("() => navigator.clipboard.readText()")
    assert caption.endswith(f"Model: little. Text A: “{TEXT}”.")
    page.keyboard.press("Escape")
    for kind in ("png", "svg", "csv", "json", "html"):
        with page.expect_download() as waiting:
            menu = page.locator(f"{drawing} details.menu:visible", has=page.locator(f"[data-save={kind}]")).last
            in_menu(menu.locator(f"[data-save={kind}]")).click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.suffix == f".{kind}"
        assert path.stat().st_size > 50
    page_log.clear()
    page.goto(path.as_uri())  # the page that works without the server
    expect(page.locator(".heading, .sentence").first).to_be_visible()


def test_axe_finds_nothing_and_nothing_is_wider_than_the_page(page: Page, served: Served, screen: str) -> None:
    folds = ("tokens.split", "tokens.loss", "embeddings.contexts", "layers.token_norms", "layers.sum")
    visit(page, served, text_a=TEXT, text_b=B, __theme=screen, **dict.fromkeys(folds, "open"))
    page.locator("#tokens-strip [role=option]").nth(2).click()
    for view, drawing in DRAWN.items():
        page.locator(f"#tab-{view}").click()
        expect(page.locator(f"{drawing} .heading:visible").first).to_be_visible()
        at_rest(page)  # what is busy is pale
        assert complaints(page, f"panel-{view}") == []
