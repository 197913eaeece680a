"""A published page in a browser, and its engine held against the server's own answers."""

import base64
import dataclasses
import functools
import json
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, base64_array
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.views import VIEWS
from tests.browser import eventually

#: Pairs, masks, one and several, long words and texts, emoji, right to left, other writings, odd spaces, no text. All
#: questions are asked about these, and the first ones of `questions` about `MORE_TEXTS`.
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
    (" ".join(["the old man reads a book near the [MASK]"] * 5), "rivers run and dogs sleep"),
    ("", ""),
)
_SENTENCES = (
    "A small dog ran to the house [MASK].",
    "[MASK] [MASK] [MASK] [MASK]",
    "The capital of France is [MASK], and that of Italy is [MASK].",
    "[MASK]",
    "the old man",
    "THE OLD MAN SHOUTS [MASK]!!!",
    "It's o'clock; isn't it? (yes) “quoted” ‘too’ — dash… [MASK]",
    "e-mail: someone@example.org, https://example.org/a?b=c#d [MASK]",
    "3.14159 and 1,000,000 and 2026-11-27 at 14:05 [MASK]",
    "price: $5.00, 30%, 7 °C, ½, ², №, € [MASK]",
    "🙂🙂🙂 [MASK] 👍🏽 🇫🇷 👨‍👩‍👧‍👦",
    "❤️ and ❤ are not the same [MASK]",
    "עברית וגם אנגלית: the cat [MASK]",
    "اللُّغَةُ العَرَبِيَّةُ [MASK]",
    "فارسی: می‌خواهم [MASK]",
    "हिन्दी में [MASK] लिखना",
    "ไทยไม่มีช่องว่าง [MASK]",
    "한국어 문장 [MASK] 입니다",
    "Привет, [MASK] мир! Ёлка и ёж",
    "Ελληνικά: ΟΔΟΣ οδός [MASK]",
    "Tiếng Việt có dấu: Nguyễn [MASK]",
    "İıIi Straße STRASSE ſ [MASK]",
    "e\u0301 é a\u0308\u0323 ạ̈ [MASK]",
    "\u1100\u1161\u11a8 각 [MASK]",
    "ﬀ ﬃ Ⅷ ① ㍿ ﷺ [MASK]",
    "𠜎 𝒳 😀 beyond the plane [MASK]",
    "zero\u200bwidth\u200djoin\ufeffmark [MASK]",
    "tab\there, no-break\u00a0space, thin\u2009space [MASK]",
    "control\x00\x07 characters and \ufffd [MASK]",
    "line one\r\nline two\u2028line three [MASK]",
    "   leading and trailing [MASK]   ",
    "...!!!???,,,;;;::: [MASK]",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z [MASK]",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis [MASK]",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa [MASK]",
    "中文没有空格所以每个字都是一个词[MASK]",
    "mixed日本語words英語 together [MASK]",
    "<b>bold</b> &amp; {{template}} ${code} `tick` \\ [MASK]",
    "##ing ##s [MASK] ##ed Ġthe ▁the",
    "<mask> <s> </s> <pad> <unk>",
    "[MASK][MASK] glued[MASK]together",
    "the [MASK]. The [MASK]. the",
)
MORE_TEXTS = (
    *((text, "") for text in _SENTENCES),
    ("Was it [MASK]?", "שלום, it was 😀 [MASK]."),
    ("one two three " * 80, "four five six " * 80),
    ("", "B alone has [MASK]"),
    ("the same", "the same"),
)
_ASK = """async (asked) => {
  const { encodeBase64 } = await import('lab/client/saving.js');
  const plain = (_, value) => (ArrayBuffer.isView(value) ? encodeBase64(value) : value);
  const answers = [];
  for (const [view, question, given] of asked) answers.push(await Lab.page.ask(view, question, given, Symbol('test'))
    .then((answer) => answer ?? null, ({ message }) => ({ error: message })));
  return JSON.stringify(answers, plain);
}"""
_DRAW = """async (answers) => {
  const { figureOf } = await import('lab/components/figures/index.js');
  const drawn = (value) => (Array.isArray(value) ? value.map(drawn) : value?.picture ? figureOf(value)
    : value?.constructor === Object
      ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, drawn(part)])) : value);
  return JSON.stringify(answers.map(drawn));
}"""
#: A key of a computation.
_OTHERWISE = ("key",)
_NUMBER = re.compile(r"[-+−]?\d[\d,.]*(e-?\d+)?")
_CODES = ("cells", "codes")


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


Asked = tuple[str, str, Mapping[str, Any]]  # view, question, arguments


def asked(page: Page, view: str, question: str, arguments: Mapping[str, Any]) -> Any:
    """Return what the page draws of the engine's answer; {"error": sentence} for one."""
    (answer,) = drawn(page, all_asked(page, [(view, question, arguments)]))
    return answer


def all_asked(page: Page, given: Sequence[Asked]) -> list[Any]:
    """Return the engine's answer to each question."""
    answers: list[Any] = json.loads(page.evaluate(_ASK, given))
    return answers


def drawn(page: Page, answers: Sequence[Any]) -> list[Any]:
    """Return what the page draws of answers."""
    figures: list[Any] = json.loads(page.evaluate(_DRAW, answers))
    return figures


def disagreements(page: Page, state: AppState, model: str, given: Sequence[Asked], tolerance: float) -> Iterator[str]:
    """Yield where the engine draws other than the server, whose name for the model is `model`."""
    ours = all_asked(page, given)
    theirs = [by_server(state, view, question, {**more, "model": model}) for view, question, more in given]
    for server, engine in zip(theirs, ours, strict=True):
        untie(server, engine, tolerance)
    both = zip(drawn(page, theirs), drawn(page, ours), strict=True)
    for (view, question, more), (server, engine) in zip(given, both, strict=True):
        for difference in differences(server, engine, tolerance):
            yield f"{view}.{question} {more['text_a'][:30]!r} {difference}"


def untie(server: Any, engine: Any, tolerance: float) -> None:
    """Put candidates whose probabilities are the same within the tolerance in the server's order.

    A tie at the end of the list may have cut off another candidate there: the server's takes its place.
    """
    if isinstance(server, dict) and isinstance(engine, dict):
        for name in server.keys() & engine.keys():
            untie(server[name], engine[name], tolerance)
    elif isinstance(server, list) and isinstance(engine, list) and len(server) == len(engine):
        if not all(isinstance(one, dict) and {"id", "probability"} <= one.keys() for one in [*server, *engine]):
            for ours, theirs in zip(server, engine, strict=True):
                untie(ours, theirs, tolerance)
            return
        known = {candidate["id"]: candidate["probability"] for candidate in engine}
        for true, found in zip(server, engine, strict=True):
            is_tied = abs(known.get(true["id"], engine[-1]["probability"]) - found["probability"]) <= tolerance
            if is_tied:
                found |= {"id": true["id"], "token": true["token"]}


def by_server(state: AppState, view: str, question: str, arguments: Mapping[str, Any]) -> Any:
    """Return the server's answer, as it would reach the page."""
    (questions,) = (one.questions for one in VIEWS if one.id == view)
    try:
        return _plain(questions[question].ask(state, arguments))
    except InputError as error:
        return {"error": str(error)}


def first_questions(model: str, text_a: str, text_b: str) -> Iterator[Asked]:
    """Yield what is asked about every text: its tokens, predictions and attention."""
    given = {"model": model, "text_a": text_a, "text_b": text_b}
    yield "explore", "encode", given
    yield "tokens", "tokens", given
    yield "tokens", "split", given
    yield "predictions", "mlm", given | {"top_k": 5, "word": ""}
    yield "predictions", "nsp", given
    yield "predictions", "task", given
    yield "attention", "attention", given


def questions(model: str, text_a: str, text_b: str) -> Iterator[Asked]:
    """Yield what the views of Explore ask about a text, but for what is drawn at random."""
    yield from first_questions(model, text_a, text_b)
    given = {"model": model, "text_a": text_a, "text_b": text_b}
    yield "predictions", "joint", given
    yield "predictions", "surprisal", given | {"positions": 9}
    yield "predictions", "guesses", given
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
    yield "embeddings", "token_at", given | {"position": 2}
    yield "embeddings", "neighbours", given | {"word": ""}
    yield "embeddings", "contexts", given | {"word": ""}


def causes_questions(model: str, text_a: str, text_b: str, kind: str = "") -> Iterator[Asked]:
    """Yield what Causes asks about a text: every component, corruption and direction once."""
    traced = {"model": model, "text_a": text_a, "text_b": text_b, "kind": kind, "position": None, "choice": "",
              "contrast": "", "corruption": "word", "changed": None, "replacement": "",
              "direction": "denoising"}  # fmt: skip
    noised = traced | {"corruption": "noise", "direction": "noising"}
    masked = traced | {"corruption": "mask", "changed": 2}
    written = traced | {"corruption": "text", "replacement": text_a.replace("red", "old")}
    for component, changed in (
        ("residual", traced),
        ("attention", noised),
        ("feed_forward", masked),
        ("head", written),
    ):
        yield "causes", "patching", changed | {"component": component}
    for component, layer in (("residual", 0), ("head", 1), ("residual", 2)):
        yield "causes", "patched", traced | {"component": component, "layer": layer, "index": 1}
    for changed in (traced, noised):
        yield "causes", "decomposition", changed


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
    server: str | None, engine: str | None, signed: bool, tolerance: float, name: str
) -> Iterator[str]:
    if server is None or engine is None or len(server) != len(engine):
        yield f".{name}: only one has it, or of another length"
        return
    ours, theirs = (_weights(np.frombuffer(base64.b64decode(codes), "<u2"), signed) for codes in (server, engine))
    if (most := float(np.abs(ours - theirs).max(initial=0.0))) > tolerance:
        yield f".{name}: a weight differs by {most}"


def _weights(codes: np.ndarray, signed: bool) -> np.ndarray:
    if not signed:
        return (codes / 65535) ** 2
    root = codes / 32767 - 1
    return np.sign(root) * root**2


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _plain(value: Any) -> Any:
    if isinstance(value, Payload):
        return json.loads(value)
    if isinstance(value, np.ndarray):  # codes, which are compared as they are: as numbers they take minutes
        return base64_array(value)
    if dataclasses.is_dataclass(value):
        return _plain(vars(value))
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value
