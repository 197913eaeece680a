"""The workspace Runs with real mouse and keyboard: the table, and one run that is followed, stopped and resumed."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from bertviz_lab import PretrainConfig
from bertviz_lab.data.probes import PROBES, MinimalPair
from bertviz_lab.interpret import score_minimal_pairs
from bertviz_lab.training.runs.summary import RunNotes
from tests.browser import complaints, eventually
from tests.ui.fake_hub import FakeHub
from tests.ui.pages import Served, little_settings, serve
from tests.ui.state.test_models import RUN, make_run
from tests.ui.views.test_runs import TOKEN, hub

__all__ = ["hub"]

ENGLISH = PROBES["english"].pairs
OTHER, ELSEWHERE = "calm-fox-fedcba9876543210", "still-heron-fedcba9876543210"
TRAINING = 120_000  # milliseconds until a training on a busy machine shows something


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = little_settings(tmp_path_factory.mktemp("runs"))
    log = [
        {"event": "RunStarted", "step": 0, "objective": "mlm+nsp"},
        {"event": "StepDone", "step": 1, "mlm_loss": 5.0},
    ]
    (settings.checkpoints / "little" / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in log))
    with serve(settings) as served:
        make_run(served[1])
        make_run(served[1], OTHER)
        yield served


def row(page: Page, run_id: str) -> Locator:
    return page.locator(f"#runs-table tr[data-run='{run_id}']")


def write_pairs(path: Path, pairs: Sequence[MinimalPair]) -> Path:
    """A file in BLiMP's format."""
    rows = [{"sentence_good": p.good, "sentence_bad": p.bad, "linguistics_term": p.kind} for p in pairs]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1440, 1280, 400])
def test_the_buttons_of_a_row_stand_side_by_side_where_there_is_room(page: Page, served: Served, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{served[0]}?space=runs")
    places = row(page, RUN).locator(".actions button")
    expect(places).to_have_count(2)
    tops = places.evaluate_all("(buttons) => buttons.map((button) => button.getBoundingClientRect().top)")
    assert (tops[0] == tops[1]) == (width > 400)
    assert page.locator("#runs-table").evaluate("(table) => table.offsetWidth <= table.parentElement.clientWidth")


def test_a_run_is_renamed_tagged_noted_found_and_deleted(page: Page, served: Served) -> None:
    address, session = served
    page.goto(f"{address}?space=runs")
    expect(row(page, RUN)).to_contain_text("kind-otter")
    expect(row(page, "little")).to_contain_text("shipped")
    expect(row(page, "little").get_by_role("button", name="Delete")).to_be_hidden()

    # Name, tags and note, by keyboard; markup is text.
    row(page, RUN).get_by_role("button", name="Edit").press("Enter")
    name = page.locator("#runs-name")
    expect(name).to_be_focused()
    name.fill("my <b>baseline</b>")
    page.locator("#runs-tags").fill("seed 1, small")
    page.locator("#runs-note").fill("The first one.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(row(page, RUN).locator(".name")).to_have_text("my <b>baseline</b>")
    expect(row(page, RUN).locator(".tag")).to_have_text(["seed 1", "small"])
    expect(row(page, RUN)).to_contain_text("The first one.")
    notes = session.runs.notes(RUN)
    assert (notes.name, notes.tags, notes.note) == ("my <b>baseline</b>", ("seed 1", "small"), "The first one.")

    # What is wrong is said in the form, which stays.
    row(page, RUN).get_by_role("button", name="Edit").click()
    page.locator("#runs-tags").fill("x" * 31)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("at most 30 characters")
    page.keyboard.press("Escape")
    expect(page.locator("#runs-tags")).to_have_count(0)

    # Sorted by name, and filtered by a tag.
    names = page.locator("#runs-table .name")
    page.locator("#runs-table thead").get_by_role("button", name="Name").click()
    expect(names).to_have_text(["calm-fox", "little", "my <b>baseline</b>"])
    expect(page.locator("#runs-table [data-column=name]")).to_have_attribute("aria-sort", "ascending")
    page.locator("#runs-filter").fill("seed 1")
    expect(names).to_have_text(["my <b>baseline</b>"])
    page.locator("#runs-filter").fill("")

    # Deleted only after a second press, and gone from the pickers too.
    row(page, OTHER).get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Cancel").click()
    assert OTHER in session.runs.ids()
    row(page, OTHER).get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(row(page, OTHER)).to_have_count(0)
    expect(row(page, "little").locator(".name")).to_be_focused()  # the next one
    assert OTHER not in session.runs.ids()
    page.get_by_role("tab", name="Explore").click()
    expect(page.locator(f"#model-picker option[value='{RUN}']")).to_have_text("my <b>baseline</b> (finished)")
    expect(page.locator(f"#model-picker option[value='{OTHER}']")).to_have_count(0)


def test_the_table_shows_what_is_done_to_runs_in_another_tab(page: Page, served: Served) -> None:
    address, session = served
    make_run(session, ELSEWHERE)
    page.goto(f"{address}?space=runs")
    expect(row(page, ELSEWHERE)).to_contain_text("still-heron")
    session.runs.annotate(ELSEWHERE, RunNotes("renamed elsewhere"))
    expect(row(page, ELSEWHERE)).to_contain_text("renamed elsewhere")
    session.runs.delete(ELSEWHERE)
    expect(row(page, ELSEWHERE)).to_have_count(0)


def test_a_run_is_followed_stopped_resumed_and_downloaded(page: Page, served: Served) -> None:
    address, session = served
    config = PretrainConfig(
        corpus=("sample:tiny-town",), preset="tiny", steps=100_000, seq_len=16, batch_size=4, threads=1,
        precision="fp32", checkpoint_every=2.0,
    )  # fmt: skip
    run_id = session.runs.start(config)
    page.goto(f"{address}?space=runs")
    state = row(page, run_id).locator(".status")
    expect(state).to_contain_text(re.compile(r"training, step \d"), timeout=TRAINING)
    expect(row(page, run_id).get_by_role("button", name="Delete")).to_be_disabled()
    before = state.inner_text()
    expect(state).not_to_have_text(before)  # it is live

    row(page, run_id).locator(".name").click()
    stage = page.locator("#run-chart .stage")
    expect(stage).to_contain_text(re.compile(r"Training: .*step \d"), timeout=TRAINING)
    assert f"run.id={run_id}" in page.evaluate("window.Lab.page.address()")
    expect(row(page, run_id)).to_have_class(re.compile("chosen"))
    page.locator("#run-stop").click()
    for _ in range(10):  # until the run has stopped: what is drawn anew meanwhile says the same
        # Asked in one go: `all_inner_texts` would find a button that is in sight and read one that is gone.
        seen = page.locator("#run-stop").evaluate("(node) => node.checkVisibility() && node.innerText")
        assert seen in (False, "Stopping …")
        page.wait_for_timeout(50)
    expect(stage).to_contain_text("Stopped", timeout=TRAINING)
    expect(state).to_contain_text("stopped")
    expect(page.locator("#run-resume")).to_be_focused()  # Stop has gone
    step = session.runs.state(run_id).step
    page.locator("#run-resume").click()
    eventually(page, lambda: session.runs.state(run_id).step > step, 90)
    expect(stage).to_contain_text("Training", timeout=TRAINING)
    expect(page.locator("#run-stop")).to_be_focused()
    page.locator("#run-stop").click()
    expect(stage).to_contain_text("Stopped", timeout=TRAINING)

    with page.expect_download() as waiting:
        page.locator("#run-download").click()
    assert waiting.value.suggested_filename == f"{session.runs.name(run_id)}.zip"
    with page.expect_download(timeout=TRAINING) as waiting:
        page.locator("#run-report").click()
    assert waiting.value.suggested_filename == f"{session.runs.name(run_id)}.html"
    assert "Tokens seen" in waiting.value.path().read_text(encoding="utf-8")
    page.locator("#run-explore").click()
    expect(page.locator("#model-picker")).to_have_value(run_id)
    expect(page.locator("#model-facts")).to_contain_text("BertForPreTraining")


def test_a_run_is_named_with_its_own_curves_and_none_is_missing_before_it_is_known(page: Page, served: Served) -> None:
    address, session = served
    held: list[Route] = []

    def hold(route: Route) -> None:
        asked = json.loads(route.request.post_data or "{}")
        if asked["view"] == "run" and asked["question"] == waiting:
            held.append(route)
        else:
            route.continue_()

    page.route("**/lab/ask", hold)
    waiting = "current"
    page.goto(f"{address}?space=train")
    chart, name = page.locator("#pretrain-chart"), page.locator("#pretrain-progress h3")
    eventually(page, lambda: bool(held), 60)
    expect(chart.locator(".empty")).to_have_text("Loading …")
    waiting = "curves"
    held.pop().continue_()
    eventually(page, lambda: bool(held), 60)
    held.pop().continue_()
    expect(name).to_have_text("little")
    config = PretrainConfig(corpus=("sample:tiny-town",), preset="tiny", steps=100_000, batch_size=4, threads=1)
    run_id = session.runs.start(config)
    page.evaluate("() => window.Lab.page.emit('start')")
    eventually(page, lambda: bool(held), 60)
    expect(name).to_have_text("little")
    held.pop().continue_()
    expect(name).to_have_text(session.runs.name(run_id))
    page.unroute_all(behavior="ignoreErrors")
    session.runs.stop(run_id)


def test_a_run_of_pretraining_explains_its_own_scores(page: Page, served: Served) -> None:
    page.goto(f"{served[0]}?space=runs&run.id={RUN}")
    page.locator("#run-body").get_by_text("How is this computed?").click()
    expect(page.locator("#run-body .explanation")).to_contain_text("MLM loss is the mean cross-entropy")


def test_the_run_that_is_open_is_evaluated_on_minimal_pairs(page: Page, served: Served, tmp_path: Path) -> None:
    address, session = served
    pairs = tuple(replace(pair, kind=kind) for kind in ("word_order", "<b>agreement</b>") for pair in ENGLISH[:3])
    file = write_pairs(tmp_path / "pairs.jsonl", pairs)
    page.goto(f"{address}?space=runs&run.id={RUN}")
    page.locator("#tab-evaluate").click()
    scores = page.locator("#evaluate-scores")
    page.locator("#evaluate-files input[type=file]").set_input_files(file)
    name = session.models.open(RUN).name
    expect(scores).to_contain_text(f"6 pairs scored with {name} by pseudo-log-likelihood", timeout=TRAINING)
    report = score_minimal_pairs(session.models.open(RUN), pairs)
    for phenomenon, value in (("all", report.accuracy), *report.by_phenomenon.items()):
        fact = scores.locator(".fact", has=page.get_by_text(phenomenon.replace("_", " "), exact=True))
        expect(fact.locator("dd")).to_have_text(f"{value:.1%}")
    expect(page.get_by_role("button", name="Download the scores of the pairs")).to_be_visible()
    page.get_by_role("button", name="Remove pairs.jsonl").click()
    expect(scores).to_contain_text("is asked which sentence of each is likelier")
    file.write_text("{}\n", encoding="utf-8")
    page.locator("#evaluate-files input[type=file]").set_input_files(file)
    expect(scores).to_contain_text('no text in the field "sentence_good"', timeout=TRAINING)


def test_a_model_is_pushed_to_the_hub_by_a_press_after_its_files_are_listed(
    page: Page, served: Served, hub: FakeHub
) -> None:
    page.goto(f"{served[0]}?space=runs&run.id={RUN}")
    page.get_by_role("tab", name="Settings and files").click()
    page.locator("#run-hub > summary").click()
    push, files = page.locator("#run-hub-push"), page.locator("#run-hub-files")
    expect(push).to_be_disabled()
    page.locator("#run-hub-repo").fill("me/my model")
    page.keyboard.press("Tab")
    expect(files).to_contain_text("no name of a model on the hub")
    expect(push).to_be_disabled()
    page.locator("#run-hub-repo").fill("me/mine")
    page.keyboard.press("Enter")
    expect(files).to_contain_text("model.safetensors")
    expect(files).to_contain_text("Nothing has been sent")
    assert hub.asked == []
    push.press("Enter")
    expect(files).to_contain_text("Sent to me/mine")
    expect(push).to_be_disabled()
    assert "model.safetensors" in hub.repositories["me/mine"]
    assert TOKEN not in page.content()


def test_axe_finds_nothing_serious_and_nothing_is_wider_than_the_page(page: Page, served: Served, screen: str) -> None:
    page.goto(f"{served[0]}?__theme={screen}&space=runs&run.id={RUN}&run.open=2&run.hub=open")
    expect(page.locator("#run-settings-facts")).to_contain_text("Seed")
    row(page, RUN).get_by_role("button", name="Edit").click()
    assert complaints(page, "panel-runs", "panel-run") == []
