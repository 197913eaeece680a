"""A workshop in real browsers: a leader, and participants whose predictions come together."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.lessons import LESSONS
from bertviz_lab.ui.settings import Settings
from tests.browser import PageLog, complaints, watch
from tests.ui.pages import Served, serve

KEY = "a-key-for-tests"
PARTICIPANTS = 3
LESSON = LESSONS[3]  # its model answers soon
WAITING = 60_000  # milliseconds until an answer is measured, or the room has told everybody


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page with the models that come with the lab, in a workshop."""
    runs = tmp_path_factory.mktemp("workshop")
    limits = Limits.of(shared=True, given={"run_seconds": "3m"})
    with serve(Settings(runs_dir=runs, limits=limits, workshop="Reading BERT", leader_key=KEY)) as served:
        yield served


@pytest.fixture
def address(served: Served) -> str:
    """The page's address, with nobody in the room: who left counts as present for another minute."""
    address, session = served
    assert session.room is not None
    session.room.reset()
    return address


@contextmanager
def person(browser: Browser, log: PageLog, width: int = 1280) -> Iterator[Page]:
    """A browser of its own, with its own cookies."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.set_default_timeout(WAITING)
    watch(page, log)
    yield page
    context.close()


@pytest.fixture
def leader(browser: Browser, address: str, page_log: PageLog) -> Iterator[Page]:
    with person(browser, page_log) as page:
        page.goto(f"{address}leader?key={KEY}")
        yield page


def press(leader: Page, name: str, lesson: int) -> None:
    leader.get_by_role("button", name=f"{name}: lesson {lesson}", exact=True).click()


def test_a_leader_calls_a_room_lets_it_predict_reveals_and_resets(
    browser: Browser, leader: Page, address: str, page_log: PageLog, tmp_path: Path
) -> None:
    with ExitStack() as room:
        people = [room.enter_context(person(browser, page_log)) for _ in range(PARTICIPANTS)]
        late, *early = people
        for number, page in enumerate(early):
            page.goto(f"{address}?space={'explore' if number else 'learn'}")
            expect(page.locator("#spaces")).to_be_visible(timeout=WAITING)
        expect(leader.get_by_text(f"{len(early)} here now")).to_be_visible(timeout=WAITING)

        press(leader, "Call", LESSON.number)
        late.goto(address)  # after the call
        for page in people:
            expect(page.locator("#lessons h2")).to_have_text(LESSON.title, timeout=WAITING)
            expect(page.get_by_role("button", name="Reveal")).to_have_count(0)
            expect(page.get_by_text("For leaders")).to_be_hidden()

        for number, page in enumerate(people):
            page.locator("#lessons .choice").nth(number % 2).click()
            expect(page.locator("#lessons .hint")).to_contain_text("without your name")
        people[0].locator("#lessons .choice").nth(1).click()  # another mind
        row = leader.locator("tr", has_text=LESSON.title)
        row.locator("summary").click()
        expect(row.locator(".share")).to_have_text(["1 of 3", "2 of 3", "0 of 3"], timeout=WAITING)
        for page in people:
            expect(page.locator("#lessons .told")).to_be_hidden()

        press(leader, "Reveal", LESSON.number)
        for page in people:
            expect(page.locator("#lessons .verdict")).to_be_visible(timeout=WAITING)
            bars = page.get_by_role("figure", name="What the room predicted")
            expect(bars.locator(".share")).to_have_text(["1 of 3", "2 of 3", "0 of 3"])
            expect(page.locator("#lessons .choice input").first).to_be_disabled()

        people[1].reload()
        expect(people[1].locator("#lessons .verdict")).to_be_visible(timeout=WAITING)

        leader.on("dialog", lambda dialog: dialog.accept())
        leader.get_by_role("button", name="Reset the room").click()
        expect(row.locator(".share")).to_have_text(["0 of 0"] * 3)
        for page in people:
            expect(page.locator("#lessons h2")).to_have_text(LESSONS[0].title, timeout=WAITING)
            expect(page.locator("#lessons .side")).not_to_contain_text("done")

        leader.get_by_role("button", name="Call to the exam, after them").click()
        task = people[0].locator(".exam-task").nth(8)
        expect(people[1].locator("#lessons h2")).to_have_text("Final exam", timeout=WAITING)
        for _ in range(2):  # the first press warns of empty answers
            task.get_by_role("button", name="Hand in").click(timeout=WAITING)
        expect(leader.locator("tr", has_text="BERT, GPT or T5")).to_contain_text("0% of 1", timeout=WAITING)
        page_log.errors = [error for error in page_log.errors if "net::ERR_ABORTED" not in error]
    assert (page_log.errors, page_log.outside) == ([], [])


def test_a_leader_follows_a_plan_and_everybody_is_led_to_its_parts(
    browser: Browser, leader: Page, address: str, page_log: PageLog
) -> None:
    leader.set_viewport_size({"width": 1440, "height": 900})
    begin, go_on = (leader.get_by_role("button", name=name) for name in ("Start: 180 minutes", "Next:"))
    with person(browser, page_log) as page:
        page.goto(f"{address}?space=explore")
        expect(leader.get_by_text("1 here now")).to_be_visible(timeout=WAITING)
        begin.focus()
        leader.keyboard.press("Enter")
        expect(go_on).to_contain_text("The exam, before the lessons (10 min)")
        for title in ("The exam, before the lessons", f"Lesson 2: {LESSONS[1].title}", "Start the runs"):
            go_on.click()
            expect(leader.locator("[data-told=part]")).to_have_text(title)
        bar = page.get_by_role("region", name="Start the runs")
        expect(bar).to_contain_text("presses Train", timeout=WAITING)
        expect(page.get_by_role("tab", name="Pretrain")).to_have_attribute("aria-selected", "true")
        leader.reload()
        expect(leader.locator("[aria-current=step]")).to_contain_text("Start the runs")
        for part in (go_on, leader.locator("[data-told=say]"), leader.locator(".parts:visible li").last):
            expect(part).to_be_in_viewport(ratio=1)
        leader.set_viewport_size({"width": 400, "height": 900})
        expect(go_on).to_be_in_viewport(ratio=1)
        assert complaints(leader, "page") == []
        leader.on("dialog", lambda dialog: dialog.accept())
        leader.get_by_role("button", name="Reset the room").click()
        expect(begin).to_be_visible()
        page_log.errors = [error for error in page_log.errors if "net::ERR_ABORTED" not in error]
    assert (page_log.errors, page_log.outside) == ([], [])


def test_the_key_opens_the_page_and_leaves_its_address(leader: Page, address: str, browser: Browser) -> None:
    expect(leader).to_have_url(f"{address}leader")
    leader.reload()
    expect(leader.get_by_role("heading", name="The room")).to_be_visible()
    with person(browser, PageLog()) as stranger:
        stranger.goto(f"{address}leader")
        expect(stranger.get_by_role("heading", name="For the leader")).to_be_visible()
        stranger.get_by_label("Key").fill(KEY)
        stranger.get_by_role("button", name="Open").click()
        expect(stranger.get_by_role("heading", name="The room")).to_be_visible()
        expect(stranger).to_have_url(f"{address}leader")


def test_the_leader_finds_answers_plans_and_checks(leader: Page, page_log: PageLog) -> None:
    expect(leader.locator(".row .right")).to_have_count(len(LESSONS), timeout=2 * WAITING)
    leader.get_by_text("90 minutes", exact=True).click()
    expect(leader.get_by_text("minutes 26 to 60: 30 people in 10 groups of up to 3")).to_be_visible()
    leader.get_by_role("button", name="Run the checks").click()
    expect(leader.locator("#checks tr")).to_have_count(10, timeout=2 * WAITING)
    expect(leader.locator("#checks")).to_contain_text("Participants open")
    assert (page_log.errors, page_log.outside) == ([], [])


def test_the_screen_shows_the_lesson_of_the_moment_without_a_key(
    browser: Browser, leader: Page, address: str, page_log: PageLog
) -> None:
    with person(browser, page_log) as screen:
        screen.goto(f"{address}room")
        expect(screen.get_by_role("heading", name="Join: scan the code")).to_be_visible()
        expect(screen.locator(".track:visible")).to_have_count(0)
        press(leader, "Call", LESSON.number)
        expect(screen.get_by_role("heading", name=f"Lesson {LESSON.number}: {LESSON.title}")).to_be_visible()
        expect(screen.get_by_text(LESSON.choices[0].text.replace("`", ""))).to_be_visible()
        expect(screen.locator(".share").first).to_be_hidden()
        # The longest lesson fits on the screen of a projector, with its sentence and its right answer.
        screen.set_viewport_size({"width": 1440, "height": 900})
        longest = max(LESSONS, key=lambda lesson: sum(map(len, (lesson.question, *(c.text for c in lesson.choices)))))
        press(leader, "Call", longest.number)
        press(leader, "Reveal", longest.number)
        expect(screen.get_by_text("✓")).to_have_count(1)
        expect(screen.get_by_text(longest.example)).to_be_in_viewport(ratio=1)
        for choice in screen.locator(".bar-row:visible").all():
            expect(choice).to_be_in_viewport(ratio=1)
    assert (page_log.errors, page_log.outside) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["leader", "leader?lang=de", "room"])
def test_everybody_can_read_the_pages(leader: Page, address: str, name: str, width: int, scheme: str) -> None:
    leader.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    leader.set_viewport_size({"width": width, "height": 900})
    leader.goto(address + name)
    expect(leader.locator("[data-told=present]")).to_contain_text("hier" if "lang=de" in name else "here")
    if name != "room":
        expect(leader.locator(".row .right")).to_have_count(len(LESSONS), timeout=2 * WAITING)
        for fold in leader.locator("details > summary").all():
            fold.click()
    assert complaints(leader, "page") == []
