"""The input bar of Explore and the address, with real mouse and keyboard."""

import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.explore.view import QUESTIONS
from tests.browser import PageLog, at_rest, complaints, eventually, fill_in, in_menu, query_of
from tests.ui.pages import Served, serve

BIKE = "Leo has a [MASK] bike. The blue bike of Leo is fast."
FIRST = 60_000  # milliseconds until a page that is opened on a busy machine shows its first answer


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page with the models that come with the lab."""
    with serve(Settings(runs_dir=tmp_path_factory.mktemp("explore"))) as served:
        yield served


def visit(page: Page, address: str, **query: str) -> None:
    page.goto(f"{address}?{urlencode(query)}" if query else address)
    expect(
        page.locator("#predictions-body .drawing :is(.heading, .candidate)").locator("visible=true").first
    ).to_be_visible(timeout=FIRST)


def examples(state: AppState, model: str) -> list[tuple[str, str]]:
    return QUESTIONS["examples"].ask(state, {"model": model})


def first_candidate(page: Page) -> Locator:
    return page.locator("#fill-bars .candidate").first


def test_what_is_typed_is_asked_once_the_typing_rests_or_with_enter(page: Page, served: Served) -> None:
    visit(page, served[0], model="tiny-town")
    asked = "() => { window.asked = []; window.Lab.page.on('input', (names) => { window.asked.push([...names]); }); }"
    page.evaluate(asked)
    page.locator("#text-a").fill("")
    page.locator("#text-a").press_sequentially("Mia has a [MASK].", delay=20)
    expect(page.locator("#tokens-strip .token")).to_have_text(
        ["[CLS]", "mia", "has", "a", "[MASK]", ".", "[SEP]"], use_inner_text=True
    )
    changes = page.evaluate("() => window.asked")
    assert ["text_a"] in changes
    assert len(changes) < 5  # of 17 keys
    page.locator("#text-a").fill(BIKE)
    page.locator("#text-a").press("Enter")
    assert page.evaluate("() => window.Lab.page.input.text_a") == BIKE
    expect(page.locator("#text-a")).to_have_value(BIKE)
    expect(first_candidate(page)).to_contain_text("blue")


def test_an_example_fills_in_both_texts(page: Page, served: Served) -> None:
    address, state = served
    visit(page, address, model="tiny-town")
    text_a, text_b = next(pair for pair in examples(state, "tiny-town") if pair[1])
    in_menu(page.locator("#examples .chip", has_text=text_b)).click()
    expect(page.locator("#text-a")).to_have_value(text_a)
    expect(page.locator("#text-b")).to_have_value(text_b)
    expect(page.locator("#tokens-strip .seg-b").first).to_be_visible()
    expect(page.locator("#nsp-verdict")).to_be_visible()


def test_panels_stay_in_sight_below_examples_that_are_whole_passages(
    page: Page, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spelt out, they pushed the predictions so far down that these were not asked again: the old answer stayed."""
    address, state = served
    passage = "The immune system is a system of many structures and processes that protects against disease. " * 8
    long = [(f"What does it protect against, number {n}?", passage) for n in range(5)]
    monkeypatch.setattr(state, "task_examples", lambda *_: long)
    visit(page, address, model="answers-town")
    chips = page.locator("#examples .chip")
    expect(chips).to_have_count(5)
    in_menu(chips.first)
    heights = chips.evaluate_all("(nodes) => nodes.map((node) => node.offsetHeight)")
    assert max(heights) < 40  # a line each
    marked = page.locator("#task-marked")
    expect(marked).to_contain_text(long[0][0])
    page.wait_for_timeout(500)
    question = "Where did the cat sit?"
    fill_in((page.locator("#text-a"), question), (page.locator("#text-b"), "The cat sat on the mat. The dog ran."))
    page.locator("#text-a").press("Enter")
    expect(marked).to_contain_text(question)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


def test_an_answer_that_comes_late_gives_way_to_that_of_the_newer_question(page: Page, served: Served) -> None:
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        asked = json.loads(route.request.post_data or "{}")
        if not held and (asked["view"], asked["question"]) == ("predictions", "task"):
            held.append(route)
        else:
            route.continue_()

    page.route("**/lab/ask", hold_the_first)
    page.goto(f"{served[0]}?model=answers-town")
    eventually(page, lambda: bool(held), FIRST / 1000)
    question = "Where is the ball of Leo?"
    fill_in((page.locator("#text-a"), question), (page.locator("#text-b"), "The ball of Leo is in the garden."))
    page.locator("#text-a").press("Enter")
    expect(page.locator("#tokens-strip")).to_contain_text("leo")
    page.wait_for_timeout(500)  # longer than the page leaves an older question before it is dropped
    marked = page.locator("#task-marked")
    expect(marked).not_to_contain_text(question)
    held[0].continue_()
    expect(marked).to_contain_text(question)
    page.wait_for_timeout(500)
    expect(marked).to_contain_text(question)
    page.unroute_all(behavior="ignoreErrors")


def test_an_untouched_example_goes_with_its_model_and_ones_own_text_stays(page: Page, served: Served) -> None:
    address, state = served
    visit(page, address, model="tiny-town")
    expect(page.locator("#text-a")).to_have_value(examples(state, "tiny-town")[0][0])
    page.locator("#model-picker").select_option("sentiment-mini")
    expect(page.locator("#text-a")).to_have_value(examples(state, "sentiment-mini")[0][0])
    expect(page.locator("#model-facts")).to_contain_text("BertForSequenceClassification")
    page.locator("#text-a").fill("My own words.")
    page.locator("#text-a").press("Enter")
    page.locator("#model-picker").select_option("tiny-town")
    expect(page.locator("#examples .chip").first).to_contain_text(examples(state, "tiny-town")[0][0])
    expect(page.locator("#text-a")).to_have_value("My own words.")
    eventually(page, lambda: query_of(page).get("text_a") == "My own words.")


def test_the_model_of_the_last_visit_is_chosen_again(page: Page, served: Served, page_log: PageLog) -> None:
    visit(page, served[0])
    page.locator("#model-picker").select_option("tiny-town")
    expect(page.locator("#model-facts")).to_contain_text("sample:tiny-town")
    visit(page, served[0])
    page_log.clear()  # what was asked when the page was left had no answer
    expect(page.locator("#model-picker")).to_have_value("tiny-town")


def test_a_browser_that_keeps_nothing_shows_the_page_all_the_same(page: Page, served: Served) -> None:
    """Where a person blocks site data, even the question whether something is kept throws."""
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('Denied', 'SecurityError') } })"
    )
    visit(page, served[0])
    expect(in_menu(page.locator("#examples .chip").first)).to_be_visible()
    page.locator("#model-picker").select_option("tiny-town")
    expect(page.locator("#model-facts")).to_contain_text("sample:tiny-town")


def test_a_model_that_is_not_there_is_told_in_a_sentence(page: Page, served: Served, page_log: PageLog) -> None:
    visit(page, served[0], model="tiny-town", text_a=BIKE)
    page.locator("#model-picker").select_option("Another model …")
    page.locator("#model-typed").fill("nobody/no-such-model")
    page.locator("#model-typed").press("Enter")
    expect(page.locator("#model-facts")).to_contain_text("nobody/no-such-model")
    expect(page.locator("#predictions-body .complaint:visible")).to_have_count(1)
    expect(page.locator("#fill-bars")).to_be_hidden()  # its predictions are those of the model before
    page.locator("#model-picker").select_option("tiny-town")
    expect(page.locator("#model-facts")).to_contain_text("sample:tiny-town")
    expect(first_candidate(page)).to_contain_text("blue")


def test_the_address_follows_what_is_done(page: Page, served: Served) -> None:
    visit(page, served[0], model="tiny-town")
    page.locator("#text-a").fill(BIKE)
    page.locator("#text-b").fill("It is fast.")
    # What comes moves what stands below it, away from a click: each click waits for it.
    expect(page.locator("#nsp-verdict svg").first).to_be_visible()
    page.locator("#fill-word").fill("red")
    page.locator("#fill-word").press("Enter")
    expect(page.locator("#fill-bars")).to_contain_text("red")
    page.locator("#predictions-joint > summary").click()
    expect(page.locator("#fill-joint svg").first).to_be_visible()
    page.locator("#tab-layers").click()
    expected = {
        "space": "explore", "model": "tiny-town", "text_a": BIKE, "text_b": "It is fast.",
        "predictions.word": "red", "predictions.joint": "open", "explore.open": "predictions,layers",
    }  # fmt: skip
    eventually(page, lambda: query_of(page) == expected)
    page.locator("#text-b").fill("")
    expect(page.locator("#nsp-verdict")).to_be_hidden()
    page.locator("#predictions-joint > summary").click()
    eventually(page, lambda: not {"text_b", "predictions.joint"} & query_of(page).keys())


def test_a_link_restores_what_was_seen(page: Page, served: Served) -> None:
    query = {
        "model": "tiny-town", "other": "wiki-mini", "text_a": BIKE, "text_b": "It is fast.",
        "explore.open": "predictions,layers", "predictions.word": "red", "predictions.joint": "open",
        "attention.layer": "1", "attention.head": "1", "layers.sum": "open",
    }  # fmt: skip
    visit(page, served[0], **query)
    for name, field in (("text_a", "#text-a"), ("text_b", "#text-b"), ("model", "#model-picker")):
        expect(page.locator(field)).to_have_value(query[name])
    expect(page.locator("#other-picker")).to_have_value("wiki-mini")
    expect(page.locator("#fill-word")).to_have_value("red")
    expect(page.locator("#fill-bars .asked")).to_contain_text("red")
    expect(page.locator("#fill-joint")).to_be_visible()
    expect(page.locator("#embedding-sum td").first).to_be_visible()
    expect(page.locator("#tab-tokens")).to_have_attribute("aria-selected", "false")
    assert query.items() <= query_of(page).items()
    page.locator("#tab-attention").click()
    expect(page.locator("#attention-grid")).to_contain_text("Layer 2 of 2, head 2 of 2")


def test_the_link_that_is_copied_is_the_address(page: Page, served: Served, page_log: PageLog) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, served[0], model="tiny-town")
    page.locator("#text-a").fill(BIKE)
    in_menu(page.locator("#copy-link")).click()  # before the typing rests
    expect(page.get_by_text("Link copied")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert parse_qs(urlsplit(copied).query)["text_a"] == [BIKE]
    page.goto(copied)
    expect(page.locator("#text-a")).to_have_value(BIKE, timeout=FIRST)
    page_log.clear()  # what was asked when the page was left had no answer


@pytest.mark.parametrize(
    "query",
    [
        {"attention.layer": "99", "attention.head": "x", "attention.rows": "x,<b>", "attention.form": "constructor"},
        {"explore.open": "no such view,predictions", "predictions.top_k": "many"},
        {"space": "nowhere", "other": "<script>"},
    ],
)
def test_a_broken_link_opens_the_page_all_the_same(page: Page, served: Served, query: dict[str, str]) -> None:
    visit(page, served[0], model="tiny-town", text_a=BIKE, **query)
    expect(first_candidate(page)).to_contain_text("blue")


def test_back_leads_to_the_workspace_before_and_forward_again(page: Page, served: Served) -> None:
    visit(page, served[0], model="tiny-town", text_a=BIKE)
    tabs = page.locator("#space-tabs")
    for name in ("Train", "Runs"):
        tabs.get_by_role("tab", name=name, exact=True).click()
        eventually(page, lambda name=name: query_of(page).get("space") == name.lower())
    for turn, name in ((page.go_back, "Train"), (page.go_back, "Explore"), (page.go_forward, "Train")):
        turn()
        expect(tabs.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")
        eventually(page, lambda name=name: query_of(page).get("space", "explore") == name.lower())
        page.wait_for_timeout(600)  # a change of the address that is on its way would be written by now
    page.go_back()
    expect(page.locator("#text-a")).to_have_value(BIKE)
    expect(first_candidate(page)).to_contain_text("blue")


def test_on_a_phone_the_workspaces_are_a_list_in_step_with_the_address(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto(f"{served[0]}?space=learn")
    picker = page.get_by_role("combobox", name="Workspace")
    expect(page.locator("#lessons h2").first).to_be_visible(timeout=FIRST)
    expect(picker).to_have_value("learn")
    expect(page.get_by_role("tab", name="Explore", exact=True)).to_be_hidden()
    picker.focus()
    page.keyboard.press("r")  # "Runs"
    expect(page.locator("#panel-runs")).to_be_visible()
    expect(picker).to_have_value("runs")
    eventually(page, lambda: query_of(page).get("space") == "runs")
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(picker).to_be_hidden()
    page.locator("#space-tabs").get_by_role("tab", name="Explore", exact=True).click()
    page.set_viewport_size({"width": 400, "height": 900})
    expect(picker).to_have_value("explore")


def test_on_a_phone_long_examples_stay_inside_their_menu(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    visit(page, served[0])
    long = in_menu(page.locator("#examples .chip").filter(has_text="It flows into the sea near the city"))
    menu, chip = page.locator(".popup", has=long).bounding_box(), long.bounding_box()
    assert menu
    assert chip
    assert chip["x"] + chip["width"] <= menu["x"] + menu["width"] <= 400


def test_on_a_phone_the_tokens_alone_of_the_input_bar_stay_in_sight(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 400, "height": 700})
    visit(page, served[0], model="tiny-town", text_a=BIKE)
    expect(page.locator("#attention-grid")).to_be_attached(timeout=FIRST)
    field = page.locator("#text-a")
    for _ in range(2):  # the second time while a field has the focus
        page.mouse.wheel(0, 800)
        page.wait_for_function("() => scrollY > 400")
        expect(page.locator("#tokens-strip")).to_be_in_viewport(ratio=1)
        box = page.locator(".input-bar").bounding_box()
        assert box
        assert 30 < box["y"] + box["height"] < 60  # of its 220 pixels
        field.blur()
        field.focus()
        expect(field).to_be_in_viewport(ratio=1)
    page.mouse.wheel(0, 800)
    expect(field).not_to_be_in_viewport()
    page.keyboard.type("x")
    expect(field).to_be_in_viewport(ratio=1)


def test_text_b_alone_is_told_what_is_missing(page: Page, served: Served) -> None:
    page.goto(f"{served[0]}?{urlencode({'model': 'tiny-town', 'text_b': BIKE})}")
    for view in ("predictions", "attention"):
        expect(page.locator(f"#{view}-body")).to_have_text(re.compile("Text A is empty"), timeout=FIRST)
    page.locator("#text-a").fill(BIKE)
    expect(first_candidate(page)).to_contain_text("blue")
    expect(page.locator("#attention-body")).not_to_contain_text("Text A is empty")


COVERED = """() => {
  const bar = document.querySelector('.input-bar');
  const { top, height } = document.activeElement.getBoundingClientRect();
  return !bar.contains(document.activeElement) && top + height > 0 && top < bar.getBoundingClientRect().bottom - 1;
}"""


def test_what_has_the_focus_is_not_covered_by_the_input_bar(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 1200, "height": 700})
    visit(page, served[0], model="tiny-town", text_a=BIKE, **{"explore.open": "predictions,layers"})
    last = page.locator("#panel-layers .fold > summary").last
    expect(last).to_be_visible()  # what is not in sight yet takes no focus
    last.focus()
    at_rest(page)
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        assert not page.evaluate(COVERED), page.evaluate("() => document.activeElement.outerHTML.slice(0, 200)")


def test_a_tour_points_at_four_things_by_keyboard_and_is_taken_once(page: Page, served: Served) -> None:
    page.goto(f"{served[0]}?tour=1")
    tour = page.locator(".tour")
    for name, pointed in (("goes in", ".input-bar"), ("predicts", "#panel-predictions"), ("looks", "#panel-attention")):
        expect(tour.locator("h2")).to_contain_text(name)
        expect(page.locator(f"{pointed}.toured")).to_be_in_viewport()
        expect(tour.locator("button").first).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.locator("#pretrain-form.toured")).to_be_in_viewport()
    assert complaints(page, "tour") == []
    page.keyboard.press("Escape")
    expect(tour).to_be_hidden()
    expect(page.locator(".toured")).to_have_count(0)
    page.goto(f"{served[0]}?tour=1")
    expect(page.locator(".input-bar")).to_be_visible()
    expect(tour).to_be_hidden()
    page.get_by_role("button", name="Tour", exact=True).click()
    expect(tour).to_be_visible()
