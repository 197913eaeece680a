"""A server that ends leaves nothing of its visitors behind, and one that was killed is cleaned up after."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gradio_client import Client

from bertviz_lab.errors import InputError
from bertviz_lab.jobs.retention import bytes_below
from bertviz_lab.ui.operations.housekeeping import own_upload_folder, sweep
from bertviz_lab.ui.server.downloads import download_folder
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.ui.guard.raw_requests import Server

SENTINEL = "sentinelword"


@contextmanager
def started(folder: Path, number: int) -> Iterator[tuple[Server, subprocess.Popen[str]]]:
    """`bertviz-lab app` as a process of its own, whose temporary files and runs lie in a folder."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "GRADIO_TEMP_DIR"}
    command = [sys.executable, "-m", "bertviz_lab", "app", "--port", str(number), "--runs-dir", str(folder / "runs")]
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment | {"TMPDIR": str(temporary)}
        )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        yield Server(address), process
    finally:
        process.kill()
        process.communicate()


def upload(server: Server) -> None:
    body = f'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n{SENTINEL}\r\n--x--\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    assert server.ask("/lab/upload", kind, "POST", body.encode())[0] == 200


def holding_sentinel(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and SENTINEL.encode() in path.read_bytes()]


@pytest.mark.slow
def test_nothing_that_a_visitor_typed_or_uploaded_is_left(tmp_path: Path, free_tcp_port: int) -> None:
    with started(tmp_path, free_tcp_port) as (server, process):
        upload(server)
        client = Client(server.address, verbose=False)
        client.predict(f"The {SENTINEL} [MASK].", api_name="/fill_mask")
        with pytest.raises(Exception, match="MASK"):
            client.predict(f"No blank in {SENTINEL}.", api_name="/fill_mask")
        assert holding_sentinel(tmp_path / "tmp")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert SENTINEL not in process.stdout.read()  # type: ignore[union-attr]
    assert not holding_sentinel(tmp_path)
    assert not list((tmp_path / "tmp").glob("bertviz-lab-*"))
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_server_that_was_killed_is_cleaned_up_after_by_the_next(tmp_path: Path, free_tcp_port: int) -> None:
    with started(tmp_path, free_tcp_port) as (server, process):
        upload(server)
        process.kill()
        process.wait()
    assert holding_sentinel(tmp_path / "tmp")
    with started(tmp_path, free_tcp_port):
        assert not holding_sentinel(tmp_path / "tmp")


def test_old_uploads_and_downloads_are_swept_and_young_ones_stay(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    state = AppState(settings)
    for name, age in (("old", 7200), ("young", 50)):
        file = download_folder() / f"{name}.txt"
        file.write_text(name, encoding="utf-8")
        for path in (file, file.parent):
            os.utime(path, (time.time() - age,) * 2)
    sweep(state)
    assert [path.name for path in (tmp_path / "uploads").rglob("*.txt")] == ["young.txt"]
    sweep(state, time.time() + settings.limits.upload_seconds)
    assert bytes_below(tmp_path / "uploads") == 0


def test_uploads_lie_in_a_folder_of_their_server_within_the_named_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "named"))
    folder = own_upload_folder()
    assert folder.is_dir()
    assert folder.parent == tmp_path / "named"
    assert os.environ["GRADIO_TEMP_DIR"] == str(folder)


def test_an_upload_folder_that_cannot_be_made_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "file"))
    with pytest.raises(InputError, match="folder for uploads"):
        own_upload_folder()
