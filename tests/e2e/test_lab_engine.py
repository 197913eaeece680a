"""Shipped models of a shared page are computed in the visitor's browser, and its server is asked for the rest only."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from playwright.sync_api import Page, Request, Route, expect

from bertviz_lab.browser import lab_engine
from bertviz_lab.errors import InputError
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.browser import PageLog, at_rest
from tests.processes import wait_for
from tests.ui.pages import little_settings, serve

_TEXT = "the red [MASK] sat on the mat"


def offer_of(address: str) -> dict[str, dict[str, str]]:
    with urllib.request.urlopen(f"{address}lab-engine/offer.json", timeout=30) as answer:
        offer: dict[str, dict[str, str]] = json.loads(answer.read())
    return offer


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A shared page, once its model is exported."""
    folder = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERTVIZ_LAB_CACHE", str(folder / "cache"))
        with serve(little_settings(folder, shared=True), lab_engine.engine_of) as (address, _):
            wait_for(lambda: "little" in offer_of(address)["facts"])
            yield address


def questions_to_server(page: Page) -> list[str]:
    """The questions that reach the server from now on, as "view.question"."""
    asked: list[str] = []

    def note(request: Request) -> None:
        if request.url.endswith("lab/ask"):
            body = request.post_data_json
            asked.append(f"{body['view']}.{body['question']}")

    page.on("request", note)
    return asked


def type_text(page: Page, text: str) -> None:
    page.get_by_label("Text A").fill(text)
    page.get_by_label("Text A").press("Enter")


def test_a_visitor_computes_shipped_models_until_they_choose_the_server(page: Page, address: str) -> None:
    asked = questions_to_server(page)
    page.goto(address)
    type_text(page, _TEXT)
    expect(page.locator("#fill-bars .bar-row")).to_have_count(5)
    expect(page.locator("#attention-grid canvas").first).to_be_visible()
    page.locator("#tab-layers").click()
    expect(page.locator("#lens .plotly-host svg").first).to_be_visible()
    at_rest(page)
    computed = ("tokens.", "predictions.", "attention.", "layers.", "explore.encode")
    assert [name for name in asked if name.startswith(computed)] == []

    page.locator("#tab-attribution").click()  # gradients are the server's
    expect(page.locator("#attribution-tokens").get_by_text("integrated gradients").first).to_be_visible()
    assert "attribution.attribution" in asked

    page.get_by_text("More", exact=True).click()
    page.get_by_label("Compute shipped models in this browser").uncheck()
    with page.expect_request(lambda sent: '"mlm"' in (sent.post_data or "")):
        type_text(page, "the small [MASK] ran")
    page.reload()
    at_rest(page)
    expect(page.locator("#browser-engine")).not_to_be_checked()
    assert "explore.encode" in asked


def test_a_visitor_whose_browser_cannot_is_answered_by_the_server(page: Page, page_log: PageLog, address: str) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=200, body=b"no longer gzip")

    page.route("**/*.wasm.gz", refuse)
    asked = questions_to_server(page)
    page.goto(address)
    type_text(page, _TEXT)
    expect(page.locator("#fill-bars .bar-row")).to_have_count(5)
    assert "predictions.mlm" in asked
    page_log.clear()


def test_an_engine_is_offered_on_shared_pages_unless_it_is_asked_for_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def state(**more: Any) -> AppState:
        return AppState(Settings.for_host("127.0.0.1", tmp_path, 1, {}, **more))

    monkeypatch.setattr(lab_engine.EngineFiles, "export_missing", lambda files: None)
    assert lab_engine.engine_of(state()) is None
    assert lab_engine.engine_of(state(shared=True, browser_engine="off")) is None
    assert lab_engine.engine_of(state(shared=True)) is not None

    def missing() -> None:
        raise InputError("Install the extra onnx.")

    monkeypatch.setattr(lab_engine, "require_libraries", missing)
    assert lab_engine.engine_of(state(shared=True)) is None
    with pytest.raises(InputError, match="onnx"):
        lab_engine.engine_of(state(browser_engine="on"))


def test_no_other_file_is_served(address: str) -> None:
    facts = offer_of(address)["facts"]["little"]
    folder = facts.rpartition("/")[0]
    for name in (f"{folder}/config.json", f"{folder}/../{folder}/facts.json", "lab-engine/models/0/model.onnx"):
        with pytest.raises(HTTPError) as caught:
            urllib.request.urlopen(address + name, timeout=30)
        caught.value.close()
    with urllib.request.urlopen(address + facts, timeout=30) as answer:
        assert "immutable" in answer.headers["Cache-Control"]
