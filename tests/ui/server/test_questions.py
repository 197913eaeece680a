"""The line between the page's scripts and Python: what it answers, refuses and never reads."""

import asyncio
import inspect
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from bertviz_lab import InputError
from bertviz_lab.figures.payload import to_json
from bertviz_lab.ui.server.questions import Questions, tell_progress
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import Count, Text, View, question
from bertviz_lab.ui.views import VIEWS

EVERY = [(view, name) for view in VIEWS for name in view.questions]


def answer_to(questions: Questions, view: Any, name: Any, arguments: Any, ticket: str = "mine") -> dict[str, Any]:
    body: dict[str, Any] = json.loads(asyncio.run(questions._answer_function()([ticket, view, name, arguments])))
    return body


def ask_about(answer: Any, session: AppState, *, slow: bool = False) -> Questions:
    return Questions(session, [View("toy", "Toy", "A toy.", None, {"it": question(answer, slow=slow)})])


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
        {},
        {"text": 7},
        {"text": None},
        {"text": ["/etc/passwd"]},
        {"text": "x" * 60_000},
        {"text": "x", "times": 0},
        {"text": "x", "times": 1e9},
        {"text": "x", "times": "many"},
        {"text": "x", "times": float("nan")},
        {"text": "x", "more": 1},
        {"text": "x", "state": None},
        [],
        "x",
        None,
    ],
)
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
    assert "reload" in answer_to(ask_about(lambda state: 1, session), view, name, {})["error"]


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
        if get_origin(kind) in (list, tuple):  # what a list holds is bounded, and the body of a request is
            return all(bounded(part) for part in get_args(kind))
        if get_origin(kind) in (Union, UnionType):  # such as a position, or None
            return all(bounded(part) for part in get_args(kind) if part is not NoneType)
        if getattr(kind, "__annotations__", {}):  # a group of settings
            return all(bounded(part) for part in get_type_hints(kind, include_extras=True).values())
        return kind is bool or get_origin(kind) is Literal

    asked = view.questions[name]
    _, *arguments = inspect.signature(asked.answer).parameters.values()
    assert {argument.name for argument in arguments} == asked.arguments
    for argument in arguments:
        assert bounded(argument.annotation), argument


@pytest.mark.parametrize(("view", "name"), EVERY, ids=[f"{view.id}.{name}" for view, name in EVERY])
def test_every_question_answers_senseless_arguments_in_one_sentence(view: View, name: str, session: AppState) -> None:
    questions = Questions(session, VIEWS)
    for value in ("", "\0", "../../etc/passwd", "[MASK]" * 3, -1, 10**9, None, [], {}, [["x"]]):
        body = answer_to(questions, view.id, name, dict.fromkeys(view.questions[name].arguments, value))
        assert len(body) == 1
        if "error" in body:
            assert "Something went wrong" not in body["error"], (value, body)


def test_slow_work_tells_how_far_it_is(session: AppState) -> None:
    told, seen = threading.Event(), threading.Event()

    def work(state: AppState) -> str:
        tell_progress(0.4)
        told.set()
        assert seen.wait(10)
        return "done"

    questions = ask_about(work, session, slow=True)
    progress = questions._progress_function()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(answer_to, questions, "toy", "it", {})
        assert told.wait(10)
        assert asyncio.run(progress("mine")) == 0.4  # type: ignore[arg-type]
        assert asyncio.run(progress("another's")) == 0  # type: ignore[arg-type]
        seen.set()
        assert answer.result() == {"answer": "done"}
    assert asyncio.run(progress("mine")) == 0  # type: ignore[arg-type]


def test_nobody_need_listen_to_progress() -> None:
    tell_progress(0.5)


def test_a_question_that_does_not_exist_is_an_input_error(session: AppState) -> None:
    with pytest.raises(InputError, match="reload"):
        Questions(session, VIEWS).ask("explore", "everything", {})
