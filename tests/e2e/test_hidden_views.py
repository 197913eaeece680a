"""What nobody sees or wants any more is not computed, in a real browser."""

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from bertviz_lab.config import SHIPPED
from tests.browser import at_rest, eventually
from tests.little import little_folder
from tests.ui.pages import Served, little_settings, serve


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = little_settings(tmp_path_factory.mktemp("hidden"))
    little_folder(settings.checkpoints / "other", seed=1)
    with serve(settings) as served:
        yield served


def test_forms_of_train_read_their_samples_when_they_are_seen(page: Page, served: Served) -> None:
    address, _ = served
    page.goto(address)
    expect(page.locator("#fill-bars")).to_contain_text("Predictions")
    at_rest(page)
    expect(page.locator("#text-health")).to_have_count(0)
    page.goto(f"{address}?space=train")
    for form, part, text, kind in (
        ("Pretrain", "#text-health", "Documents", "pretrain"),
        ("Fine-tune", "#examples-preview", "sentiment.tsv", "finetune"),
    ):
        page.get_by_role("tab", name=form, exact=True).click()
        expect(page.locator(part)).to_contain_text(text, timeout=60_000)
        expect(page.locator(f"#{kind}-progress")).to_contain_text("No run yet")


@pytest.fixture
def asked(page: Page) -> list[str]:
    """The views that have asked Python something, in order."""
    views: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("/lab/ask"):
            views.append(json.loads(request.post_data or "{}")["view"])

    page.on("request", note)
    return views


def test_only_open_panels_ask_and_only_where_they_are_seen(page: Page, served: Served, asked: list[str]) -> None:
    address, _ = served
    page.goto(address)
    expect(page.locator("#fill-bars")).to_contain_text("Predictions")
    expect(page.locator("#panel-attention canvas").first).to_be_visible()
    at_rest(page)
    assert {"explore", "predictions", "attention"} == set(asked) - {"run", "runs", "server"}

    for view in ("tokens", "layers"):
        page.locator(f"#tab-{view}").click()
    at_rest(page)
    asked.clear()
    page.locator("#model-picker").select_option("other")
    expect(page.locator("#model-facts")).to_contain_text("Layers")
    at_rest(page)
    assert set(asked) - {"runs", "server"} == {"explore", "tokens", "layers"}
    assert asked.index("tokens") < asked.index("layers"), "the first slot is answered first"

    page.locator("#tab-predictions").click()
    eventually(page, lambda: "predictions" in asked)
    at_rest(page)
    assert "attention" not in asked


def test_a_link_to_another_workspace_asks_nothing_for_explore(page: Page, served: Served, asked: list[str]) -> None:
    page.goto(f"{served[0]}?space=learn")
    expect(page.locator("#lessons h2").first).to_be_visible()
    at_rest(page)
    assert "lessons" in asked
    assert {"explore", "predictions", "attention"}.isdisjoint(asked)
    page.get_by_role("tab", name="Explore", exact=True).click()
    expect(page.locator("#fill-bars")).to_contain_text("Predictions")
    assert page.locator("#text-a").input_value()


def test_what_is_being_computed_says_so(page: Page, served: Served) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        is_grid = json.loads(route.request.post_data or "{}")["view"] == "attention"
        held.append(route) if is_grid else route.continue_()

    page.route("**/lab/ask", hold)
    page.goto(served[0])
    grid = page.locator("#attention-grid")
    expect(grid.locator(".empty").first).to_have_text("Computing …")
    expect(page.locator("#wire")).to_contain_text("Working")
    held.pop(0).continue_()
    expect(grid.locator("canvas").first).to_be_visible()
    expect(grid.locator(".empty").first).to_be_hidden()
    page.unroute_all(behavior="ignoreErrors")


def test_a_checkpoint_is_drawn_only_in_the_workspace_that_is_open(page: Page, served: Served, asked: list[str]) -> None:
    address, _ = served
    page.goto(address)
    expect(page.locator("#fill-bars")).to_contain_text("Predictions")
    page.get_by_role("tab", name="Learn", exact=True).click()
    expect(page.get_by_role("heading", level=2).first).to_be_visible()
    at_rest(page)
    asked.clear()
    new_checkpoint = "() => window.Lab.page.emit('model', window.Lab.page.input.model)"
    page.evaluate(new_checkpoint)
    page.wait_for_timeout(500)
    assert {"predictions", "attention"}.isdisjoint(asked)
    page.get_by_role("tab", name="Explore", exact=True).click()
    eventually(page, lambda: "predictions" in asked)


def test_a_checkpoint_leaves_half_typed_text_alone(page: Page, served: Served) -> None:
    address, _ = served
    page.goto(address)
    expect(page.locator("#fill-bars")).to_contain_text("Predictions")
    page.locator("#text-a").fill("")
    page.evaluate("() => window.Lab.page.emit('model', window.Lab.page.input.model)")
    page.wait_for_timeout(800)
    expect(page.locator("#text-a")).to_have_value("")


@pytest.mark.parametrize(
    ("form", "box", "button", "name", "shown"),
    [
        ("Pretrain", "#text-files", "#train", "long.txt", "#pretrain-chart"),
        ("Fine-tune", "#examples-files", "#tune", "texts.csv", "#finetune-chart"),
    ],
)
def test_no_training_begins_while_a_file_is_on_its_way(
    page: Page, served: Served, form: str, box: str, button: str, name: str, shown: str
) -> None:
    held: list[Route] = []
    started: list[dict[str, Any]] = []

    def start(route: Route) -> None:
        asked = route.request.post_data_json
        if asked["question"] != "start":
            route.continue_()
            return
        started.append(asked["arguments"])
        expect(page.locator(f"{shown} .empty")).to_have_text("Starting …")  # in place of the curves of another run
        route.fulfill(json={"error": "The test starts nothing."})

    page.route("**/lab/upload", lambda route: held.append(route))
    page.route("**/lab/ask", start)
    page.goto(f"{served[0]}?space=train")
    page.get_by_role("tab", name=form, exact=True).click()
    expect(page.locator(button)).to_be_visible()
    at_rest(page)
    text = b"text,label\n" + b"a good day,good\na bad day,bad\n" * 8
    page.locator(f"{box} input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": text})
    expect(page.locator(box)).to_contain_text(f"Uploading {name}")
    eventually(page, lambda: bool(held))
    page.locator(button).click()
    page.wait_for_timeout(500)
    assert started == []
    held.pop().continue_()
    eventually(page, lambda: bool(started))
    (sent,) = started
    assert (sent["source"], len(sent["files"])) == ("own", 1)
    expect(page.locator(f"{button}-message")).to_have_text("The test starts nothing.")
    expect(page.locator(shown)).not_to_contain_text("Starting")
    page.unroute_all(behavior="ignoreErrors")


_LONG = "the old king of france was a man of letters " * 30
_ASK = """([line, text]) => {
  window.answers ??= {};
  window.Lab.page.ask('predictions', 'surprisal', {model: 'wiki-mini', text_a: text, text_b: '', positions: 0}, line)
    .then((answer) => { (window.answers[line] ??= []).push(answer === undefined ? 'dropped' : 'answered'); });
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = little_settings(tmp_path_factory.mktemp("page"), shared=True, models=False)
    with serve(dataclasses.replace(settings, checkpoints=Path(SHIPPED))) as (address, _):
        yield address


@pytest.fixture
def opened(page: Page, address: str) -> Page:
    page.goto(address)
    page.locator("#fill-bars .blanks").wait_for()
    return page


def test_a_newer_question_ends_the_older_one(opened: Page) -> None:
    opened.evaluate(_ASK, ["first", _LONG])
    opened.wait_for_timeout(200)
    opened.evaluate(_ASK, ["first", "The king is old."])
    opened.wait_for_function("() => window.answers.first?.length === 2", timeout=10_000)
    assert opened.evaluate("() => window.answers.first") == ["dropped", "answered"]


def test_the_place_in_line_is_told(opened: Page) -> None:
    for line in ("first", "second", "third"):
        opened.evaluate(_ASK, [line, _LONG])
    expect(opened.locator("#wire .lab")).to_contain_text(
        re.compile(r"(1 question before yours|Your question is next), about \d+ (s|min)"), timeout=10_000
    )
