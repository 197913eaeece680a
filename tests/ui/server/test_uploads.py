"""Files of the server stay on the server: no request past the page reads a path that was not uploaded."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from tests.ui.pages import little_settings, serve

SECRET = "swordfish"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def secret(folder: Path) -> Path:
    """A file beside the upload folder, which only the owner of the server may read."""
    path = folder / "secret.csv"
    lines = [f"the {word} is number {n},{word}" for n in range(40) for word in (SECRET, "other")]
    path.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture(autouse=True)
def uploads(folder: Path, upload_folder: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The upload folder of these tests, instead of the one that all tests of the page share."""
    path = folder / "uploads"
    path.mkdir(exist_ok=True)
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(path))
    return path


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[tuple[str, AppState]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder / "uploads"))
        with serve(little_settings(folder, shared=True)) as served:
            yield served


def post(url: str, body: Any) -> str:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.read().decode(errors="replace"))
    except urllib.error.HTTPError as error:
        return str(error.read().decode())


def config_of(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}config", timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_questions_of_the_views_answer_no_path_of_the_server(page: tuple[str, AppState], secret: Path) -> None:
    url, _ = page
    asked = 0
    for view in VIEWS:
        for name, question in view.questions.items():
            for value in (str(secret), [str(secret)], {"path": str(secret), "meta": {"_type": "gradio.FileData"}}):
                for changed in question.arguments or [""]:
                    arguments = dict.fromkeys(question.arguments, "") | ({changed: value} if changed else {})
                    said = post(f"{url}lab/ask", {"view": view.id, "question": name, "arguments": arguments})
                    assert SECRET not in said
                    asked += 1
    assert asked > 50
