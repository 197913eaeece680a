"""Push to hub on the page: what would be sent is shown, a press sends it, and only its owner's own page does."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from bertviz_lab import InputError, load_checkpoint
from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.server.visitors import NOBODY
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views.run.view import RUN as VIEW
from bertviz_lab.ui.views.runs.view import RUNS
from tests.ui.fake_hub import FakeHub, fake_hub
from tests.ui.pages import OWNER
from tests.ui.state.test_models import RUN, make_run

TOKEN = "hf_" + "s" * 34


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub on this machine, which the library of this process is led to."""
    with fake_hub() as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.address)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield hub


def preview(session: AppState, **arguments: Any) -> dict[str, Any]:
    target = {"run_id": RUN, "repo": "me/mine", "public": False}
    return json.loads(VIEW.questions["hub"].ask(session, target | arguments, NOBODY))


def push(session: AppState, **arguments: Any) -> str:
    return RUNS.questions["change"].ask(
        session, {"action": "push", "run_id": RUN, "repo": "me/mine", **arguments}, NOBODY
    )


def about(session: AppState) -> dict[str, Any]:
    return VIEW.questions["about"].ask(session, {"run_id": RUN}, OWNER)


def test_what_would_be_sent_is_listed_and_nothing_is_asked_of_the_hub(session: AppState, hub: FakeHub) -> None:
    folder = make_run(session)
    shown = preview(session)
    sizes = dict(shown["items"])
    weights = (folder / "model" / "model.safetensors").stat().st_size
    assert sizes["model.safetensors"] == f"{weights:,} bytes"
    assert "README.md" in sizes
    assert shown["note"].startswith(f"{len(sizes)} files")
    assert "me/mine (private" in shown["note"]
    assert "public" in preview(session, public=True)["note"]
    assert hub.asked == []


def test_a_press_sends_the_model_and_tells_where_it_is(session: AppState, hub: FakeHub, tmp_path: Path) -> None:
    folder = make_run(session)
    message = push(session)
    assert message.endswith(f"{hub.address}/me/mine/commit/1")
    assert TOKEN not in message
    assert hub.created[0]["visibility"] == "private"
    assert f"Bearer {TOKEN}" in hub.sent
    fetched = tmp_path / "fetched"
    for name, content in hub.repositories["me/mine"].items():
        (fetched / name).parent.mkdir(parents=True, exist_ok=True)
        (fetched / name).write_bytes(content)
    theirs, ours = load_checkpoint(fetched), load_checkpoint(folder / "model")
    assert all(torch.equal(a, b) for a, b in zip(theirs.model.parameters(), ours.model.parameters(), strict=True))


def test_what_the_hub_refuses_and_an_error_of_the_network_do_not_tell_the_token(
    session: AppState, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise httpx.LocalProtocolError(f"Illegal header value b'Bearer {TOKEN}'")

    make_run(session)
    hub.refuses = "You may not write here."
    with pytest.raises(InputError, match="You may not write here") as refused:
        push(session)
    assert TOKEN not in str(refused.value)
    monkeypatch.setattr("huggingface_hub.HfApi.create_repo", fail)
    with pytest.raises(InputError, match=r"^The hub could not be reached \(LocalProtocolError\)\.$"):
        push(session)


@pytest.mark.parametrize("limits", [Limits.of(shared=True), dataclasses.replace(Limits(), hub="off")])
def test_a_shared_page_and_one_without_the_hub_push_nothing(settings: Settings, hub: FakeHub, limits: Limits) -> None:
    session = AppState(dataclasses.replace(settings, limits=limits))
    make_run(session)
    assert about(session)["can_push"] is False
    for ask in (push, preview):
        with pytest.raises(InputError, match=r"sends nothing to the hub|started in another browser"):
            ask(session)
    with pytest.raises(InputError, match="sends nothing to the hub"):
        RUNS.questions["change"].ask(session, {"action": "push", "run_id": RUN, "repo": "me/mine"}, OWNER)
    assert hub.asked == []


def test_a_run_without_a_model_and_names_that_the_hub_does_not_take_are_refused(
    session: AppState, hub: FakeHub
) -> None:
    make_run(session, model=False)
    assert about(session)["can_push"] is False
    with pytest.raises(InputError, match="has no model yet"):
        push(session)
    make_run(session, other := "calm-fox-fedcba9876543210")
    for repo in ("", "mine", "a/b/c", "../x"):
        with pytest.raises(InputError, match=r"hub|owner"):
            preview(session, run_id=other, repo=repo)
    assert hub.asked == []
