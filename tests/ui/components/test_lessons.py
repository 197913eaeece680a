"""The lessons under real mouse and keyboard, with answers made by hand."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.errors import InputError
from bertviz_lab.ui.languages import language_of
from bertviz_lab.ui.lessons import LESSONS, Choice, Lesson, Place
from bertviz_lab.ui.lessons.lesson import Control, Finding, Step
from bertviz_lab.ui.lessons.measuring import Measured, lesson_page
from bertviz_lab.ui.server.questions import questions_route
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Index, View, Word, question
from tests.browser import PageLog, complaints
from tests.ui.components.harness import HOSTILE, running
from tests.ui.pages import little_settings

#: What the page is answered, by the number of a lesson: what was found, or the sentence why there is nothing.
Desk = dict[int, Finding | str]


def lesson_of(number: int, text: str) -> Lesson:
    return replace(
        LESSONS[0], number=number, title=f"Lesson {'ABC'[number - 1]}", minutes=5, hour=1, model="toy", idea=text,
        example=text, question="What is it?", look=(Step("Look at `this`.", LOOK),), reveal=("{text}",),
        choices=(Choice("this", "It is not `this`."), Choice("that"), Choice("neither", "It is one of the two.")),
        proof=(Step("See it.", Place("attribution", text_a="A.", settings={"word": "x"})),), measured_by="How much",
        control=Control("Perhaps not.", Step("Try the other.", LOOK), "{text}"),
    )  # fmt: skip


LOOK = Place("predictions", text_a="A.", settings={"word": "x"})


def answer(text: str = "It is {that}.", right: int | None = 1) -> Finding:
    return Finding(right, {"text": text}, (("this", 0.25, "25.0%"), ("that", 0.75, "75.0%")), [True])


MISSING = "There is no such model."
PARTS = ("wire", "lesson-bar", "lessons")


@contextmanager
def lessons(desk: Desk, text: str, folder: Path) -> Iterator[str]:
    def measured(state: Any, number: int, language: Word, chosen: Index | None = None) -> str:
        found = desk.get(number, answer())
        if isinstance(found, str):
            raise InputError(found)
        say = language_of(language)
        told = Measured(lesson_of(number, text), found, say)
        return lesson_page(told.lesson, say, measured=told, chosen=chosen)

    def bodies(state: Any, language: Word) -> Any:
        missing, say = 1 in desk and desk[1] == MISSING, language_of(language)
        return [
            {"number": each.number, "title": each.title, "minutes": 5, "hour": 1}
            | {"page": lesson_page(each, say, missing=missing)}
            for each in (lesson_of(number, text) for number in (1, 2, 3))
        ]

    asked = {"lessons": question(bodies), "measured": question(measured)}
    state = AppState(little_settings(folder, models=False))

    def build() -> gr.Blocks:
        with gr.Blocks() as blocks:
            gr.HTML(
                html_template="".join(f'<div id="{name}" data-part="{name}"></div>' for name in PARTS),
                js_on_load="import('lab/client/main.js').then((lab) => lab.mount(element, props))",
                apply_default_css=False,
            )
        return blocks

    with running(build, questions_route(state, [View("lessons", "Lessons", "", asked)])) as address:
        yield address


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Desk]]:
    desk: Desk = {}
    with lessons(
        desk, f"An idea with `[MASK]` in it. {' '.join(HOSTILE)}", tmp_path_factory.mktemp("lessons")
    ) as address:
        yield address, desk


@pytest.fixture
def desk(served: tuple[str, Desk]) -> Desk:
    desk = served[1]
    desk.clear()
    return desk


@pytest.fixture
def visit(served: tuple[str, Desk], page: Page) -> Any:
    def open_page(query: str = "", width: int = 1280) -> Page:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(served[0] + query)
        page.locator("#lessons .one").wait_for()
        return page

    return open_page


def reveal(page: Page, choice: int = 1):
    page.locator("#lessons .choice").nth(choice).click()
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("#lessons .bars")).to_be_visible()


def test_nothing_is_revealed_before_a_choice_was_made(visit: Any, desk: Desk):
    page = visit()
    expect(page.get_by_role("button", name="Reveal")).to_be_disabled()
    expect(page.locator("#lessons .told")).to_be_hidden()
    page.get_by_role("radio", name="this", exact=True).check()
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("#lessons .verdict")).to_have_text("Not quite. The answer: that")
    expect(page.locator("#lessons .choice").nth(0)).to_contain_text("Your prediction")
    expect(page.locator("#lessons .choice").nth(1)).to_contain_text("✓ Correct")
    expect(page.get_by_role("radio", name="neither")).to_be_disabled()


def test_the_whole_lesson_is_taken_by_keys(visit: Any, desk: Desk):
    page = visit()
    page.get_by_role("radio", name="this", exact=True).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Reveal")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#lessons .verdict")).to_have_text("Correct.")
    expect(page.locator("#lessons .verdict")).to_be_focused()
    page.get_by_role("button", name="Next lesson").press("Enter")
    expect(page.locator("#lessons h2")).to_have_text("Lesson B")
    expect(page.locator("#lessons h2")).to_be_focused()
    page.locator("#lessons .list button").nth(2).press("Enter")
    expect(page.locator("#lessons h2")).to_have_text("Lesson C")
    expect(page.locator("#lessons h2")).to_be_focused()
    expect(page.locator("#lessons .question").get_by_role("status")).to_have_text("First choose what you expect.")


def test_what_was_done_is_there_after_a_reload_and_can_be_forgotten(visit: Any, desk: Desk):
    page = visit()
    reveal(page, 0)
    page.get_by_role("button", name="Next lesson").click()
    page.reload()
    expect(page.locator("#lessons h2")).to_have_text("Lesson B")
    expect(page.locator("#lessons .side")).to_contain_text("1 of 3 done")
    page.locator("#lessons .list button").first.click()
    expect(page.locator("#lessons .verdict")).to_have_text("Not quite. The answer: that")
    page.get_by_role("button", name="Start again").click()
    expect(page.locator("#lessons h2")).to_have_text("Lesson A")
    expect(page.locator("#lessons .told")).to_be_hidden()
    page.reload()
    expect(page.get_by_role("button", name="Reveal")).to_be_disabled()


@pytest.mark.parametrize("kept", ["{", "[]", '{"at": 99, "chosen": 3, "done": "x"}', "null"])
def test_whatever_a_browser_has_kept_the_lessons_open(visit: Any, desk: Desk, kept: str):
    page = visit()
    page.evaluate("kept => localStorage.setItem('bertviz-lab-lessons', kept)", kept)
    page.reload()
    expect(page.locator("#lessons h2")).to_have_text("Lesson A")
    reveal(page)


@pytest.mark.parametrize(
    ("query", "title"), [("?lesson=3", "Lesson C"), ("?lesson=99", "Lesson A"), ("?lesson=<b>&lang=<b>", "Lesson A")]
)
def test_an_address_opens_a_lesson(visit: Any, desk: Desk, query: str, title: str):
    page = visit(query)
    expect(page.locator("#lessons h2")).to_have_text(title)
    expect(page.get_by_role("button", name="Reveal")).to_be_visible()
    expect(page.get_by_role("link", name="For leaders")).to_have_attribute("href", "leader?lang=en")


OPENED = "() => { window.opened = []; window.Lab.page.on('open', (place) => { window.opened.push(place); }); }"


def test_a_button_opens_its_place_and_a_line_leads_back(visit: Any, desk: Desk):
    page = visit()
    page.evaluate(OPENED)
    expect(page.locator("#lesson-bar > .lab")).to_be_hidden()
    page.get_by_role("button", name="Open Explore, panel Predictions: Look at this.").click()
    expect(page.locator("#lesson-bar > .lab")).to_contain_text("Lesson 1: Lesson A Look at this.")
    expect(page.locator("#lesson-bar .bar-line code")).to_have_text("this")
    expect(page.locator("#lesson-bar > .lab")).to_be_focused()
    expect(page.get_by_role("region", name="Lesson 1: Lesson A Look at this.")).to_be_visible()
    lesson = {"number": 1, "title": "Lesson A", "text": "Look at `this`."}
    assert page.evaluate("() => window.opened") == [{**LOOK.opening("toy"), "lesson": lesson}]
    page.locator("#lessons .list button").last.click()
    page.get_by_role("button", name="Back to the lesson").click()
    expect(page.locator("#lessons h2")).to_have_text("Lesson A")
    expect(page.locator("#lessons legend, #lessons h2").first).to_be_in_viewport()
    reveal(page)
    page.get_by_role("button", name="Open Explore, panel Attribution: See it.").click()
    assert page.evaluate("() => window.opened.at(-1).show") == "attribution"


def test_a_place_says_all_settings_of_its_workspace_and_its_line_comes_back(visit: Any, desk: Desk):
    page = visit("?predictions.top_k=9&predictions.word=y&attention.layer=1&explore.open=tokens&run.id=mine")
    for _ in range(2):
        page.get_by_role("button", name="Open Explore, panel Predictions").click()
        expect(page.locator("#lesson-bar > .lab")).to_be_visible()
        page.get_by_role("button", name="Hide this line").click()
        expect(page.locator("#lesson-bar > .lab")).to_be_hidden()
    kept = page.evaluate(
        "() => ['predictions.top_k', 'predictions.word', 'attention.layer', 'explore.open', 'run.id']"
        ".map((name) => window.Lab.page.kept(name))"
    )
    assert kept == ["", "x", "", "tokens", "mine"]


def test_a_lesson_whose_model_is_missing_leaves_the_chosen_model(visit: Any, desk: Desk):
    desk[1] = MISSING
    page = visit("?model=mine")
    expect(page.locator("#lessons .one")).to_contain_text("has no model toy")
    page.get_by_role("button", name="Open Explore, panel Predictions").click()
    assert page.evaluate("() => [window.Lab.page.input.model, window.Lab.page.input.text_a]") == ["mine", "A."]


def test_a_missing_model_and_a_measurement_without_an_answer_are_told_in_place(visit: Any, desk: Desk):
    desk[1], desk[2] = "It cannot be measured.", answer(right=None)
    page = visit()
    page.locator("#lessons .choice").first.click()
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("#lessons .verdict")).to_have_text("It cannot be measured.")
    expect(page.locator("#lessons .side")).not_to_contain_text("done")
    page.locator("#lessons .list button").nth(1).click()
    reveal(page)
    expect(page.locator("#lessons .verdict")).to_have_text("The measurement supports none of these.")


def test_a_server_that_is_away_is_asked_again(visit: Any, desk: Desk, page_log: PageLog):
    page = visit()
    page.locator("#lessons .choice").first.click()
    page.context.set_offline(True)
    try:
        page.get_by_role("button", name="Reveal").click()
        expect(page.locator("#lessons .verdict")).to_contain_text("did not answer")
    finally:
        page.context.set_offline(False)
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("#lessons .bars")).to_be_visible()
    page_log.clear()  # a browser without a network says so


def test_texts_are_only_texts(visit: Any, desk: Desk):
    desk[1] = answer(" ".join(HOSTILE))
    page = visit()
    reveal(page)
    expect(page.locator("#lessons .idea code").first).to_have_text("[MASK]")
    expect(page.locator("#lessons .told")).to_contain_text(HOSTILE[0])
    expect(page.locator("#lessons .idea")).to_contain_text(HOSTILE[1])
    assert page.evaluate("() => window.hacked") is None


def test_a_link_leads_to_the_same_lesson_in_the_other_language_and_back(visit: Any, desk: Desk):
    page = visit("?text_a=Mine.&lesson=2")
    page.get_by_role("link", name="Deutsch").click()
    expect(page.get_by_role("button", name="Auflösen")).to_be_visible()
    expect(page.locator("#lessons h2")).to_have_text("Lesson B")
    expect(page.locator("#lessons > .lab")).to_have_attribute("lang", "de")
    expect(page.locator("#lessons .example")).to_have_attribute("lang", "en")
    assert page.evaluate("() => window.Lab.page.input.text_a") == "Mine."
    page.evaluate("() => window.Lab.page.set({ text_a: 'Other.' })")
    expect(page).to_have_url(re.compile("lang=de.*text_a=Other"))  # the address keeps the language
    page.reload()
    page.get_by_role("link", name="English").click()
    expect(page.get_by_role("button", name="Reveal")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("language", ["en", "de"])
def test_everybody_can_read_it(visit: Any, desk: Desk, theme: str, width: int, language: str):
    page = visit(f"?__theme={theme}&lang={language}", width)
    page.emulate_media(reduced_motion="reduce")
    assert complaints(page, "lessons") == []
    page.locator("#lessons .choice").first.click()
    page.locator("#lessons .question .action").click()
    expect(page.locator("#lessons .bars")).to_be_visible()
    page.locator("#lessons .place summary").first.click()
    page.locator("#lessons .told .set-up").last.click()
    expect(page.locator("#lesson-bar > .lab")).to_be_visible()
    assert [line for part in ("lessons", "lesson-bar") for line in complaints(page, part)] == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
