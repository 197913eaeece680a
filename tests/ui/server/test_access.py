"""Who a visitor is, and what a visitor sees of the runs of others."""

import asyncio
import dataclasses
import json
import re
from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from bertviz_lab import PretrainConfig
from bertviz_lab.config.limits import Limits
from bertviz_lab.training.runs.run_folder import RunState, write_state
from bertviz_lab.training.runs.summary import RunNotes, write_notes
from bertviz_lab.ui.server.visitors import COOKIE, NOBODY, Visitor, VisitorCookie, owner_of, visitor_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from tests.ui.finetuned import RUN as TUNED
from tests.ui.finetuned import tuned
from tests.ui.pages import OWNER, OWNERS_KEY, request_of, serve
from tests.ui.snapshots import STEPS, little_history

__all__ = ["tuned"]

PRETRAINED = "kind-otter-0123456789abcdef"
SECRET = "the old man reads a book near the river in secret"
#: What only the owner wrote or uploaded: sentences of the text, of the labelled file, names of files, a tag and a note.
PRIVATE = re.compile(r"in secret|man reads|book near|sat on day|diary\.txt|reviews\.csv|a private (note|tag)")
_QUESTIONS = {(view.id, name): question for view in VIEWS for name, question in view.questions.items()}


class Browser:
    """A browser with a page open: its cookie, and what its scripts send."""

    def __init__(self, url: str) -> None:
        self.url, self.client = url, httpx.Client(base_url=url, timeout=60)
        self.client.get(url)
        self.key = self.client.cookies[COOKIE]

    def ask(self, view: str, question: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What the page's script is answered."""
        sent = {"ticket": "t", "view": view, "question": question, "arguments": arguments}
        said = self.client.post(f"{self.url}lab/ask", json=sent)
        is_packed = said.headers["content-type"] == "application/octet-stream"
        return {"answer": said.content.decode("latin-1")} if is_packed else said.json()

    def glance(self, run_id: str) -> str:
        """What the line that follows a run is told."""
        return json.dumps(self.ask("runs", "glances", {"runs": [run_id]}))

    def change(self, **sent: Any) -> dict[str, Any]:
        """The answer to a change of a run."""
        return self.ask("runs", "change", sent)

    def download(self, run_id: str) -> httpx.Response:
        return self.client.get(f"{self.url}lab-model/{run_id}.zip")


@pytest.fixture(scope="module")
def browsers(tuned: AppState) -> Iterator[tuple[Browser, Browser]]:
    """The owner of both runs, and a stranger who has the links to them."""
    folder = tuned.settings.runs_dir / PRETRAINED
    little_history(folder, STEPS)
    (folder / "training.jsonl").rename(folder / "events.jsonl")
    text = folder / "texts" / "01-diary.txt"
    text.parent.mkdir()
    text.write_text("\n\n".join(f"{SECRET}.\nOn day {n} {SECRET}." for n in range(30)), encoding="utf-8")
    little_history(folder / "model", STEPS)
    (folder / "config.json").write_text(json.dumps(PretrainConfig(corpus=(str(text),)).to_dict()))
    write_state(folder, RunState("failed", "01-diary.txt has too few words"))
    for run in (PRETRAINED, TUNED):
        write_notes(tuned.settings.runs_dir / run, RunNotes("", ("a private tag",), "a private note"))
    (tuned.runs.folder(TUNED) / "owner").unlink()  # a stranger to both browsers
    settings = dataclasses.replace(tuned.settings, limits=Limits.of(shared=True))
    with serve(settings) as (url, session):
        owner, stranger = Browser(url), Browser(url)
        for run in (PRETRAINED, TUNED):
            (session.runs.folder(run) / "owner").write_text(owner_of(owner.key))
        yield owner, stranger
        owner.client.close()
        stranger.client.close()


def everything_about(browser: Browser, run: str) -> Iterator[tuple[str, str]]:
    """(question, answer) of every question of every view, asked about a run."""
    known: dict[str, Any] = {
        "run_id": run, "run": run, "whole": run, "model": run, "other": run, "names": [run], "runs": [run],
        "text_a": "she gave him [MASK]", "text_b": "they walk", "texts": [], "kind": "", "word": "", "words": "",
        "lines": "", "pooling": "auto", "start": 0, "step": 0, "last": 0, "watched": [], "mapped": [], "position": 2,
        "top_k": 3, "hidden": [], "steps": None, "seed": None, "predicted": {}, "name": "one-head", "choice": "",
        "contrast": "", "ablated": [], "causal": False, "against": "model", "other_text": "", "example": 0,
        "places": [],
    }  # fmt: skip
    for (view, name), question in _QUESTIONS.items():
        if name not in ("change", "publish", "train") and question.arguments <= known.keys() | {"row", "column"}:
            arguments = {key: known[key] for key in question.arguments - {"row", "column"}}
            yield f"{view}.{name}", json.dumps(browser.ask(view, name, arguments))


@pytest.mark.parametrize("run", [PRETRAINED, TUNED])
def test_a_link_shows_no_word_that_the_owner_wrote_or_uploaded(browsers: tuple[Browser, Browser], run: str) -> None:
    owner, stranger = browsers
    shown = dict(everything_about(stranger, run))
    assert len(shown) > 40
    assert {name: answer for name, answer in shown.items() if PRIVATE.search(answer)} == {}
    assert not PRIVATE.search(stranger.glance(run))
    own = {name for name, answer in everything_about(owner, run) if PRIVATE.search(answer)}
    assert own >= {"explore.about", "explore.examples", "run.about"}, "the owner is shown what a stranger is not"
    if run == TUNED:
        assert "run.examples" in own
        for question in ("attribution", "attention"):
            arguments = {"run_id": run, "example": 0}
            assert "another browser" in stranger.ask("run", question, arguments)["error"]
            assert "answer" in owner.ask("run", question, arguments)
    else:
        assert own >= {"explore.random_text", "embeddings.sentences", "dynamics.examples", "compare.example"}


def test_a_link_shows_curves_and_training_dynamics_and_the_model_answers(browsers: tuple[Browser, Browser]) -> None:
    stranger = browsers[1]
    assert stranger.ask("run", "about", {"run_id": PRETRAINED})["answer"]["name"] == "kind-otter"
    assert stranger.ask("run", "follow", {"run_id": PRETRAINED, "start": 0})["answer"]["rows"]
    text = {"text_a": "she gave him [MASK]", "text_b": ""}
    assert "answer" in stranger.ask("dynamics", "opening", {"run": PRETRAINED, "words": "", **text})
    assert "answer" in stranger.ask("predictions", "mlm", {"model": PRETRAINED, "top_k": 3, "word": "", **text})
    assert "Accuracy" in json.dumps(stranger.ask("run", "summary", {"run_id": TUNED}))


def test_a_stranger_is_offered_no_run_of_the_owner(browsers: tuple[Browser, Browser]) -> None:
    owner, stranger = browsers
    for view, question in (("runs", "table"), ("explore", "models"), ("compare", "runs")):
        assert PRETRAINED in json.dumps(owner.ask(view, question, {}))
        assert PRETRAINED not in json.dumps(stranger.ask(view, question, {}))
        for claimed in ({"own": [PRETRAINED]}, {"visitor": {"owner": owner_of(owner.key), "address": ""}}):
            assert "no argument" in stranger.ask(view, question, claimed)["error"]


def test_a_stranger_neither_changes_a_run_nor_downloads_its_model(browsers: tuple[Browser, Browser]) -> None:
    owner, stranger = browsers
    for action in ("stop", "resume", "annotate", "delete"):
        assert "another browser" in stranger.change(action=action, run_id=PRETRAINED)["error"]
    refused = stranger.download(PRETRAINED)
    assert (refused.status_code, "another browser" in refused.text) == (404, True)
    assert owner.download(PRETRAINED).status_code == 200
    assert stranger.download("little").status_code == 200
    assert owner.change(action="annotate", run_id=PRETRAINED, note="a private note") == {"answer": ""}


def test_the_folder_of_runs_gives_no_key_away(browsers: tuple[Browser, Browser], tuned: AppState) -> None:
    for browser in browsers:
        for path in tuned.settings.runs_dir.rglob("*"):
            assert not (path.is_file() and browser.key.encode() in path.read_bytes())


def headers_after(
    *, method: str = "GET", scheme: str = "http", media: str = "text/html", status: int = 200, **headers: str
) -> list[str]:
    """The cookies that an answer sets."""
    sent: list[dict[str, Any]] = []

    async def page(scope: Any, receive: Any, send: Any) -> None:
        content = [(b"content-type", f"{media}; charset=utf-8".encode()), (b"set-cookie", b"other=1")]
        await send({"type": "http.response.start", "status": status, "headers": content})
        await send({"type": "http.response.body", "body": b"<p>"})

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "scheme": scheme, "headers": raw, "path": "/"}
    asyncio.run(VisitorCookie(page)(scope, None, send))  # type: ignore[arg-type]
    other, *own = [value.decode() for name, value in sent[0]["headers"] if name == b"set-cookie"]
    assert other == "other=1"
    return own


def cookies_after(**how: Any) -> SimpleCookie:
    return SimpleCookie("; ".join(headers_after(**how)))


def test_the_page_brings_an_unguessable_cookie_that_no_script_reads() -> None:
    keys = {cookies_after()[COOKIE].value for _ in range(20)}
    assert len(keys) == 20
    assert all(owner_of(key) for key in keys)
    cookie = cookies_after()[COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["secure"], cookie["path"]) == (True, "Lax", "", "/")
    assert int(cookie["max-age"]) == 365 * 24 * 3600


def test_a_browser_keeps_its_key_and_a_forged_one_is_replaced() -> None:
    assert cookies_after(cookie=f"{COOKIE}={OWNERS_KEY}")[COOKIE].value == OWNERS_KEY
    for forged in ("", "x", OWNERS_KEY + "x", "o" * 42 + ";", "é" * 43):
        assert owner_of(forged) == ""
        assert owner_of(cookies_after(cookie=f"{COOKIE}={forged}")[COOKIE].value)


@pytest.mark.parametrize(
    "how", [{"scheme": "https"}, {"x_forwarded_proto": "https"}, {"x_forwarded_proto": "https,http"}]
)
def test_over_https_it_is_kept_in_the_frame_of_another_site(how: dict[str, str]) -> None:
    (text,) = headers_after(**how)
    assert {"SameSite=None", "Secure", "Partitioned", "HttpOnly"} <= set(text.split("; "))


@pytest.mark.parametrize("what", [{"method": "POST"}, {"media": "application/json"}, {"status": 404}])
def test_nothing_but_the_page_brings_a_cookie(what: dict[str, Any]) -> None:
    assert COOKIE not in cookies_after(**what)


def test_a_visitor_is_the_hash_of_the_key_and_the_network() -> None:
    assert visitor_of(request_of(address="192.0.2.7")) == Visitor("192.0.2.7", OWNER.owner)
    assert OWNERS_KEY not in OWNER.owner
    (one, other, third) = (
        visitor_of(request_of(address=address)).address for address in ("2001:db8::1", "2001:db8::2:3", "2001:db8:1::1")
    )
    assert one == other != third
    scope = {"type": "http", "method": "GET", "headers": [], "client": None}
    assert visitor_of(Request(scope)) == NOBODY
