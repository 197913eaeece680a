"""Looking inside a model on the real page: every view is opened, asked and read with real clicks."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from bertviz_lab import BertForSequenceClassification, interpret
from bertviz_lab.ui.app_state import AppState
from tests.browser import fill_in
from tests.little import little_folder
from tests.ui.pages import event_loops, little_settings, serve

__all__ = ["event_loops"]
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

TEXT = "the red [MASK] sat on the mat"
A, B = "the red cat sat on the mat", "she gave him the red book"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, AppState]]:
    settings = little_settings(tmp_path_factory.mktemp("explorer"))
    little_folder(settings.checkpoints / "other", seed=1)
    with serve(settings) as served:
        yield served


def at(page: Page, address: str, tab: str) -> None:
    """Open the page and a tab of it."""
    page.goto(address)
    expect(page.locator("#fill-bars")).to_contain_text("Predictions", timeout=60_000)
    page.get_by_role("tab", name=tab, exact=True).click()


def type_into(field: Locator, text: str) -> None:
    box = field.locator("textarea, input").first
    fill_in((box, text))
    box.press("Enter")


def unfold(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()


# Fill-mask


def test_a_word_of_ones_own_is_ranked(page: Page, served: tuple[str, AppState]) -> None:
    address, session = served
    at(page, address, "Fill-mask")
    unfold(page, "More predictions, or a word of your own")
    type_into(page.locator("#fill-text"), TEXT)
    type_into(page.locator("#fill-word"), "cat")
    asked = interpret.fill_mask(session.models.open(), TEXT, word="cat").masks[0].asked
    assert asked is not None
    expect(page.locator("#fill-bars .asked")).to_contain_text(f"rank {asked.rank} of")
    type_into(page.locator("#fill-word"), "unbelievably long")
    expect(page.locator("#fill-bars")).to_contain_text("not one token")


def test_the_answer_is_followed_through_the_layers(page: Page, served: tuple[str, AppState]) -> None:
    address, session = served
    at(page, address, "Fill-mask")
    type_into(page.locator("#fill-text"), TEXT)
    unfold(page, "Logit lens")
    lens = interpret.logit_lens(session.models.open(), TEXT)
    layers = page.locator("#fill-layers")
    expect(layers).to_contain_text(f"The last row is the model's prediction: {lens.target.name}")
    items = layers.locator("[data-item]")
    expect(items).to_have_count(3 * 5)
    items.nth(0).hover(force=True)
    expect(layers.locator(".readout")).to_contain_text(lens.layers[0].candidates[0].token)
    # It follows the sentence while it is open.
    type_into(page.locator("#fill-text"), "a small [MASK] ran")
    expect(layers).to_contain_text(interpret.logit_lens(session.models.open(), "a small [MASK] ran").target.name)


def test_a_second_model_stands_beside_it(page: Page, served: tuple[str, AppState]) -> None:
    address, _ = served
    at(page, address, "Fill-mask")
    type_into(page.locator("#fill-text"), TEXT)
    unfold(page, "Compare with another model")
    comparison = page.locator("#fill-comparison")
    expect(comparison.locator(".heading")).to_have_text("little and before training")
    page.locator("#fill-other input").click()
    page.get_by_role("option", name="other (comes with the lab)").click()
    expect(comparison.locator(".heading")).to_have_text("little and other")


def test_masked_tokens_are_filled_together(page: Page, served: tuple[str, AppState]) -> None:
    address, session = served
    at(page, address, "Fill-mask")
    text = "the [MASK] cat [MASK] on the mat"
    type_into(page.locator("#fill-text"), text)
    unfold(page, "Several masked tokens jointly")
    best = interpret.joint_fill(session.models.open(), text, beams=8).joint[0]
    expect(page.locator("#fill-together")).to_contain_text(" · ".join(best.tokens))


def test_each_token_has_its_surprisal(page: Page, served: tuple[str, AppState]) -> None:
    address, session = served
    at(page, address, "Fill-mask")
    type_into(page.locator("#fill-text"), A)
    unfold(page, "Surprisal (pseudo-log-likelihood)")
    truth = interpret.pseudo_log_likelihood(session.models.open(), A)
    strip = page.locator("#fill-surprise")
    expect(strip).to_contain_text(f"pseudo-perplexity {truth.perplexity:.1f}")
    strip.locator("td.token button").nth(2).hover()
    expect(strip.locator(".readout")).to_contain_text(f"surprisal {-truth.log_probabilities[2]:.1f}")


# Vectors


def test_sentences_words_and_a_word_in_two_sentences(page: Page, served: tuple[str, AppState]) -> None:
    address, _ = served
    at(page, address, "Embeddings")
    page.locator("#vectors-sentences textarea").fill(f"{A}\n{B}\n{A}")
    page.get_by_role("button", name="Compare").click()
    table = page.locator("#vectors-table")
    expect(table).to_contain_text("3. the red cat")
    expect(table.locator("[data-item]")).to_have_count(9)
    table.locator("[data-item='2']").hover(force=True)
    expect(table.locator(".readout")).to_contain_text("1.000")
    unfold(page, "Map (PCA)")
    expect(page.locator("#vectors-map [data-item]")).to_have_count(3)
    unfold(page, "Nearest neighbours of a word")
    type_into(page.locator("#vectors-word"), "red")
    expect(page.locator("#vectors-near")).to_contain_text("Nearest neighbours of red")
    unfold(page, "One word in two contexts")
    expect(page.locator("#vectors-lines")).to_contain_text("Contextual embeddings of bank")  # its example is in place
    page.locator("#vectors-a textarea").fill(A)
    page.locator("#vectors-b textarea").fill(B)
    type_into(page.locator("#vectors-common"), "red")
    expect(page.locator("#vectors-lines")).to_contain_text("Contextual embeddings of red")
    expect(page.locator("#vectors-way [data-item]")).to_have_count(6)


# Input and masking


def test_the_sum_of_three_vectors_is_shown(page: Page, served: tuple[str, AppState]) -> None:
    address, _ = served
    at(page, address, "Tokens")
    unfold(page, "Input embeddings: the sum of three vectors")
    page.locator("#input-a textarea").fill(A)
    strip = page.locator("#input-sum")
    expect(strip).to_contain_text("cos position")
    strip.locator("td.token button").nth(2).hover()
    expect(strip.locator(".readout")).to_contain_text("segment")


def test_masks_are_paid_for_counted_and_repeated(page: Page, served: tuple[str, AppState]) -> None:
    address, _ = served
    at(page, address, "Masking")
    type_into(page.locator("#masking-text"), A)
    unfold(page, "MLM loss of this text")
    expect(page.locator("#masking-loss")).to_contain_text("MLM loss of this text")
    unfold(page, "Masking statistics: is it really 80/10/10?")
    counts = page.locator("#masking-counts")
    expect(counts).to_contain_text("10,000 draws")
    page.get_by_role("radio", name="100,000").click()
    expect(counts).to_contain_text("100,000 draws", timeout=30_000)
    unfold(page, "Static or dynamic masking")
    passes = page.locator("#masking-passes")
    expect(passes.locator(".heading")).to_have_text("Dynamic masking")
    page.get_by_role("radio", name=re.compile("static")).click()
    expect(passes.locator(".heading")).to_have_text("Static masking")
    unfold(page, "Masking rule")
    page.get_by_role("radio", name="spans (span masking)").click()
    expect(page.locator("#masking-strip")).to_contain_text("must be predicted")


# What a person may type, and who else is there

#: A tab, the field that is typed into, and what shows the answer.
FIELDS = {
    "Fill-mask": ("#fill-text", "#fill-bars"),
    "Embeddings": ("#vectors-sentences", "#vectors-table"),
    "Tokens": ("#input-b", "#input-strip"),
    "Masking": ("#masking-text", "#masking-strip"),
}
HOSTILE = "<img src=x onerror=window.hacked=1> {{7*7}} ${window.hacked=1} \\ ` \u200b e\u0301 مرحبا 🙂"


def answer_in(page: Page, tab: str, text: str) -> Locator:
    """Type into a tab, ask, and give the view that answers."""
    page.get_by_role("tab", name=tab, exact=True).click()
    field, view = FIELDS[tab]
    # What stands in the fields at first is there.
    expect(page.locator(f"{view} :is(.heading, .empty):visible").first).not_to_have_text(
        "Nothing has been computed yet."
    )
    page.locator(f"{field} textarea").fill(text)
    if tab == "Embeddings":
        page.get_by_role("button", name="Compare").click()
    else:
        page.locator(f"{field} textarea").press("Enter")
    return page.locator(view)


def test_what_looks_like_code_is_text_everywhere(page: Page, served: tuple[str, AppState]) -> None:
    at(page, served[0], "Fill-mask")
    for tab in FIELDS:
        shown = answer_in(page, tab, HOSTILE)
        expect(shown, tab).to_contain_text(re.compile(r"img|\[UNK\]"))
        expect(shown.locator("img"), tab).to_have_count(0)
    assert page.evaluate("() => window.hacked") is None


def test_too_much_and_too_little_is_one_sentence_and_the_page_lives_on(
    page: Page, served: tuple[str, AppState]
) -> None:
    at(page, served[0], "Fill-mask")
    for tab in FIELDS:
        empty = page.locator(FIELDS[tab][1]).locator(".empty").first
        answer_in(page, tab, "x" * 60_000)
        expect(empty, tab).to_contain_text("shorten it")
        if tab != "Tokens":  # where sentence B may stay empty
            answer_in(page, tab, "")
            expect(empty, tab).to_contain_text(re.compile("Type|Put"))
        expect(answer_in(page, tab, TEXT).locator(".heading").first, tab).to_be_visible()


def test_more_tokens_than_the_model_has_positions(page: Page, served: tuple[str, AppState]) -> None:
    address, session = served
    longest = session.models.open().config.max_position_embeddings
    at(page, address, "Fill-mask")
    for tab in FIELDS:
        shown = answer_in(page, tab, "cat " * (longest + 1))
        expect(shown.locator(".heading").first, tab).to_be_visible()
    expect(page.locator("#input-strip")).to_contain_text("did not fit and were truncated")


def test_a_model_without_a_head_says_which_and_shows_the_rest(
    page: Page, served: tuple[str, AppState], tmp_path: Path
) -> None:
    address, _ = served
    folder = little_folder(tmp_path / "classifier", kind=BertForSequenceClassification)
    page.goto(f"{address}?{urlencode({'model': folder})}")
    expect(page.locator("#model-facts")).to_contain_text("BertForSequenceClassification", timeout=60_000)
    for tab in FIELDS:
        shown = answer_in(page, tab, TEXT)
        if tab == "Fill-mask":
            expect(shown, tab).to_contain_text("no masked-LM head")
        else:
            expect(shown.locator(".heading").first, tab).to_be_visible()


def test_two_people_with_two_models_never_see_each_others_answers(
    page: Page, browser: Browser, served: tuple[str, AppState]
) -> None:
    address, session = served
    other_page = browser.new_page()
    try:
        for one, model in ((page, "little"), (other_page, "other")):
            one.goto(f"{address}?model={model}")
            expect(one.locator("#fill-bars")).to_contain_text("Predictions", timeout=60_000)
        for turn in range(4):
            texts = [f"the {word} [MASK] sat on the {turn % 2 * 'old '}mat" for word in ("red", "small")]
            for one, text in ((page, texts[0]), (other_page, texts[1])):
                one.locator("#fill-text textarea").fill(text)
                one.locator("#fill-text textarea").press("Enter")
            for one, model, text in ((page, "little", texts[0]), (other_page, "other", texts[1])):
                best = interpret.fill_mask(session.models.open(model), text).masks[0].candidates[0]
                row = one.locator("#fill-bars .candidate").first
                expect(row).to_contain_text(f"{100 * best.probability:.1f}%")
    finally:
        other_page.close()


# Everywhere


@pytest.mark.parametrize(
    ("tab", "fields", "view"),
    [
        ("fill", {"text": TEXT}, "#fill-bars"),
        ("vectors", {"sentences": f"{A}\n{B}"}, "#vectors-table"),
        ("input", {"a": A, "b": B}, "#input-strip"),
        ("masking", {"text": A}, "#masking-strip"),
    ],
)
def test_a_link_opens_what_another_has_seen(
    page: Page, served: tuple[str, AppState], tab: str, fields: dict[str, str], view: str
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{served[0]}?{urlencode({'tab': tab, 'model': 'other', **fields})}")
    shown = page.locator(view)
    expect(shown.locator(".heading").first).to_be_visible(timeout=60_000)
    expect(page.locator("#model-picker input")).to_have_value(re.compile("other"))
    shown.locator("[data-save=link]").first.click()
    expect(shown.locator(".link").first).to_contain_text("Link copied")
    said = parse_qs(urlsplit(page.evaluate("() => navigator.clipboard.readText()")).query)
    assert {name: value for name, (value,) in said.items()}.items() >= {"tab": tab, "model": "other", **fields}.items()


@pytest.mark.parametrize(
    ("tab", "part", "fields", "view", "words"),
    [
        ("fill", "layers", {"text": TEXT}, "#fill-layers", "Logit lens"),
        ("fill", "beside", {"text": TEXT, "other": "other"}, "#fill-comparison", "little and other"),
        ("vectors", "near", {"word": "red"}, "#vectors-near", "Nearest neighbours of red"),
        ("masking", "draws", {"text": A, "draws": "1000", "rate": "30"}, "#masking-counts", "1,000 draws"),
    ],
)
def test_a_link_opens_a_part_that_is_folded_away(
    page: Page, served: tuple[str, AppState], tab: str, part: str, fields: dict[str, str], view: str, words: str
) -> None:
    page.goto(f"{served[0]}?{urlencode({'tab': tab, 'part': part, 'model': 'little', **fields})}")
    expect(page.locator(view)).to_contain_text(words, timeout=60_000)
    expect(page.locator(view)).to_be_visible()


def test_what_was_asked_last_is_what_is_shown(page: Page, served: tuple[str, AppState]) -> None:
    """Models are switched faster than they answer; in the end every view is the last one's."""
    address, session = served
    at(page, address, "Fill-mask")
    type_into(page.locator("#fill-text"), TEXT)
    picker = page.locator("#model-picker input")
    for name in ("other", "little", "other", "little", "other"):
        picker.fill(name)
        picker.press("Enter")
    best = interpret.fill_mask(session.models.open("other"), TEXT).masks[0].candidates[0]
    expect(page.locator("#fill-bars .candidate").first).to_contain_text(f"{100 * best.probability:.1f}%")
    page.wait_for_timeout(1500)
    expect(page.locator("#fill-bars .candidate").first).to_contain_text(f"{100 * best.probability:.1f}%")


@pytest.mark.parametrize(
    ("tab", "view"),
    [("Fill-mask", "#fill-bars"), ("Embeddings", "#vectors-table"), ("Tokens", "#input-strip"),
     ("Masking", "#masking-strip")],
)  # fmt: skip
def test_every_view_is_exported(page: Page, served: tuple[str, AppState], tmp_path: Path, tab: str, view: str) -> None:
    at(page, served[0], tab)
    for kind in ("png", "svg", "csv", "json", "html"):
        button = page.locator(f"{view} [data-save={kind}]").last
        expect(button).to_be_visible(timeout=30_000)
        with page.expect_download() as waiting:
            button.click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.suffix == f".{kind}"
        assert path.stat().st_size > 50
