"""The line between the page's scripts and Python: what it answers, refuses and never reads."""

import inspect
import io
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from safetensors.numpy import load
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.guard.bodies import Refused
from bertviz_lab.ui.server.questions import ROUTE, questions_route
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import COOKIE, Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Count, Text, Upload, Uploads, View, question
from bertviz_lab.ui.views import VIEWS
from tests.ui.pages import OWNER, OWNERS_KEY, STRANGER

EVERY = [(view, name) for view in VIEWS for name in view.questions]


def client_of(questions: Route, login: Any = None) -> TestClient:
    """Return a browser of the owner; `login` is the function by which a page is guarded."""
    app = Starlette(routes=[questions])
    app.auth = None  # type: ignore[attr-defined]  # as Gradio's application has it
    app.auth_dependency = login  # type: ignore[attr-defined]
    return TestClient(app, cookies={COOKIE: OWNERS_KEY})


def answer_to(questions: Route, view: Any, name: Any, arguments: Any, ticket: str = "mine") -> dict[str, Any]:
    """Return the answer as the page's script reads it, packed arrays included."""
    sent = {"ticket": ticket, "view": view, "question": name, "arguments": arguments}
    answer = client_of(questions).post(f"/{ROUTE}", content=json.dumps(sent))
    assert answer.status_code == 200
    if answer.headers["Content-Type"] == "application/json":
        return dict(answer.json())
    start = 8 + int.from_bytes(answer.content[:8], "little")
    header = json.loads(answer.content[8:start])
    body: dict[str, Any] = json.loads(header.pop("__metadata__")["body"])
    for array in header.values():  # else a browser could not read it where it is
        assert (start + array["data_offsets"][0]) % {"U8": 1, "U16": 2, "F32": 4}[array["dtype"]] == 0
    return {"answer": body | load(answer.content)}


def ask_about(answer: Any, session: AppState, *, slow: bool = False, arrays: bool = False) -> Route:
    return questions_route(session, [View("toy", "Toy", "A toy.", {"it": question(answer, slow=slow, arrays=arrays)})])


def test_an_answer_comes_as_json(session: AppState) -> None:
    def shout(state: AppState, text: Text, times: Count = 1) -> Any:
        return {"said": text.upper() * times, "payload": False}

    assert answer_to(ask_about(shout, session), "toy", "it", {"text": "<b>", "times": 2}) == {
        "answer": {"said": "<B><B>", "payload": False}
    }
    assert answer_to(ask_about(lambda state: to_json({"x": 1}), session), "toy", "it", {}) == {"answer": {"x": 1}}


@pytest.mark.parametrize(
    "arguments",
    [
        {}, {"text": 7}, {"text": None}, {"text": ["/etc/passwd"]}, {"text": "x" * 60_000}, {"text": "x", "times": 0},
        {"text": "x", "times": 1e9}, {"text": "x", "times": "many"}, {"text": "x", "times": float("nan")},
        {"text": "x", "more": 1}, {"text": "x", "state": None}, [], "x", None,
    ],
)  # fmt: skip
def test_arguments_of_another_type_are_refused_in_one_sentence(session: AppState, arguments: Any) -> None:
    called: list[str] = []

    def note(state: AppState, text: Text, times: Count = 1) -> None:
        called.append(text)

    body = answer_to(ask_about(note, session), "toy", "it", arguments)
    assert body.keys() == {"error"}
    assert "\n" not in body["error"]
    assert called == []


@pytest.mark.parametrize(("view", "name"), [("toy", "that"), ("none", "it"), (["toy"], "it"), ("toy", None)])
def test_what_is_no_question_is_refused(session: AppState, view: Any, name: Any) -> None:
    assert "Reload" in answer_to(ask_about(lambda state: 1, session), view, name, {})["error"]


def test_a_mistake_of_ours_is_told_in_one_sentence_and_harms_nobody_else(session: AppState) -> None:
    def fail(state: AppState) -> None:
        raise ZeroDivisionError("secret detail")

    body = answer_to(ask_about(fail, session), "toy", "it", {})
    assert "Something went wrong" in body["error"]
    assert "secret" not in body["error"]


@pytest.mark.parametrize(("view", "name"), EVERY, ids=[f"{view.id}.{name}" for view, name in EVERY])
def test_every_argument_of_a_question_has_a_bounded_type(view: View, name: str) -> None:
    def bounded(kind: Any) -> bool:
        if get_origin(kind) is Annotated:
            return True
        if get_origin(kind) in (list, tuple, dict):  # what a list holds is bounded, and the body of a request is
            return all(bounded(part) for part in get_args(kind))
        if get_origin(kind) in (Union, UnionType):  # such as a position, or None
            return all(bounded(part) for part in get_args(kind) if part is not NoneType)
        if getattr(kind, "__annotations__", {}):  # a group of settings
            return all(bounded(part) for part in get_type_hints(kind, include_extras=True).values())
        return kind is bool or get_origin(kind) is Literal

    asked = view.questions[name]
    _, *parameters = inspect.signature(asked.answer).parameters.values()
    arguments: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.name == "asked":  # one argument for each field
            arguments |= get_type_hints(parameter.annotation, include_extras=True)
        elif parameter.annotation is not Visitor:
            arguments[parameter.name] = parameter.annotation
    assert arguments.keys() == asked.arguments
    assert asked.depends_on_visitor is any(parameter.annotation is Visitor for parameter in parameters)
    for argument, kind in arguments.items():
        assert bounded(kind), argument


@pytest.mark.parametrize(("view", "name"), EVERY, ids=[f"{view.id}.{name}" for view, name in EVERY])
def test_every_question_answers_senseless_arguments_in_one_sentence(
    view: View, name: str, session: AppState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviz_lab.ui.views.layers.view._SAMPLE", "sample:tiny-town")  # docstrings take seconds
    questions = questions_route(session, VIEWS)
    for value in ("", "\0", "../../etc/passwd", "[MASK]" * 3, -1, 10**9, None, [], {}, [["x"]]):
        asked = view.questions[name]
        body = answer_to(questions, view.id, name, dict.fromkeys(asked.arguments, value))
        assert len(body) == 1
        if "error" in body:
            assert "Something went wrong" not in body["error"], (value, body)


def test_who_asks_is_told_by_the_cookie_and_never_by_an_argument(session: AppState) -> None:
    def who(state: AppState, visitor: Visitor, text: Text = "") -> str:
        return visitor.owner

    questions = ask_about(who, session)
    assert answer_to(questions, "toy", "it", {}) == {"answer": OWNER.owner}
    for claimed in (None, STRANGER.owner, {"owner": STRANGER.owner, "address": ""}, [STRANGER.owner]):
        assert "no argument" in answer_to(questions, "toy", "it", {"visitor": claimed})["error"]


def test_a_question_tells_how_far_it_is_and_is_cancelled_by_its_ticket(session: AppState) -> None:
    began = threading.Event()

    def work(state: AppState) -> None:
        while True:
            report_progress(0.4)
            began.set()
            time.sleep(0.01)

    questions = ask_about(work, session, slow=True)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(answer_to, questions, "toy", "it", {})
        assert began.wait(10)
        for ticket, share in (("mine", 0.4), ("another's", 0)):
            assert answer_to(questions, "server", "progress", {"ticket": ticket})["answer"]["share"] == share
        assert answer_to(questions, "server", "cancel", {"ticket": "mine"}) == {"answer": None}
        assert "cancelled the request" in answer.result(10)["error"]


def test_arrays_come_as_they_are(session: AppState) -> None:
    weights = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    codes = np.array([1, 2, 60_000], np.uint16)

    def both(state: AppState, text: Text) -> dict[str, Any]:
        return {"said": text, "weights": weights.T, "codes": codes, "none": codes[:0]}

    questions = ask_about(both, session, arrays=True)
    answer = answer_to(questions, "toy", "it", {"text": "<é"})["answer"]
    assert answer["said"] == "<é"
    np.testing.assert_array_equal(answer["weights"], weights.T)
    np.testing.assert_array_equal(answer["codes"], codes)
    assert answer["none"].size == 0


@pytest.mark.parametrize("sent", [b"", b"7", b"[1, 2]", b"[" * 100_000, b'{"view": "server"}', b"{}", b"\xff"])
def test_a_senseless_request_is_answered_in_one_sentence(session: AppState, sent: bytes) -> None:
    answer = client_of(ask_about(lambda state: {}, session)).post(f"/{ROUTE}", content=sent)
    assert (answer.status_code, answer.json()["error"]) == (200, "Unknown request. Reload the page.")


def test_questions_are_for_who_has_logged_in(session: AppState) -> None:
    questions = ask_about(lambda state: 1, session)
    sent = {"ticket": "mine", "view": "toy", "question": "it", "arguments": {}}
    with pytest.raises(Refused, match="Log in first"):
        client_of(questions, lambda request: None).post(f"/{ROUTE}", json=sent)
    assert client_of(questions, lambda request: "me").post(f"/{ROUTE}", json=sent).json() == {"answer": 1}
    assert client_of(questions).get(f"/{ROUTE}").status_code == 405


def test_an_upload_is_an_argument_that_a_browser_names_by_its_token(session: AppState) -> None:
    def names(state: AppState, file: Upload | None = None, files: Uploads = []) -> Any:  # noqa: B006 - never changed
        return [one.path.read_text() for one in ([file] if file else []) + files]

    mine, _ = session.uploads.add(Visitor("testclient", OWNER.owner), "a.txt", io.BytesIO(b"my text"))
    other, _ = session.uploads.add(STRANGER, "a.txt", io.BytesIO(b"swordfish"))
    questions = ask_about(names, session)
    assert answer_to(questions, "toy", "it", {"file": mine, "files": [mine]}) == {"answer": ["my text", "my text"]}
    assert answer_to(questions, "toy", "it", {"file": ""}) == {"answer": []}
    for token in (other, "x", "/etc/passwd", {"path": "/etc/passwd"}, 7, [mine], [[mine]], True):
        assert "error" in answer_to(questions, "toy", "it", {"file": token})
        assert token == [mine] or "error" in answer_to(questions, "toy", "it", {"files": token})
    assert "error" in answer_to(questions, "toy", "it", {"files": [mine] * 51})
    session.uploads.file(OWNER, mine).path.unlink()
    assert "upload it again" in answer_to(questions, "toy", "it", {"file": mine})["error"]
