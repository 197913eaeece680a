"""The endpoints, called as a program calls them."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
from gradio.server_messages import ProcessCompletedMessage
from gradio.state_holder import SessionState
from gradio_client import Client
from gradio_client.exceptions import AppError

from bertviz_lab import BertForSequenceClassification, interpret
from bertviz_lab.ui.app import build
from bertviz_lab.ui.server.api import MOST_TEXTS, MOST_WEIGHTS, EndpointQueue
from bertviz_lab.ui.state.app_state import AppState
from tests.little import little_folder
from tests.ui.pages import little_settings, request_of, serve

Page = tuple[Client, AppState]
A, B = "the red cat sat on the mat", "she gave him the red book"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("api")
    little_folder(folder / "checkpoints" / "moods", kind=BertForSequenceClassification, id2label=("glum", "gay"))
    with serve(little_settings(folder)) as (url, session):
        client = Client(url, verbose=False)
        yield client, session
        client.close()


def test_the_named_endpoints_and_no_more_are_public(page: Page) -> None:
    described = page[0].view_api(print_info=False, return_format="dict")
    assert isinstance(described, dict)
    names = ("models", "tokenize", "fill_mask", "next_sentence", "attention", "classify", "embed", "attribute")
    assert set(described["named_endpoints"]) == {f"/{name}" for name in names}
    assert described["unnamed_endpoints"] == {}


def test_models_are_listed_with_the_default(page: Page) -> None:
    answer = page[0].predict(api_name="/models")
    assert answer["default"] == "little"
    assert [model["name"] for model in answer["models"]] == ["little", "moods"]


def test_tokenize_and_fill_mask_give_what_the_model_is_given_and_says(page: Page) -> None:
    answer = page[0].predict(text_a=A, text_b=B, api_name="/tokenize")
    encoding = page[1].models.open().tokenizer.encode(A, B)
    for name in ("tokens", "ids", "token_type_ids"):
        assert tuple(answer[name]) == getattr(encoding, name)
    assert [tuple(pair) for pair in answer["offsets"]] == list(encoding.offsets)
    answer = page[0].predict("the [MASK] cat [MASK]", "little", 3, api_name="/fill_mask")
    expected = interpret.fill_mask(page[1].models.open(), "the [MASK] cat [MASK]", 3)
    shown = [(mask["position"], [c["token"] for c in mask["candidates"]]) for mask in answer["masks"]]
    assert shown == [(mask.position, [c.token for c in mask.candidates]) for mask in expected.masks]


def test_probabilities_sum_to_one(page: Page) -> None:
    answer = page[0].predict(A, B, api_name="/next_sentence")
    assert answer["is_next"] + answer["is_random"] == pytest.approx(1)
    answer = page[0].predict(A, api_name="/attention")
    assert np.shape(answer["attentions"]) == (2, 2, len(answer["tokens"]), len(answer["tokens"]))
    np.testing.assert_allclose(np.sum(answer["attentions"], -1), 1, atol=1e-5)
    answer = page[0].predict(A, "", "moods", api_name="/classify")
    assert {label["label"] for label in answer["labels"]} == {"glum", "gay"}
    assert sum(label["score"] for label in answer["labels"]) == pytest.approx(1)


def test_embed_gives_a_vector_for_each_text(page: Page) -> None:
    answer = page[0].predict([A, B, A], "little", api_name="/embed")
    expected = interpret.encode(page[1].models.open("little"), [A, B, A])
    assert answer["pooling"] == "mean"
    np.testing.assert_allclose(answer["vectors"], expected, atol=1e-6)
    for wrong in ([], [A] * (MOST_TEXTS + 1), A):
        with pytest.raises(AppError, match="texts must be a list of 1 to 256 texts"):
            page[0].predict(wrong, "little", api_name="/embed")
    with pytest.raises(AppError, match="Text 2 of 2 is empty"):
        page[0].predict([A, ""], "little", api_name="/embed")


def test_attribute_scores_each_token(page: Page) -> None:
    text = "the red [MASK] sat"
    answer = page[0].predict(text, api_name="/attribute")
    expected = interpret.attribute(page[1].models.open(), text)
    assert answer["tokens"] == list(expected.encoding.tokens)
    assert answer["target"]["name"] == expected.target.name
    assert sum(answer["scores"]) + answer["error"] == pytest.approx(answer["change"], abs=1e-4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("/fill_mask", "no blank here"), r"Put \[MASK\]"),
        (("/fill_mask", "the [MASK]", "", 10**9), "top_k"),
        (("/fill_mask", "the [MASK]", "/no/such/model"), "There is no model"),
        (("/fill_mask", "the [MASK]", "", 0), "top_k must be a whole number from 1 to 1000"),
        (("/fill_mask", "the [MASK]", 7), "model must be a string"),
        (("/fill_mask", {"not": "text"}), "text must be a string"),
        (("/tokenize", 7), "text_a must be a string"),
        (("/attention", "x" * 100_000), "shorten"),
        (("/attribute", "the [MASK]", "", "", "guessing"), "Unknown method guessing: choose one of integrated"),
    ],
)
def test_bad_input_is_an_error_of_one_sentence(
    page: Page, call: tuple, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    name, *arguments = call
    with pytest.raises(AppError, match=words):
        page[0].predict(*arguments, api_name=name)
    assert "Traceback" not in capfd.readouterr().err


def test_the_model_may_be_none_and_half_a_character_is_refused(page: Page) -> None:
    client, _ = page
    assert client.predict(A, "", None, api_name="/tokenize")["tokens"]
    url = f"{client.src}gradio_api/call/tokenize"
    event = httpx.post(url, content=b'{"data": ["a \\ud800", "", ""]}', headers={"Content-Type": "application/json"})
    answer = httpx.get(f"{url}/{event.json()['event_id']}").text
    assert "half of a character" in answer


def test_answers_of_endpoints_stay_in_no_session(session: AppState) -> None:
    page = build(session.settings, session)
    state = SessionState(page)
    (endpoint,) = [number for number, event in page.fns.items() if event.api_name == "attention"]
    text = ["the red cat sat", "", ""]
    answer = asyncio.run(page.process_api(endpoint, text, state=state, request=request_of()))
    assert answer["data"][0]["attentions"]
    assert "attentions" not in repr(list(state.components))


@pytest.mark.parametrize(("is_fetched", "kept"), [(False, 4), (True, 6)])
def test_the_oldest_answers_that_nobody_fetches_are_withdrawn(session: AppState, is_fetched: bool, kept: int) -> None:
    """Four of the largest answers of /attention may wait."""
    queue = build(session.settings, session)._queue
    assert isinstance(queue, EndpointQueue)
    event: Any = SimpleNamespace(alive=True, _id="x", session_hash="s")
    queue.pending_messages_per_session["s"] = asyncio.Queue()
    row = [0.5] * (MOST_WEIGHTS // 100)
    successes = []
    for _ in range(6):
        queue.send_message(event, ProcessCompletedMessage(output={"data": [{"attentions": [row] * 100}]}, success=True))
        if is_fetched:
            successes.append(queue.pending_messages_per_session["s"].get_nowait().success)
    waiting = queue.pending_messages_per_session["s"]
    messages = [waiting.get_nowait() for _ in range(waiting.qsize())]
    successes += [message.success for message in messages]
    assert successes == [False] * (6 - kept) + [True] * kept
    assert all("ask again" in message.output["error"] for message in messages[: 6 - kept])
