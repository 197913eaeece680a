"""The lessons from the first to the last, by real clicks on the page as it ships."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertviz_lab.ui.languages import language_of, translated
from bertviz_lab.ui.lessons import LESSONS, Lesson, Place
from bertviz_lab.ui.lessons.exam import COUNT, task_of
from bertviz_lab.ui.lessons.lesson import TOWN
from bertviz_lab.ui.lessons.measuring import measure
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.browser import PageLog, complaints, reload
from tests.ui.pages import Served, serve

MEASURING = 60_000  # milliseconds until a lesson is measured on a busy machine

#: What is to be seen in each view, or in a fold of it, once a lesson has opened it.
SHOWN = {
    "predictions": "#fill-bars .candidate, #nsp-verdict .plot .point, #task-labels .plot .point",
    "attention": "#attention-grid canvas",
    "attention difference": "#attention-difference-grid canvas",
    "attribution": "#attribution-tokens td",
    "attribution heads": "#attribution-heads .heatmaplayer image",
    "attribution intervention": "#attribution-change .plot .point",
    "embeddings contexts": "#contexts-path .plot .point",
    "layers sum": "#embedding-sum td",
    "tokens": "#token-strip td",
    "tokens split": "#word-splits .lab > *",
    "layers": "#lens .heatmaplayer image",
    "layers token_norms": "#norms-of-tokens td",
    "tokens masking": "#masking-strip td",
    "tokens loss": "#masking-loss td",
    "tokens statistics": "#masking-statistics .plot .point",
    "pretrain": "#text-files",
    "finetune": "#train-tabs [role=tab][data-tab-id=finetune][aria-selected=true]",
    "run": "#run-chart .curves",
    "ablation": "#panel-ablation input[type=checkbox]",
    "embeddings": "#similarity .heatmaplayer image",
    "dynamics": "#dynamics-scrubber [data-step]",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page with the models that come with the lab."""
    with serve(Settings(runs_dir=tmp_path_factory.mktemp("lessons"))) as served:
        yield served


def expect_workspace(page: Page, name: str) -> None:
    expect(page.locator(f"#space-tabs [role=tab][data-tab-id={name}][aria-selected=true]").first).to_be_visible()


def expect_place(page: Page, place: Place) -> None:
    """The view or its fold is in sight and has an answer; the input and the settings are those of the place."""
    expect_workspace(page, place.space)
    shown = page.locator(SHOWN[f"{place.view} {place.part}".strip()]).locator("visible=true").first
    expect(shown).to_be_visible(timeout=MEASURING)
    if place.space == "train":
        return
    target = page.locator(f"#{place.view}-{place.part}" if place.part else f"#panel-{place.view}")
    expect(target).to_be_in_viewport()
    assert target.evaluate("node => node.tagName !== 'DETAILS' || node.open")
    if place.space == "explore":
        expect(page.locator("#text-a")).to_have_value(place.text_a)
        expect(page.locator("#text-b")).to_have_value(place.text_b)
        expect(page.locator("#other-picker")).to_have_value(place.other)
    kept = {
        name: page.evaluate("name => window.Lab.page.kept(name)", f"{place.view}.{name}") for name in place.settings
    }
    assert [name for name, value in place.settings.items() if kept[name] not in (value, "")] == []  # "" for a default


def follow_steps(page: Page, state: AppState, lesson: Lesson, numbers: range) -> None:
    """Press each button, see the place, and come back by the line above it."""
    steps = measure(state, lesson).steps
    for number in numbers:
        button = page.locator("#lessons .set-up").nth(number)
        expect(button).to_have_text(f"Open {steps[number].place.name}")
        button.click()
        expect(page.locator("#lesson-bar > .lab")).to_contain_text(f"Lesson {lesson.number}: {lesson.title}")
        expect(page.locator("#lesson-bar > .lab")).to_be_focused()
        expect_place(page, steps[number].place)
        page.get_by_role("button", name="Back to the lesson").click()
        expect_workspace(page, "learn")
        expect(page.locator("#lesson-bar")).to_be_hidden()
        expect(page.locator("#lessons h2")).to_have_text(lesson.title)
        expect(button).to_be_focused()


@pytest.mark.parametrize("lessons", [LESSONS[:3], pytest.param(LESSONS, marks=pytest.mark.thorough)], ids=["3", "all"])
def test_lessons_from_start_to_finish(
    page: Page, page_log: PageLog, served: Served, lessons: tuple[Lesson, ...]
) -> None:
    address, session = served
    page.goto(address)
    expect(page.locator("#fill-bars")).to_contain_text("Predictions", timeout=60_000)
    page.get_by_role("tab", name="Learn", exact=True).click()
    for lesson in lessons:
        expect(page.locator("#lessons h2")).to_have_text(lesson.title)
        follow_steps(page, session, lesson, range(len(lesson.look)))
        expect(page.get_by_role("button", name="Reveal")).to_be_disabled()
        guess = lesson.number % len(lesson.choices)
        page.locator("#lessons .choice").nth(guess).click()
        page.get_by_role("button", name="Reveal").click()
        right = "Correct." if guess == lesson.answer else "Not quite. The answer: "
        expect(page.locator("#lessons .verdict")).to_contain_text(right, timeout=MEASURING)
        told = page.locator("#lessons .told")
        for text in measure(session, lesson).paragraphs:
            expect(told).to_contain_text(text.replace("`", ""))
        follow_steps(page, session, lesson, range(len(lesson.look), len(lesson.steps)))
        if lesson is not lessons[-1]:
            page.get_by_role("button", name="Next lesson").click()
    done = f"{len(lessons)} of {len(LESSONS)} done"
    expect(page.locator("#lessons .side")).to_contain_text(done)
    assert (page_log.errors, page_log.outside) == ([], [])
    expect(page).to_have_url(re.compile("space=learn"))
    reload(page, page_log)
    expect_workspace(page, "learn")
    expect(page.locator("#lessons .side")).to_contain_text(done)
    expect(page.locator("#lessons h2")).to_have_text(lessons[-1].title)
    expect(page.locator("#lessons .verdict")).to_be_visible()


def test_the_exam_is_taken_by_keys_with_a_hint_and_ends_with_a_certificate(
    page: Page, page_log: PageLog, served: Served
) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(f"{served[0]}?lesson=exam")
    tasks = page.locator(".exam-task")
    expect(tasks).to_have_count(COUNT, timeout=MEASURING)
    assert complaints(page, "lessons") == []
    seed = page.evaluate("() => JSON.parse(localStorage.getItem('bertviz-lab-exam')).seed")
    task = tasks.nth(3)  # the parameters
    keys = [str(field.key) for field in task_of(seed, 4, served[1].models.open(TOWN)).fields]
    task.get_by_role("textbox").first.press_sequentially(keys[0])
    task.get_by_role("button", name="Hint").press("Enter")
    expect(task.locator(".hint-text")).to_be_focused()
    expect(task.get_by_role("textbox").first).to_have_value(keys[0])
    for box, key in zip(task.get_by_role("textbox").all(), keys, strict=True):
        box.fill(key)
    reload(page, page_log)  # drafts and hints are kept
    expect(task.get_by_role("textbox").last).to_have_value(keys[-1], timeout=MEASURING)
    task.get_by_role("textbox").last.press("Enter")
    expect(task.get_by_role("heading")).to_contain_text("8 of 10 points")
    expect(task.get_by_role("heading")).to_be_focused()
    first = tasks.first
    first.get_by_role("button", name="Hand in").click()
    expect(first.locator(".status")).to_contain_text("Some answers are empty")
    first.get_by_role("button", name="Hand in").click()
    expect(first.locator(".said").first).to_contain_text("The answer: [CLS]")
    expect(page.get_by_text("2 of 10 tasks handed in, 8 points.")).to_be_visible()
    assert complaints(page, "lessons") == []
    page.get_by_label("Your name").fill("Ada")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Open the certificate").click()
    expect(opened.value.get_by_text("8 of 100 points")).to_be_visible()
    expect(opened.value.locator(".name")).to_have_text("Ada")
    assert (page_log.errors, page_log.outside) == ([], [])


@pytest.mark.parametrize(
    ("name", "language", "sides"),
    [("handout", "en", 5), ("leader/handout", "en", 9), ("handout", "de", 5), ("leader/handout", "de", 10)],
)
def test_a_handout_fits_on_its_sides_and_works_alone(
    page: Page, served: Served, tmp_path: Path, page_log: PageLog, name: str, language: str, sides: int
) -> None:
    sheet = page.request.get(f"{served[0]}{name}?lang={language}", timeout=2 * MEASURING).text()
    path = tmp_path / "sheet.html"
    path.write_text(sheet, encoding="utf-8")
    page.goto(path.as_uri())
    for lesson in LESSONS:
        question = translated(lesson, language_of(language)).question
        expect(page.get_by_role("main")).to_contain_text(question.replace("`", ""))
    expect(page.locator("article .right")).to_have_count(len(LESSONS) if name.startswith("leader") else 0)
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name=re.compile("Print|Drucken"))).to_be_hidden()
    sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))
    assert len(sheets) <= sides
    assert page_log.outside == []
