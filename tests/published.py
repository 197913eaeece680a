"""A published page in a browser, and its engine held against the server's own answers."""

import functools
import json
import math
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page

from bertviz_lab.errors import InputError
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from tests.browser import eventually

#: Pairs, masks, one and several, long words and texts, emoji, right to left, other writings, odd spaces, no text.
TEXTS = (
    ("The red cat sat on the [MASK].", ""),
    ("She won a gold [MASK] at the Olympic Games.", "It was [MASK] in 1950."),
    ("The red [MASK] sat on the [MASK].", "A small dog ran to the house."),
    ("She gave him the red book.", "They walk to the river."),
    ("Unbelievably naïve café-owners don't re-tokenize 😀👩‍👩‍👧 emoji!", ""),
    ("שלום עולם, مرحبا [MASK] بالعالم", ""),
    ("日本語のテキスト and 中文 [MASK]。", ""),
    ("The  double   spaces\tand\nnew lines [MASK] .", ""),
    ("é Ａ ﬁ İstanbul ΣΑΣ ẞ 𝔘𝔫𝔦 \u200b zero", ""),
    ("x" * 120 + " [MASK]", ""),
    ("[mask] misspelt", ""),
    ("word [SEP] [CLS] [UNK] [PAD]", ""),
    (" ".join(["the old man reads a book near the [MASK]"] * 12), "rivers run and dogs sleep"),
    ("", ""),
)
_ASK = """async ([view, question, given]) => {
  const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value);
  const answer = await Lab.page.ask(view, question, given, Symbol('test')).catch(({ message }) => ({ error: message }));
  return JSON.stringify({ answer: answer ?? null }, plain);
}"""
#: A key of a computation, and what plotly.py adds to every figure.
_OTHERWISE = ("key", "template")
_NUMBER = re.compile(r"[-+−]?\d[\d,.]*(e-?\d+)?")
_CODES = ("cells", "rollout", "codes")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder as any web server does; yields its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def open_published(page: Page, address: str) -> None:
    page.goto(address)
    eventually(page, lambda: bool(page.evaluate("Boolean(window.Lab)")), 60)  # the page forbids eval


def asked(page: Page, view: str, question: str, arguments: Mapping[str, Any]) -> Any:
    """Return the engine's answer; {"error": sentence} for one."""
    return json.loads(page.evaluate(_ASK, [view, question, arguments]))["answer"]


def by_server(state: AppState, view: str, question: str, arguments: Mapping[str, Any]) -> Any:
    """Return the server's answer, as it would reach the page."""
    (questions,) = (one.questions for one in VIEWS if one.id == view)
    try:
        return _plain(questions[question].ask(state, arguments))
    except InputError as error:
        return {"error": str(error)}


def questions(model: str, text_a: str, text_b: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what the views of Explore ask about a text, but for what is drawn at random."""
    given = {"model": model, "text_a": text_a, "text_b": text_b}
    yield "explore", "encode", given
    yield "tokens", "tokens", given
    yield "tokens", "split", given
    yield "predictions", "mlm", given | {"top_k": 5, "word": ""}
    yield "predictions", "nsp", given
    yield "predictions", "joint", given
    yield "predictions", "surprisal", given | {"hidden": []}
    yield "predictions", "task", given
    for position in (1, 2, 5):
        yield "predictions", "toggle_mask", given | {"hidden": [], "position": position}
    yield "attention", "attention", given
    for shown in ("score", "relative_bias", "content_to_position"):
        yield "attention", "attention", given | {"shown": shown}
    yield "attention", "difference", given | {"against": "causal", "other": "", "other_text": ""}
    yield "layers", "lens", given | {"position": None}
    yield "layers", "norms", given | {"position": None}
    yield "layers", "norms", given | {"position": 2}
    for kind in ("hidden", "attention", "feed_forward"):
        yield "layers", "token_norms", given | {"of": kind}
    yield "layers", "embedding_sum", given
    yield "embeddings", "sentences", given
    yield "embeddings", "similarity", given | {"lines": "", "pooling": "auto"}
    yield "embeddings", "sentence_map", given | {"lines": "", "pooling": "cls"}
    for kind in ("", "next", "label", "word", "start"):
        yield "attribution", "targets", given | {"kind": kind}
    explained = given | {"kind": "", "position": None, "choice": "", "contrast": ""}
    yield "attribution", "head_effects", explained | {"ablated": [[0, 1]]}
    for changed in ({"ablated": [], "causal": False, "segments": ""},
                    {"ablated": [[0, 1]], "causal": True, "segments": "zero"}):  # fmt: skip
        yield "attribution", "intervention", explained | changed
    yield "embeddings", "word_at", given | {"position": 2}
    yield "embeddings", "neighbours", given | {"word": ""}
    yield "embeddings", "contexts", given | {"word": ""}


def differences(server: Any, engine: Any, tolerance: float, path: str = "") -> Iterator[str]:
    """Yield where two answers differ: in words, in tokens, in order, or in numbers by more than the tolerance.

    Numbers within a sentence may be rounded to other digits; a full weight of attention is 1.
    """
    if isinstance(server, dict) and isinstance(engine, dict):
        for name in sorted(server.keys() | engine.keys()):
            ours, theirs = server.get(name), engine.get(name)
            if name not in _OTHERWISE and (ours or theirs or ours is not theirs):
                if name in _CODES:
                    yield from _code_differences(ours, theirs, engine.get("signed", False), tolerance, name)
                elif not (_is_empty(ours) and _is_empty(theirs)):
                    yield from differences(ours, theirs, tolerance, f"{path}.{name}")
    elif isinstance(server, list) and isinstance(engine, list) and len(server) == len(engine):
        for place, (ours, theirs) in enumerate(zip(server, engine, strict=True)):
            yield from differences(ours, theirs, tolerance, f"{path}[{place}]")
    elif _is_number(server) and _is_number(engine):
        if abs(server - engine) > tolerance * max(1.0, abs(server)):
            yield f"{path}: {server} and {engine}"
    elif isinstance(server, str) and isinstance(engine, str):
        if _NUMBER.sub("#", server) != _NUMBER.sub("#", engine):
            yield f"{path}: {server!r} and {engine!r}"
    elif server != engine:
        yield f"{path}: {str(server)[:200]} and {str(engine)[:200]}"


def _code_differences(
    server: list[float] | None, engine: list[float] | None, signed: bool, tolerance: float, name: str
) -> Iterator[str]:
    if server is None or engine is None or len(server) != len(engine):
        yield f".{name}: only one has it, or of another length"
        return
    ours, theirs = (_weights(np.array(codes), signed) for codes in (server, engine))
    if (most := float(np.abs(ours - theirs).max(initial=0.0))) > tolerance:
        yield f".{name}: a weight differs by {most}"


def _weights(codes: np.ndarray, signed: bool) -> np.ndarray:
    if not signed:
        return (codes / 65535) ** 2
    root = (codes - 32767) / 32767
    return np.sign(root) * root**2


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        return json.loads(value)
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value
