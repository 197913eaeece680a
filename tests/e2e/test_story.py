"""The story of a first visit, with real mouse and keyboard: look, train on a text of one's own, reload, look again."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from tests.browser import PageLog, at_rest, complaints, eventually, fill_in, reload, watch
from tests.little import little_text
from tests.ui.pages import Served, little_settings, serve

TRAINING = 60_000  # milliseconds until a training on a busy machine shows something


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(little_settings(tmp_path_factory.mktemp("story"))) as served:
        yield served


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page that strangers share."""
    with serve(little_settings(tmp_path_factory.mktemp("strangers"), shared=True)) as served:
        yield served


@pytest.fixture(scope="module")
def own_text(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Real articles where they are at hand, the little text elsewhere."""
    try:
        return request.getfixturevalue("shared_data") / "wiki_en" / "valid.txt"
    except pytest.skip.Exception:
        path = tmp_path_factory.mktemp("text") / "valid.txt"
        path.write_text(little_text(400), encoding="utf-8")
        return path


def workspace(page: Page, name: str) -> None:
    page.locator("#space-tabs").get_by_role("tab", name=name, exact=True).click()


def choose_time(page: Page, time: str) -> None:
    box = page.locator("#option-time_budget input")
    box.fill(time)
    box.press("Enter")


def upload(page: Page, path: Path) -> None:
    workspace(page, "Train")
    page.locator("#text-files input[type=file]").set_input_files(path)
    expect(page.locator("#text-health")).to_contain_text("Sentences", timeout=TRAINING)


def train(page: Page, time: str) -> Locator:
    """Press Train for so long; returns the line that says how far it is."""
    choose_time(page, time)
    page.locator("#train").click()
    return page.locator("#pretrain-chart .stage")


def predict(page: Page, text: str) -> None:
    """Type a text into Explore and press Enter."""
    page.locator("#text-a").fill(text)
    page.locator("#text-a").press("Enter")


def write_little(path: Path, documents: int) -> Path:
    path.write_text(little_text(documents), encoding="utf-8")
    return path


def painted(page: Page, panel: str) -> int:
    """How many points of a panel's curves are drawn."""
    return page.evaluate(
        """panel => (document.querySelector(`#pretrain-chart [data-panel="${panel}"] .curves`)?.data ?? [])
          .reduce((sum, trace) => sum + trace.x.length, 0)""",
        panel,
    )


def test_a_first_visit(page: Page, page_log: PageLog, served: Served, own_text: Path) -> None:
    address, session = served
    page.goto(address)
    # A shipped model has filled a mask before anything was pressed.
    expect(page.locator("#fill-bars")).to_contain_text("Predictions", timeout=TRAINING)
    expect(page.locator("#model-facts")).to_contain_text("BertForPreTraining")

    # A text of one's own: its health report, then Train.
    upload(page, own_text)
    stage = train(page, "10s")
    expect(stage).to_contain_text(re.compile(r"Training: .*step \d"), timeout=TRAINING)
    for panel in ("mlm", "nsp"):
        eventually(page, lambda panel=panel: painted(page, panel) > 3, 30)

    # Reloaded in the middle, the page finds its workspace and its run again.
    (run_id,) = session.runs.ids()
    expect(page).to_have_url(re.compile("space=train"))
    reload(page, page_log)
    expect(page.locator("#run-strip")).to_contain_text(run_id.rsplit("-", 1)[0], timeout=TRAINING)
    at_rest(page)  # what comes above would move it out of sight again, and nothing is asked for what nobody sees
    page.locator("#pretrain-progress").scroll_into_view_if_needed()
    expect(stage).to_contain_text(re.compile("Training|Finished"), timeout=TRAINING)
    assert session.runs.ids() == (run_id,)
    assert page_log.outside == []
    expect(stage).to_contain_text("Finished", timeout=2 * TRAINING)
    expect(page.locator("#pretrain-message")).to_contain_text("can be opened in Explore")

    # The model just trained predicts in Explore and shows its heads.
    page.locator("#pretrain-explore").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#model-picker")).to_have_value(run_id)
    expect(page.locator("#tab-predictions")).to_be_focused()
    expect(page.locator("#model-facts")).to_contain_text(own_text.name)
    predict(page, "He was born in [MASK].")
    expect(page.locator("#fill-bars")).to_contain_text("born")
    expect(page.locator("#fill-bars .candidate").first).to_be_visible()
    page.locator("#panel-attention").scroll_into_view_if_needed()
    expect(page.locator("#attention-grid")).to_contain_text("Layer 1 of 2, head 1 of 2")

    # It is in Runs, and can be downloaded.
    workspace(page, "Runs")
    expect(page.locator("#runs-table")).to_contain_text(run_id.rsplit("-", 1)[0])
    workspace(page, "Train")
    with page.expect_download(timeout=TRAINING) as waiting:
        page.locator("#pretrain-download").click()
    assert waiting.value.suggested_filename.endswith(".zip")


def test_a_training_goes_on_with_a_model_that_is_there(page: Page, served: Served, tmp_path: Path) -> None:
    address, session = served
    page.goto(address)
    upload(page, write_little(tmp_path / "more.txt", 200))
    page.locator("#option-init_from select").select_option(label="little (comes with the lab)")
    expect(page.locator("#option-vocab_size input")).to_be_disabled()
    stage = train(page, "8s")
    expect(stage).to_contain_text("Finished", timeout=2 * TRAINING)
    change = re.compile(r"MLM accuracy: (\d+\.\d)% before, (\d+\.\d)% now")
    chart = page.locator("#pretrain-chart")
    expect(chart).to_contain_text(change)
    before, now = map(float, change.search(chart.inner_text()).groups())  # type: ignore[union-attr]
    assert before < now
    started = next(row for row in session.runs.events(session.runs.ids()[0])[0] if row["event"] == "RunStarted")
    assert started["step"] == 0


def test_strangers_do_not_see_each_others_runs(
    browser: Browser, strangers: Served, tmp_path: Path, page_log: PageLog
) -> None:
    address, session = strangers
    path = write_little(tmp_path / "secret.txt", 100)
    one, other = browser.new_context(), browser.new_context()
    try:
        page = one.new_page()
        watch(page, page_log)
        page.goto(address)
        upload(page, path)
        expect(train(page, "20s")).to_contain_text(re.compile(r"step \d"), timeout=TRAINING)
        name = session.runs.ids()[0].rsplit("-", 1)[0]
        expect(page.locator("#run-strip")).to_contain_text(name)

        stranger = other.new_page()
        watch(stranger, page_log)
        stranger.goto(address)
        expect(stranger.locator("#fill-bars")).to_contain_text("Predictions", timeout=TRAINING)
        assert name not in stranger.content()
        expect(stranger.locator("#run-strip .lab")).to_be_hidden()
    finally:
        one.close()
        other.close()
    assert page_log.errors == []


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip"])
def test_a_file_that_is_no_text_is_refused_where_it_was_given(
    page: Page, served: Served, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / ("<script>.zip" if content.startswith(b"PK") else "x.txt")
    path.write_bytes(content)
    before = served[1].runs.ids()
    page.goto(served[0])
    workspace(page, "Train")
    page.locator("#text-files input[type=file]").set_input_files(path)
    expect(page.locator("#text-health")).to_contain_text(re.compile("empty|not a text|not text|PNG|zip", re.I))
    page.locator("#train").click()
    expect(page.locator("#train-message")).to_contain_text(path.suffix)
    assert served[1].runs.ids() == before


def test_a_text_is_pasted_kept_and_taken_back(page: Page, page_log: PageLog, served: Served) -> None:
    uploads: list[str] = []
    page.on("request", lambda request: uploads.append(request.url) if request.url.endswith("/lab/upload") else None)
    page.goto(served[0])
    workspace(page, "Train")
    page.locator("#text-typed summary").click()
    text = page.locator("#text-typed").get_by_label("Text")
    text.fill(little_text())
    expect(page.locator("#text-files li")).to_contain_text("typed-text.txt")
    expect(page.locator("#text-health .reading").first).to_contain_text(
        '"typed-text.txt" was read as', timeout=TRAINING
    )
    expect(page.get_by_role("radio", name="My own text")).to_be_checked()
    at_rest(page)
    text.blur()
    at_rest(page)
    reload(page, page_log)
    expect(text).to_be_visible()
    expect(text).to_have_value(little_text())
    expect(page.locator("#text-files li")).to_contain_text("typed-text.txt")
    at_rest(page)
    assert len(uploads) == 1, "the same text was uploaded again when its field was left, or the page reloaded"
    text.fill("")
    expect(page.locator("#text-files li")).to_have_count(0)
    expect(page.locator("#text-health")).to_contain_text("Drop a text file")


def test_a_further_file_and_a_reload_leave_the_settings_that_were_changed(
    page: Page, page_log: PageLog, served: Served, tmp_path: Path
) -> None:
    page.goto(served[0])
    upload(page, write_little(tmp_path / "first.txt", 30))
    expect(page.locator("#text-health .reading").first).to_contain_text('"first.txt" was read as', timeout=TRAINING)
    expect(page.locator("#text-health .reading").first).to_be_visible()
    choose_time(page, "10m")
    page.get_by_text("All settings", exact=True).first.click()
    page.get_by_text("Optimization", exact=True).first.click()
    batch_size = page.locator("#option-batch_size input")
    fill_in((batch_size, "16"))
    batch_size.press("Tab")
    page.locator("#text-files input[type=file]").set_input_files(write_little(tmp_path / "second.txt", 30))
    expect(page.locator("#text-health")).to_contain_text("first.txt and 1 more", timeout=TRAINING)
    at_rest(page)
    expect(batch_size).to_have_value("16")
    expect(page.locator("#option-time_budget input")).to_have_value("10m")
    reload(page, page_log)
    expect(page.locator("#text-health")).to_contain_text("first.txt and 1 more", timeout=TRAINING)
    expect(page.locator("#text-files li")).to_contain_text(["first.txt", "second.txt"])
    expect(batch_size).to_have_value("16")
    expect(page.locator("#option-time_budget input")).to_have_value("10m")
    at_rest(page)
    page.locator("#train").click()
    expect(page.locator("#pretrain-chart .stage")).to_be_visible(timeout=TRAINING)
    expect(page.locator("#pretrain-progress").get_by_role("button", name="All runs")).to_be_visible()
    (run_id, *_) = served[1].runs.ids()
    assert (served[1].runs.config(run_id).batch_size, served[1].runs.config(run_id).time_budget) == (16, "10m")
    served[1].runs.stop(run_id)


def test_a_group_of_radios_is_one_stop_of_tab_and_chosen_from_with_arrow_keys(page: Page, served: Served) -> None:
    page.goto(served[0])
    workspace(page, "Train")
    expect(page.locator("#text-health")).to_contain_text("Sentences", timeout=TRAINING)
    sizes, recipe = page.locator("#option-preset input"), page.locator("#option-recipe select")
    expect(page.locator("#option-preset")).to_be_visible()  # what is not in sight yet takes no focus
    sizes.first.focus()
    for place in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        expect(sizes.nth(place)).to_be_focused()
        expect(page.locator("#option-preset input:checked")).to_have_count(1)
        expect(sizes.nth(place)).to_be_checked()
        at_rest(page)
    page.keyboard.press("Tab")
    expect(recipe).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(sizes.nth(3)).to_be_focused()


def test_on_a_phone_train_leads_to_the_progress_of_its_run(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto(f"{served[0]}?space=train")
    expect(page.locator("#text-health")).to_contain_text("Sentences", timeout=TRAINING)
    at_rest(page)
    page.locator("#train").click()
    top = "() => document.getElementById('pretrain-progress').getBoundingClientRect().top"
    eventually(page, lambda: page.evaluate(top) < 200, TRAINING / 1000)
    expect(page.locator("#pretrain-chart .stage")).to_be_visible(timeout=TRAINING)
    assert page.evaluate(top) < 200
    served[1].runs.stop(served[1].runs.ids()[0])


#: Controls that stand beyond the window's edge, where nothing around them can be scrolled sideways.
CUT_OFF = """() => [...document.querySelectorAll('button, input, select, textarea')].filter((control) => {
  if (!control.checkVisibility() || control.getBoundingClientRect().right <= innerWidth + 1) return false;
  for (let box = control.parentElement; box; box = box.parentElement) {
    if (['auto', 'scroll'].includes(getComputedStyle(box).overflowX)) return false;
  }
  return true;
}).map((control) => control.outerHTML.slice(0, 120))"""


#: A window of 1440 x 900 at 200% zoom, and controls that something covers wherever they are scrolled to.
ZOOMED: ViewportSize = {"width": 720, "height": 450}
COVERED = """() => [...document.querySelectorAll('button, input, select, textarea, summary')].filter((control) => {
  if (!control.checkVisibility() || control.closest('footer')) return false;
  control.scrollIntoView({ block: 'center', behavior: 'instant' });
  const { left, top, width, height } = control.getBoundingClientRect();
  const hit = document.elementFromPoint(left + width / 2, top + height / 2);
  return !(hit?.contains(control) || control.contains(hit) || hit?.closest('label')?.contains(control));
}).map((control) => control.outerHTML.slice(0, 120))"""


#: Fields whose placeholder looks like what somebody typed, and what moves although nobody wants motion.
ALIKE = """() => [...document.querySelectorAll('.lab :is(input, textarea)[placeholder]')].filter((field) =>
  field.checkVisibility() && getComputedStyle(field, '::placeholder').color === getComputedStyle(field).color)
  .map(({ id }) => id)"""
MOVING = """() => [...document.querySelectorAll('.page *')].filter((node) => node.checkVisibility()
  && [getComputedStyle(node), getComputedStyle(node, '::before')].some(({ transitionDuration, animationName }) =>
    parseFloat(transitionDuration) > 0 || animationName !== 'none')).map(({ outerHTML }) => outerHTML.slice(0, 120))"""


def test_every_workspace_fits_and_can_be_read_by_everybody(page: Page, served: Served, screen: str) -> None:
    page.goto(f"{served[0]}?__theme={screen}")
    expect(page.locator("#fill-bars")).to_contain_text("Predictions", timeout=TRAINING)
    for name in ("explore", "train", "runs", "learn"):
        page.evaluate("name => window.Lab.page.open({ space: name })", name)  # a narrow window folds the tabs away
        expect(page.locator(f"#space-tabs [role=tab][data-tab-id={name}][aria-selected=true]").first).to_be_attached()
        at_rest(page)
        assert page.evaluate(CUT_OFF) == [], f"{name}: what cannot be reached"
        assert page.evaluate(ALIKE) == [], name
        assert page.evaluate(MOVING) == [], name
        assert complaints(page) == [], name
        if (window := page.viewport_size) and window["width"] > ZOOMED["width"]:
            page.set_viewport_size(ZOOMED)
            at_rest(page)
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), f"{name} at 200% zoom"
            assert page.evaluate(CUT_OFF) + page.evaluate(COVERED) == [], f"{name} at 200% zoom"
            page.set_viewport_size(window)
