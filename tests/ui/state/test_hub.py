"""Models of the hub: which a page uses, how they come to its disk, and what the hub is told."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.hub import Hub, NotDownloadedError
from tests.little import little_folder
from tests.ui.fake_hub import FakeHub, fake_hub
from tests.ui.pages import little_settings

ROOT = Path(__file__).parents[3]
TOKEN = "hf_" + "s" * 34
SMALL, LARGER, THIRD = "somebody/small", "somebody/larger", "somebody/third"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    """A hub with three little models; one of them has a megabyte more."""
    folder = little_folder(tmp_path / "published")
    with fake_hub() as hub:
        for model in (SMALL, THIRD):
            hub.add(model, folder)
        hub.add(LARGER, folder, tokenizer_config__json=b" " * 1_000_000)
        yield hub


def run(tmp_path: Path, hub: FakeHub, code: str, *, shared: bool = True, **limits: str) -> list[str]:
    """The lines that `code` prints, with a page's `state` and `tell(function, model)`, in a process of its own.

    The library of the hub reads its settings once, as it is imported.
    """
    little_settings(tmp_path)
    given = {"hub": "open"} | limits
    program = f"""
import json
from pathlib import Path
from bertviz_lab import InputError
from bertviz_lab.config.limits import Limits
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
here = Path({str(tmp_path)!r})
limits = Limits.of(shared={shared}, given={given!r})
state = AppState(Settings(runs_dir=here / "runs", checkpoints=here / "checkpoints", limits=limits))
def tell(function, model):
    try:
        result = function(model)
        print("done", getattr(result, "name", ""))
    except InputError as error:
        print(type(error).__name__, error)
def ask(name, **arguments):
    from bertviz_lab.ui.views.explore.view import EXPLORE
    return EXPLORE.questions[name].ask(state, arguments)
SMALL, LARGER, THIRD = {(SMALL, LARGER, THIRD)!r}
if __name__ == "__main__":
""" + "\n".join(f"    {line}" for line in code.strip().splitlines())
    script = tmp_path / "program.py"  # a file: processes that are started anew read it
    script.write_text(program, encoding="utf-8")
    environment = {**os.environ, "HF_ENDPOINT": hub.address, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0"}
    environment |= {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONPATH": str(ROOT)}
    environment |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_page_keeps_the_token_of_its_owner_back(hub: FakeHub, shared: bool, tmp_path: Path) -> None:
    code = "tell(state.models.download, 'somebody/private')\ntell(state.models.download, SMALL)"
    refused, done = run(tmp_path, hub, code, shared=shared)
    assert "could not be fetched" in refused
    assert done.startswith("done")
    assert hub.sent
    assert any(TOKEN in header for header in hub.sent) is not shared


def test_a_name_starts_no_download_and_a_press_of_the_button_does(hub: FakeHub, tmp_path: Path) -> None:
    code = """
tell(state.models.open, SMALL)
tell(lambda model: ask("encode", model=model, text_a="the cat", text_b=""), SMALL)
print(json.dumps(ask("missing", models=[SMALL, "little"])))
print("before")
ask("download", model=SMALL)
print(json.dumps(ask("missing", models=[SMALL, "little"])))
tell(state.models.open, SMALL)
"""
    first, second, missing, _, nothing, opened = run(tmp_path, hub, code)
    assert first.startswith("NotDownloadedError")
    assert "press Download" in second
    assert (json.loads(missing), json.loads(nothing), opened) == ([SMALL], [], f"done {SMALL}")


def test_naming_models_asks_nothing_of_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    code = 'tell(state.models.open, SMALL)\ntell(state.models.locate, LARGER)\nask("missing", models=[SMALL, THIRD])'
    run(tmp_path, hub, code)
    assert hub.asked == []


def test_a_model_that_is_too_large_is_not_fetched_and_one_whose_hub_lied_does_not_stay(
    hub: FakeHub, tmp_path: Path
) -> None:
    (refused,) = run(tmp_path, hub, "tell(state.models.download, LARGER)", model_bytes="900kB")
    assert "too large for this page" in refused
    assert not any("resolve" in path for path in hub.asked)
    hub.claimed = 1
    refused, again = run(
        tmp_path, hub, "tell(state.models.download, LARGER)\ntell(state.models.open, LARGER)", model_bytes="900kB"
    )
    assert "too large for this page" in refused
    assert again.startswith("NotDownloadedError")
    assert not list((tmp_path / "hf" / "hub").glob("models--*"))


def test_a_repository_that_grows_after_its_download_changes_nothing_here(hub: FakeHub, tmp_path: Path) -> None:
    run(tmp_path, hub, "tell(state.models.download, SMALL)", model_bytes="900kB")
    asked = len(hub.asked)
    hub.repositories[SMALL]["model.safetensors"] += b"x" * 5_000_000
    lines = run(
        tmp_path, hub, "tell(state.models.download, SMALL)\ntell(state.models.open, SMALL)", model_bytes="900kB"
    )
    assert [line.split()[0] for line in lines] == ["done", "done"]
    assert len(hub.asked) == asked
    (weights,) = (tmp_path / "hf").rglob("model.safetensors")
    weights.write_bytes(weights.read_bytes() + b"x" * 5_000_000)  # and one that has grown on the disk is refused
    (refused,) = run(tmp_path, hub, "tell(state.models.open, SMALL)", model_bytes="900kB")
    assert "too large for this page" in refused


def test_the_oldest_downloads_make_room_and_what_others_brought_stays(hub: FakeHub, tmp_path: Path) -> None:
    run(tmp_path, hub, "from huggingface_hub import snapshot_download\nsnapshot_download(THIRD)")
    code = """
for model in (THIRD, SMALL, LARGER):
    tell(state.models.download, model)
print(json.dumps(ask("missing", models=[SMALL, THIRD]) + ask("missing", models=[LARGER])))
"""
    small, larger = (sum(map(len, hub.repositories[model].values())) for model in (SMALL, LARGER))
    *done, missing = run(tmp_path, hub, code, hub_space=str(larger + small // 2))
    assert [line.strip() for line in done] == ["done"] * 3
    assert json.loads(missing) == [SMALL]
    (refused,) = run(tmp_path, hub, "tell(state.models.download, SMALL)", hub_space="10kB")
    assert "too large" in refused


def test_models_come_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    hub, begun, go_on = Hub(Limits.of(shared=True, given={"hub": "open"})), threading.Event(), threading.Event()

    def slow(model: str) -> None:
        begun.set()
        assert go_on.wait(10)

    monkeypatch.setattr(hub, "_fetch", slow)
    first = threading.Thread(target=hub.download, args=(SMALL,))
    first.start()
    assert begun.wait(10)
    with pytest.raises(InputError, match="somebody/small is being downloaded"):
        hub.download(LARGER)
    go_on.set()
    first.join()
    hub.download(LARGER)


@pytest.mark.parametrize(
    ("limits", "model", "allowed"),
    [
        ({"hub": "off"}, "google-bert/bert-base-uncased", False),
        ({"hub": "open"}, SMALL, True),
        ({}, "google-bert/bert-base-uncased", True),
        ({}, "bert-base-cased", True),
        ({}, "prajjwal1/bert-tiny", True),
        ({}, SMALL, False),
        ({}, "bert-base-evil/model", False),  # an organisation that anybody could found
        ({}, "prajjwal1/evil", False),
        ({"hub_models": "somebody/*"}, SMALL, True),
        ({"hub_models": "somebody/*"}, "bert-base-cased", False),
    ],
)
def test_a_page_uses_the_models_that_its_owner_allows(limits: dict[str, str], model: str, allowed: bool) -> None:
    def folder(**more: Any) -> None:
        Hub(Limits.of(shared=True, given=limits | more)).folder(model)

    with pytest.raises(InputError, match="press Download" if allowed else "This page uses") as caught:
        folder()
    assert isinstance(caught.value, NotDownloadedError) is allowed
