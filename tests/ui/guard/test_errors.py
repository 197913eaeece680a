"""What a visitor and the log are told when something fails on a running server."""

import http.client
import json
import logging
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from tokenizers import Tokenizer, models

from bertviz_lab.errors import InputError
from bertviz_lab.ui.app import serve as serve_page
from bertviz_lab.ui.server.error_handling import without_folders
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from tests.ui.guard.raw_requests import Server
from tests.ui.pages import little_settings, serve


def panic(*_: Any, **__: Any) -> None:
    """A genuine one, of the library that splits texts."""
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    tokenizer.encode("a").truncate(1, stride=5)


def ask(server: Server, name: str, **arguments: Any) -> dict[str, Any]:
    """The page's own way to a question, as its script takes it."""
    view, _, question = name.partition(".")
    return json.loads(server.send("/lab/ask", {"view": view, "question": question, "arguments": arguments})[1])


@pytest.mark.parametrize("shared", [False, True])
def test_a_panic_of_a_library_is_a_sentence_and_the_page_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    with serve(little_settings(tmp_path, shared=shared)) as (address, _):
        server, client = Server(address), Client(address, verbose=False)
        with monkeypatch.context() as patch:
            patch.setattr("bertviz_lab.interpret.inputs.encode_inputs", panic)
            patch.setattr(AppState, "examples", panic)
            with pytest.raises(Exception, match="Something went wrong"):
                client.predict("a cat", api_name="/tokenize")
            assert "Something went wrong" in ask(server, "explore.examples", model="")["error"]
        assert client.predict("a cat", api_name="/tokenize")["tokens"]


def test_a_download_that_fails_on_its_way_is_known_to_be_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails() -> Generator[bytes]:
        yield b"the first half"
        raise OSError("the disk is gone")

    monkeypatch.setattr("bertviz_lab.ui.server.downloads.zip_model", lambda *_: ("model.zip", fails()))
    with serve(little_settings(tmp_path)) as (address, _):
        with pytest.raises(http.client.IncompleteRead):
            Server(address).ask("/lab-model/wiki-tiny.zip")
        assert Server(address).status() == 200
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_shared_page_tells_nobody_where_files_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise InputError(f"{tmp_path}/secret/text.txt cannot be read.")

    told = {}
    for shared in (True, False):
        settings = little_settings(tmp_path / str(shared), shared=shared)
        with serve(settings) as (address, _), monkeypatch.context() as patch:
            patch.setattr(AppState, "examples", fails)
            told[shared] = ask(Server(address), "explore.examples", model="")["error"]
    assert told[True] == "text.txt cannot be read."
    assert str(tmp_path) in told[False]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("/srv/runs/x/01-a.txt cannot be read.", "01-a.txt cannot be read."),
        ("No such file: '/home/me/b.txt'", "No such file: 'b.txt'"),
        (r"C:\Users\me\b.txt is no text", "b.txt is no text"),
        ("It lies in /srv/runs/.", "It lies in a folder."),
        ("/srv/my runs/of May/my text.txt cannot be read.", "my text.txt cannot be read."),
        ("No such file: '/Users/An Na/b.txt' or /srv/a b/c.txt", "No such file: 'b.txt' or c.txt"),
        ("see https://example.org/a/b and/or /start", "see https://example.org/a/b and/or /start"),
    ],
)
def test_a_path_in_a_sentence_becomes_its_last_name(sentence: str, expected: str) -> None:
    assert without_folders(sentence) == expected


def test_the_log_holds_one_line_for_a_failure_and_none_of_the_visitors_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(_: AppState, model: str, visitor: Visitor) -> None:
        raise KeyError(f"{model} sentinel-word")  # as a dictionary does that is asked for a visitor's word

    with serve(little_settings(tmp_path)) as (address, _):
        monkeypatch.setattr(AppState, "examples", fails)
        with caplog.at_level(logging.INFO):
            assert "KeyError" in ask(Server(address), "explore.examples", model="")["error"]
            Client(address, verbose=False).predict("sentinel-text [MASK]", api_name="/fill_mask")
    failures = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(failures) == 1
    assert failures[0].exc_info is None
    assert "test_errors.py" in failures[0].getMessage()
    assert "sentinel" not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Gradio forgets an event loop
def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"^Port {port} is taken; choose another one with --port.$"):
            serve_page(AppState(little_settings(tmp_path)), "127.0.0.1", port)
