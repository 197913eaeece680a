"""The owner's Hugging Face token opens models for the owner, never for a visitor."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.ui.pages import little_settings

ROOT = Path(__file__).parents[3]
TOKEN = "hf_" + "s" * 34


@pytest.fixture
def hub() -> Iterator[tuple[str, list[str]]]:
    """A hub that knows no model, and the Authorization headers that it was sent."""
    sent: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(self.headers.get("Authorization") or "")
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", sent
        server.shutdown()


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_page_keeps_the_token_of_its_owner_back(
    hub: tuple[str, list[str]], shared: bool, tmp_path: Path
) -> None:
    address, sent = hub
    little_settings(tmp_path)
    code = (
        "from pathlib import Path; from bertviz_lab import InputError; "
        "from bertviz_lab.ui.state.app_state import AppState; from bertviz_lab.ui.settings import Settings\n"
        f"here = Path({str(tmp_path)!r})\n"
        "from bertviz_lab.config.limits import Limits\n"
        f"limits = Limits.of(shared={shared}, given={{'hub': 'open'}})\n"
        "asked = Settings(runs_dir=here / 'runs', checkpoints=here / 'checkpoints', limits=limits)\n"
        "try: AppState(asked).models.open('somebody/private')\n"
        "except InputError as error: print(error)"
    )
    environment = {**os.environ, "HF_ENDPOINT": address, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0"}
    environment |= {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert "could not be fetched" in done.stdout, done.stderr
    assert sent
    assert any(TOKEN in header for header in sent) is not shared
