"""The course in German: a lesson from start to end, a workshop whose participants read different languages, print."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.languages import language_of, translated
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.lessons.measuring import measure
from bertviz_lab.ui.settings import Settings
from tests.browser import PageLog, complaints, reload, watch
from tests.ui.languages.test_language import english_in
from tests.ui.pages import Served, serve

GERMAN = language_of("de")
KEY = "a-key-for-tests"
MEASURING = 60_000  # milliseconds


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A workshop in German, with the models that come with the lab."""
    limits = Limits.of(shared=True, given={"run_seconds": "3m"})
    folder = tmp_path_factory.mktemp("german")
    with serve(
        Settings(runs_dir=folder, limits=limits, workshop="BERT lesen", leader_key=KEY, language="de")
    ) as served:
        yield served


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An English page."""
    with serve(Settings(runs_dir=tmp_path_factory.mktemp("alone"))) as served:
        yield served


def test_a_lesson_is_taken_in_german_from_start_to_end(page: Page, page_log: PageLog, alone: Served) -> None:
    address, state = alone
    page.goto(f"{address}?lesson=5")
    expect(page.locator("#lessons h2")).to_have_text(LESSONS[4].title, timeout=MEASURING)
    page.get_by_role("link", name="Deutsch").click()
    page_log.clear()  # what was asked when the page was left had no answer
    lesson, measured = translated(LESSONS[4], GERMAN), measure(state, LESSONS[4], GERMAN)
    expect(page.locator("#lessons h2")).to_have_text(lesson.title, timeout=MEASURING)
    page.get_by_role("button", name=f"Explore, Panel Attention öffnen: {lesson.look[0].text[:20]}").click()
    bar = page.get_by_role("region", name="Lektion")
    expect(bar).to_contain_text(f"Lektion 5: {lesson.title}")
    expect(page).to_have_url(re.compile("lang=de"))
    bar.get_by_role("button", name="Zurück zur Lektion").click()
    page.locator("#lessons .choice input").nth(lesson.answer).check()
    page.get_by_role("button", name="Auflösen").click()
    expect(page.locator("#lessons .verdict")).to_have_text("Richtig.", timeout=MEASURING)
    told = page.locator("#lessons .told")
    for text in (*measured.paragraphs, *(step.text for step in measured.proof)):
        expect(told).to_contain_text(text.replace("`", ""))
    expect(told.locator(".share").first).to_have_text(re.compile(r"^\d+,\d\s%$"))
    for summary in told.locator("summary").all():
        summary.click()
    expect(page.locator("#lessons > .lab")).to_have_attribute("lang", "de")
    assert english_in(page.locator("#lessons").inner_text().replace(LESSONS[4].source_code()[1], "")) == []
    assert complaints(page, "lessons") == []
    page.get_by_role("button", name="Nächste Lektion").click()
    expect(page.locator("#lessons h2")).to_have_text(GERMAN(LESSONS[5].title))
    expect(page.locator("#lessons .side")).to_contain_text("1 von 21 erledigt")
    reload(page, page_log)
    expect(page.locator("#lessons h2")).to_have_text(GERMAN(LESSONS[5].title), timeout=MEASURING)
    assert (page_log.errors, page_log.outside) == ([], [])


def test_a_room_may_read_two_languages_at_once(browser: Browser, served: Served) -> None:
    address, _ = served
    contexts = [browser.new_context() for _ in range(3)]
    leader, german, english = (context.new_page() for context in contexts)
    for page in (leader, german, english):
        watch(page, PageLog())
        page.set_default_timeout(MEASURING)
    leader.goto(f"{address}leader?key={KEY}")
    german.goto(f"{address}4")  # a short link
    english.goto(f"{address}?lesson=4&lang=en")
    expect(german.locator("#lessons h2")).to_have_text(GERMAN(LESSONS[3].title), timeout=MEASURING)
    expect(english.locator("#lessons h2")).to_have_text(LESSONS[3].title, timeout=MEASURING)
    leader.get_by_role("button", name="Alle hierher: Lektion 4", exact=True).click()
    expect(leader.get_by_role("status").first).to_have_text("Alle wurden zu Lektion 4 geholt.")
    for page in (german, english):
        page.locator("#lessons .choice").first.click()
    expect(german.locator("#lessons .hint")).to_contain_text("ohne Namen")
    expect(english.locator("#lessons .hint")).to_contain_text("without your name")
    counted = leader.locator("tr", has_text=GERMAN(LESSONS[3].title)).locator(".share").first
    expect(counted).to_have_text("2 von 2", timeout=MEASURING)
    leader.get_by_role("button", name="Auflösen: Lektion 4", exact=True).click()
    for page, begins in ((german, "Das gilt für "), (english, "This holds for ")):
        expect(page.locator("#lessons .told")).to_contain_text(begins, timeout=MEASURING)
    expect(german.get_by_role("figure", name="Was der Raum getippt hat").locator(".share").first).to_have_text(
        "2 von 2"
    )
    expect(english.get_by_role("figure", name="What the room predicted").locator(".share").first).to_have_text("2 of 2")
    for context in contexts:
        context.close()
