"""Pages of models: written once, and sent to the hub after they were listed. They are opened in tests/e2e."""

import dataclasses
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab import InputError
from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.published_pages import PublishedPages
from bertviz_lab.ui.views.publish.view import QUESTIONS
from tests.ui.fake_hub import FakeHub
from tests.ui.views.test_runs import TOKEN, hub

__all__ = ["hub"]

TARGET = {"repo": "me/page", "kind": "space", "public": False}


@pytest.fixture(autouse=True)
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that write pages; in their place a small page is written."""
    ran: list[list[str]] = []

    def write(_: PublishedPages, command: Sequence[str], on_progress: Callable[[float], None]) -> None:
        ran.append(list(command))
        page = Path(command[command.index("--out") + 1])
        on_progress(0.5)
        if page.suffix:
            page.write_text("<p>one file</p>", encoding="utf-8")
        else:
            (page / "models").mkdir(parents=True)
            (page / "index.html").write_text("<p>a folder</p>", encoding="utf-8")
            (page / "models" / "model.onnx").write_bytes(b"graph")

    monkeypatch.setattr(PublishedPages, "_run", write)
    return ran


def ask(session: AppState, question: str, **arguments: Any) -> Any:
    given = {"model": "little"} | ({"snapshots": 0} if question != "about" else {}) | arguments
    return QUESTIONS[question].ask(session, given)


def test_a_page_is_written_once_for_each_form(session: AppState, commands: list[list[str]]) -> None:
    html, again, packed = (ask(session, "page", form=form) for form in ("html", "html", "zip"))
    assert html == again
    assert html["name"] == "little.html"
    assert packed["name"] == "little.zip"
    file = session.pages.file(packed["address"].removeprefix("lab-page/"))
    assert file is not None
    assert set(zipfile.ZipFile(file).namelist()) >= {"index.html", "models/model.onnx"}
    assert len(commands) == 2
    ask(session, "page", form="html", snapshots=5)
    assert commands[-1][-2:] == ["--snapshots", "5"]
    assert session.pages.file("../settings.py") is None


def test_a_page_goes_to_a_static_space_by_a_press_after_its_files_are_listed(session: AppState, hub: FakeHub) -> None:
    listed = json.loads(ask(session, "push", **TARGET, dry_run=True))
    assert "would go to me/page (private" in listed["note"]
    assert {name for name, _ in listed["items"]} == {"README.md", "index.html", "models/model.onnx"}
    assert hub.asked == []
    sent = json.loads(ask(session, "push", **TARGET, dry_run=False))
    assert sent["message"].startswith("Sent to me/page")
    assert hub.created[0].items() >= {"type": "space", "sdk": "static", "visibility": "private"}.items()
    sent = hub.repositories["me/page"]
    assert sent["index.html"] == b"<p>a folder</p>"
    assert b"sdk: static" in sent["README.md"]
    assert f"Bearer {TOKEN}" in hub.sent


def test_a_page_goes_into_a_folder_of_a_models_repository(session: AppState, hub: FakeHub) -> None:
    ask(session, "push", **TARGET | {"kind": "model", "public": True, "dry_run": False})
    assert set(hub.repositories["me/page"]) == {"page/index.html", "page/models/model.onnx"}


def test_a_name_that_the_hub_does_not_take_is_refused_before_anything_is_written(
    session: AppState, commands: list[list[str]]
) -> None:
    with pytest.raises(InputError, match="Name the owner too"):
        ask(session, "push", **TARGET | {"repo": "page", "dry_run": True})
    assert commands == []


def test_a_shared_page_writes_none_and_one_without_the_hub_sends_none(settings: Settings) -> None:
    shared = AppState(dataclasses.replace(settings, limits=Limits.of(shared=True)))
    with pytest.raises(InputError, match="bertviz-lab publish"):
        ask(shared, "page", form="html")
    alone = AppState(dataclasses.replace(settings, limits=dataclasses.replace(Limits(), hub="off")))
    assert not ask(alone, "about")["hub"]
    with pytest.raises(InputError, match="sends nothing"):
        ask(alone, "push", **TARGET, dry_run=False)
