"""Models of the hub: which a page uses, how they come to its disk, and what the hub is told."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab.config.limits import Limits
from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.hub import Hub, NotDownloadedError
from tests.little import little_folder
from tests.ui.fake_hub import FakeHub, fake_hub
from tests.ui.pages import little_settings
from tests.ui.state.hub_programs import MODELS

ROOT = Path(__file__).parents[3]
TOKEN = "hf_" + "s" * 34
SMALL, LARGER, THIRD = (MODELS[name] for name in ("SMALL", "LARGER", "THIRD"))

Run = Callable[..., list[str]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeHub, Path, subprocess.Popen[str]]]:
    """A hub, the folder in which its library keeps what it downloads, and the process that runs programs."""
    home = tmp_path_factory.mktemp("hf")
    with fake_hub() as hub:
        environment = {**os.environ, "HF_ENDPOINT": hub.address, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0"}
        environment |= {"HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
        environment |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "tests.ui.state.hub_programs"]
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as programs:
            yield hub, home, programs
            programs.kill()


@pytest.fixture
def hf_home(served: tuple[FakeHub, Path, Any]) -> Path:
    """Where the library of the hub keeps what it downloads; empty as a test begins."""
    _, home, _ = served
    shutil.rmtree(home)
    home.mkdir()
    return home


@pytest.fixture
def hub(served: tuple[FakeHub, Path, Any], tmp_path: Path) -> FakeHub:
    """A hub with three little models; one of them has a megabyte more."""
    hub, *_ = served
    hub.forget()
    folder = little_folder(tmp_path / "published")
    for model in (SMALL, THIRD):
        hub.add(model, folder)
    hub.add(LARGER, folder, tokenizer_config__json=b" " * 1_000_000)
    return hub


@pytest.fixture
def run(served: tuple[FakeHub, Path, subprocess.Popen[str]], hf_home: Path, tmp_path: Path) -> Run:
    """Call with a program (see `hub_programs`) for the lines that it prints in a process of its own."""
    *_, programs = served
    little_settings(tmp_path)

    def answer(code: str, *, shared: bool = True, **limits: str) -> list[str]:
        assert programs.stdin
        assert programs.stdout
        program = {"folder": str(tmp_path), "code": code, "shared": shared, "limits": limits}
        programs.stdin.write(json.dumps(program) + "\n")
        programs.stdin.flush()
        done = json.loads(programs.stdout.readline())
        assert done["error"] == ""
        return list(done["lines"])

    return answer


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_page_keeps_the_token_of_its_owner_back(hub: FakeHub, run: Run, shared: bool) -> None:
    code = "tell(state.models.download, 'somebody/private')\ntell(state.models.download, SMALL)"
    refused, done = run(code, shared=shared)
    assert "could not be fetched" in refused
    assert done.startswith("done")
    assert hub.sent
    assert any(TOKEN in header for header in hub.sent) is not shared


def test_a_name_starts_no_download_and_a_press_of_the_button_does(hub: FakeHub, run: Run) -> None:
    code = """
tell(state.models.open, SMALL)
tell(lambda model: ask("encode", model=model, text_a="the cat", text_b=""), SMALL)
print(json.dumps(ask("missing", models=[SMALL, "little"])))
print("before")
ask("download", model=SMALL)
print(json.dumps(ask("missing", models=[SMALL, "little"])))
tell(state.models.open, SMALL)
"""
    first, second, missing, _, nothing, opened = run(code)
    assert first.startswith("NotDownloadedError")
    assert "press Download" in second
    assert (json.loads(missing), json.loads(nothing), opened) == ([SMALL], [], f"done {SMALL}")


def test_naming_models_asks_nothing_of_the_hub(hub: FakeHub, run: Run) -> None:
    code = 'tell(state.models.open, SMALL)\ntell(state.models.locate, LARGER)\nask("missing", models=[SMALL, THIRD])'
    run(code)
    assert hub.asked == []


def test_a_model_that_is_too_large_is_not_fetched_and_one_whose_hub_lied_does_not_stay(
    hub: FakeHub, run: Run, hf_home: Path
) -> None:
    (refused,) = run("tell(state.models.download, LARGER)", model_bytes="900kB")
    assert "too large for this page" in refused
    assert not any("resolve" in path for path in hub.asked)
    hub.claimed = 1
    refused, again = run("tell(state.models.download, LARGER)\ntell(state.models.open, LARGER)", model_bytes="900kB")
    assert "too large for this page" in refused
    assert again.startswith("NotDownloadedError")
    assert not list((hf_home / "hub").glob("models--*"))


def test_a_repository_that_grows_after_its_download_changes_nothing_here(hub: FakeHub, run: Run, hf_home: Path) -> None:
    run("tell(state.models.download, SMALL)", model_bytes="900kB")
    asked = len(hub.asked)
    hub.repositories[SMALL]["model.safetensors"] += b"x" * 5_000_000
    lines = run("tell(state.models.download, SMALL)\ntell(state.models.open, SMALL)", model_bytes="900kB")
    assert [line.split()[0] for line in lines] == ["done", "done"]
    assert len(hub.asked) == asked
    (weights,) = hf_home.rglob("model.safetensors")
    weights.write_bytes(weights.read_bytes() + b"x" * 5_000_000)  # and one that has grown on the disk is refused
    (refused,) = run("tell(state.models.open, SMALL)", model_bytes="900kB")
    assert "too large for this page" in refused


def test_the_oldest_downloads_make_room_and_what_others_brought_stays(hub: FakeHub, run: Run) -> None:
    run("from huggingface_hub import snapshot_download\nsnapshot_download(THIRD)")
    code = """
for model in (THIRD, SMALL, LARGER):
    tell(state.models.download, model)
print(json.dumps(ask("missing", models=[SMALL, THIRD]) + ask("missing", models=[LARGER])))
"""
    small, larger = (sum(map(len, hub.repositories[model].values())) for model in (SMALL, LARGER))
    *done, missing = run(code, hub_space=str(larger + small // 2))
    assert [line.strip() for line in done] == ["done"] * 3
    assert json.loads(missing) == [SMALL]
    (refused,) = run("tell(state.models.download, SMALL)", hub_space="10kB")
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
        ({"hub": "somebody/*"}, SMALL, True),
        ({"hub": "somebody/*"}, "bert-base-cased", False),
    ],
)
def test_a_page_uses_the_models_that_its_owner_allows(limits: dict[str, str], model: str, allowed: bool) -> None:
    def folder(**more: Any) -> None:
        Hub(Limits.of(shared=True, given=limits | more)).folder(model)

    with pytest.raises(InputError, match="press Download" if allowed else "This page uses") as caught:
        folder()
    assert isinstance(caught.value, NotDownloadedError) is allowed
