"""A page with every component on it, fed by hand-made data; tests call `feed` to change what a component shows."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gradio as gr
import numpy as np
import uvicorn
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bertviz_lab.figures.attention import attention_body, attention_payload, sqrt_codes
from bertviz_lab.figures.payload import figure
from bertviz_lab.figures.training.data import examples_payload, preview_payload
from bertviz_lab.interpret import Candidate, FillMask, MaskedText, MaskPrediction, QueryKey
from bertviz_lab.tokenization import Encoding
from bertviz_lab.ui.server import assets
from bertviz_lab.ui.server.questions import to_bytes
from tests.browser import in_event_loop, in_menu
from tests.ui.components import tuned

Feed = Callable[[str, str], None]
Visit = Callable[..., Page]

HOSTILE = ("<img src=x onerror=window.hacked=1>", "{{7*7}}", "${window.hacked=1}", "</script><b>x", "`\\")


def saved(page: Page, part: str, kind: str) -> bytes:
    """What a component saves as a file of this kind."""
    with page.expect_download() as waiting:
        in_menu(page.locator(f"#{part} [data-save={kind}]").first).click()
    assert waiting.value.suggested_filename.endswith(f".{kind}")
    return waiting.value.path().read_bytes()


def data_table(place: Locator) -> list[dict[str, str]]:
    """The rows of a chart's data table by the names of its columns."""
    details = place.locator("details.table")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    header = details.locator("thead th").all_inner_texts()
    rows = details.locator("tbody tr").evaluate_all("rows => rows.map(row => [...row.cells].map(c => c.textContent))")
    return [dict(zip(header, row, strict=True)) for row in rows]


def encoding(tokens: list[str], *, second: int | None = None, padding: int = 0) -> Encoding:
    """An encoding of these tokens; `second` is the position at which sentence B begins."""
    everything = [*tokens, *["[PAD]"] * padding]
    segments = [int(second is not None and second <= place < len(tokens)) for place in range(len(everything))]
    special = [token in ("[CLS]", "[SEP]", "[PAD]") for token in everything]
    words: list[int | None] = []
    offsets: list[tuple[int, int]] = []
    texts = ["", ""]
    word = -1
    for token, side, is_special in zip(everything, segments, special, strict=True):
        surface = "" if is_special else token.removeprefix("##")
        word += not is_special and surface == token
        texts[side] += " " * (surface == token) + surface
        words.append(None if is_special else word)
        offsets.append((0, 0) if is_special else (len(texts[side]) - len(surface), len(texts[side])))
    return Encoding(
        text_a=texts[0],
        text_b=texts[1] if second is not None else None,
        ids=tuple(100 + 7 * index % 8000 for index in range(len(everything))),
        tokens=tuple(everything),
        token_type_ids=tuple(segments),
        attention_mask=tuple(int(index < len(tokens)) for index in range(len(everything))),
        special_tokens_mask=tuple(map(int, special)),
        offsets=tuple(offsets),
        word_ids=tuple(words),
    )


def attention(layers: int, heads: int, size: int, seed: int = 0) -> NDArray[np.float32]:
    """Attention with structure: each head looks mostly at a fixed distance, some at the first token."""
    random = np.random.default_rng(seed)
    result = np.empty((layers, heads, size, size), np.float32)
    rows = np.arange(size)
    for layer in range(layers):
        for head in range(heads):
            logits = random.normal(0, 1, (size, size))
            shift = (head % 5) - 2
            logits[rows, np.clip(rows + shift, 0, size - 1)] += 1 + 2.5 * random.random()
            logits[:, 0] += 2 * random.random() * (layer / max(1, layers - 1))
            weights = np.exp(logits)
            result[layer, head] = weights / weights.sum(-1, keepdims=True)
    return result


SENTENCE = ["[CLS]", "the", "old", "cat", "sat", "un", "##believ", "##ably", "still", "[SEP]", "it", "was",
            "asleep", "[SEP]"]  # fmt: skip


def sentence_attention(seed: int = 0, layers: int = 4, heads: int = 4) -> str:
    """The payload for `SENTENCE`, whose weights tests recompute from the same seed."""
    tokens, weights = encoding(SENTENCE, second=10), attention(layers, heads, len(SENTENCE), seed)
    return attention_payload(attention_body(tokens, weights, "A toy model", key="toy"))


def masked() -> MaskedText:
    given = list(SENTENCE)
    outcomes = ["special" if token in ("[CLS]", "[SEP]") else "not chosen" for token in SENTENCE]
    for position, outcome, token in ((3, "mask", "[MASK]"), (6, "random", "tree"), (11, "kept", "was")):
        outcomes[position], given[position] = outcome, token
    return MaskedText(encoding(SENTENCE, second=10), tuple(outcomes), tuple(given), (), ())


def filled(tokens: list[str] | None = None, words: tuple[str, ...] = ()) -> FillMask:
    tokens = tokens or ["[CLS]", "the", "[MASK]", "sat", "on", "the", "[MASK]", ".", "[SEP]"]
    names = words or ("cat", "dog", "old", "man", "##s")
    shares = (0.412, 0.231, 0.09, 0.041, 0.002)
    candidates = tuple(Candidate(name, 50 + at, shares[at]) for at, name in enumerate(names))
    masks = [MaskPrediction(position, candidates) for position, token in enumerate(tokens) if token == "[MASK]"]
    return FillMask(encoding(tokens), tuple(masks))


def events(steps: int, *, total: int = 500, nsp: bool = True, seed: int = 0, forwards: int = 0) -> list[dict[str, Any]]:
    """The events of a run up to a step, without its end; the first `forwards` steps read forwards, but each eighth."""
    random = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = [
        {"event": "Preparing", "stage": "tokenizer", "done": 1, "total": 2, "message": "learning the vocabulary"},
        {
            "event": "RunStarted", "run": "r1", "total_steps": total, "parameters": 4_400_000, "vocab_size": 8192,
            "baselines": {"mlm_loss": 9.0109, "nsp_loss": 0.6931, "unigram_entropy": 6.12, "unigram_accuracy": 0.052,
                          "nsp_entropy": 0.6793, "nsp_majority": 0.583},
            "objective": "mlm+nsp" if nsp else "mlm", "precision": "fp32", "device": "cpu", "threads": 2,
        },
    ]  # fmt: skip
    for step in range(1, steps + 1):
        ease = 1 - np.exp(-4 * step / total)
        noise = random.normal(0, 1, 4)
        loss = 9.0 - 6.2 * ease
        rows.append({
            "event": "StepDone", "step": step, "seconds": 0.12 * step, "tokens": 4096 * step,
            "loss": loss + 0.7, "mlm_loss": loss + 0.25 * noise[0], "mlm_accuracy": 0.6 * ease + 0.02 * noise[1],
            "nsp_loss": 0.7 - 0.45 * ease + 0.09 * noise[2] if nsp else None,
            "nsp_accuracy": min(1.0, 0.5 + 0.42 * ease + 0.06 * noise[3]) if nsp else None,
            "learning_rate": 1e-3, "grad_norm": 1.0, "tokens_per_second": 34_000.0,
            "eta_seconds": 0.12 * (total - step),
        })  # fmt: skip
        if step <= forwards and step % 8 != 1:
            causal = {"causal_loss": loss + 1.0, "causal_accuracy": 0.4 * ease}
            rows[-1] = {k: v for k, v in rows[-1].items() if not k.startswith(("mlm_", "nsp_"))} | causal
        if step % max(1, total // 10) == 0:
            rows.append({
                "event": "EvalDone", "step": step, "seconds": 0.12 * step, "mlm_loss": loss + 0.1,
                "mlm_accuracy": 0.58 * ease, "nsp_loss": 0.72 - 0.43 * ease if nsp else None,
                "nsp_accuracy": 0.5 + 0.4 * ease if nsp else None,
            })  # fmt: skip
    return rows


def token_scores() -> str:
    """A row of each kind for `SENTENCE`."""
    values = np.linspace(-1.5, 1.2, len(SENTENCE))
    words = {"values": [None] * len(SENTENCE), "texts": [f"w{index}" for index in range(len(SENTENCE))]}
    rows = [
        {"label": "adds", "says": "what each token adds", "values": values, "plus": True},
        {"label": "weighs", "says": "its weight", "values": np.abs(values), "scale": "bar"},
        {"label": "guess", "says": "a word", "scale": "none", **words},
    ]
    captions = {"title": "Scores", "sentence": "Blue adds.", "note": "A note."}
    return figure("scores", encoding=encoding(SENTENCE, second=10), rows=rows, **captions)


def charts() -> dict[str, str]:
    """One chart of each kind."""
    table = np.array([[0.5, -0.25, np.nan], [0.1, 0.0, 1.0]])
    points = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
    words = {"file": "toy", "sentence": "A sentence.", "note": "A note."}
    return {
        "matrix": figure("matrix", values=table, rows=["one", "two"], columns=["x", "y", "z"], unit="nats",
                         picks=([0, 1], [0, 1, 2]), title="Matrix", **words),
        "words": figure("matrix", values=np.abs(table), rows=["one", "two"], columns=["x", "y", "z"], title="Words",
                        words=[["cat", HOSTILE[0], ""], ["un", "##believ", "##ably"]], **words),
        "bars": figure("bars", groups=["cat", "dog", HOSTILE[0]], title="Bars",
                       series=[("now", [0.5, 0.25, 0.1]), ("then", [0.1, None, 0.2])], **words),
        "columns": figure("columns", values=np.array([1.0, -2.0, 0.5]), names=["1", "2", "3"],
                          details=["up", "down", "half"], title="Columns", **words),
        "counts": figure("matrix", values=np.array([[9, 1], [1, 1]]), rows=["yes", "no"], columns=["yes", "no"],
                         title="Counts", picks=([0, 1], [0, 1]),
                         details=[["a", "b"], ["c", "d"]], shades=np.array([[0.9, -0.3], [-0.7, 0.7]]), peak=1.0,
                         **words),
        "histogram": figure("columns", values=np.array([4, 9, 1]), names=["1–8", "9–16", "17–24"],
                            details=["four", "nine", "one"], title="Histogram", marked=[False, False, True],
                            mark_names=["fits", "cut"], **words),
        "plane": figure("plane", points=points, names=["a", "b", "c"], title="Plane", groups=[0, 0, 1],
                        group_names=["A", "B"], paths=[[0, 1]], **words),
        "lines": figure("lines", places=["0", "1", "2"], title="Lines", place_name="layer",
                        series=[("s", [0.1, 0.5, 0.9]), ("t", [1.0, None, 0.2])], **words),
    }  # fmt: skip


def ending(step: int, reason: str = "finished") -> dict[str, Any]:
    return {"event": "RunFinished", "step": step, "seconds": 0.12 * step, "reason": reason, "path": "runs/r1/model",
            "message": ""}  # fmt: skip


def first_values() -> dict[str, str]:
    return {
        "attention": sentence_attention(), "loss": "",
        "tokens": figure("tokens", encoding=encoding(SENTENCE, second=10, padding=3)),
        "masking": figure("masking", **vars(masked())),
        "fill": figure("fill_mask", vocab_size=8192, **vars(filled())),
        "scores": token_scores(), "chart": charts()["matrix"],
        "preview": preview_payload(tuned.table(HOSTILE[0])),
        "examples": examples_payload(tuned.classified(60, HOSTILE[0]), title="Mistakes first", key="toy"),
        "marked": figure("marked", text=tuned.TEXT, spans=tuned.entities(), title="Entities"),
    }  # fmt: skip


@dataclass
class Desk:
    """What a test may change while the page is open."""

    values: dict[str, str] = field(default_factory=first_values)
    runs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    attentions: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    polls: list[tuple[str, int]] = field(default_factory=list)
    fired: list[tuple[str, Any]] = field(default_factory=list)
    poll_fails: bool = False

    def reset(self) -> None:
        """Back to what the page shows at first; a page that is open keeps what it has."""
        vars(self).update(vars(Desk()))

    def run(self, rows: list[dict[str, Any]], status: str) -> None:
        """Let the run r1 have these events and this status."""
        self.runs["r1"], self.states["r1"] = rows, {"status": status}

    def told(self, event: str) -> list[Any]:
        """The data of every event of a kind that the page has sent so far."""
        return [data for name, data in self.fired if name == event]

    def poll(self, run_id: str, since: int) -> dict[str, Any] | None:
        if self.poll_fails:
            raise RuntimeError("the server is away")
        self.polls.append((run_id, since))
        if run_id not in self.runs:
            return None
        rows = self.runs[run_id][since:]
        return {"rows": rows, "next": since + len(rows), "state": self.states.get(run_id, {})}


#: The drawings on the page: name, label, kind, and what they ask by themselves.
DRAWINGS: list[tuple[str, str, str, list[str]]] = [
    ("attention", "Attention of every head", "attention", ["layer_values", "query_key"]),
    ("loss", "Learning curves", "loss", ["poll"]),
    ("tokens", "Input of the model", "tokens", []),
    ("masking", "Masking", "tokens", []),
    ("fill", "Predictions for the masked tokens", "fill", []),
    ("scores", "Tokens and their numbers", "tokens", []),
    ("chart", "Chart", "chart", []),
    ("preview", "First rows of the data", "preview", []),
    ("examples", "Examples", "examples", []),
    ("marked", "Marked text", "marked", []),
]

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>components</title>%s
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width"><style>
body { margin: 16px; background: #fff; color: #1f2937; font-family: system-ui, sans-serif }
body.dark { --body-text-color: #f1f5f9; --background-fill-primary: #0b0f19; background: #0b0f19; color: #f1f5f9 }
</style></head><body><main></main><script type="module">
import { unpack } from 'lab/client/ask.js';
import { makeDrawing } from 'lab/client/panel.js';
import { figureOf } from 'lab/components/figures/index.js';
document.body.classList.add(new URLSearchParams(location.search).get('__theme'));
const post = (where, body) => fetch(where, { method: 'POST', body: JSON.stringify(body) });
const events = new Proxy({}, { get: (_, event) => (data) => post('fired', [event, data]) });
const asking = (what) => async (...sent) => {
  const answer = await post(`ask/${what}`, sent).catch(() => null);
  if (!answer?.ok) return undefined;
  const isPacked = answer.headers.get('Content-Type') === 'application/octet-stream';
  return isPacked ? unpack(await answer.arrayBuffer()) : figureOf(await answer.json());
};
window.drawings = {};
for (const [name, label, kind, asks, value] of %s) {
  const server = Object.fromEntries(asks.map((what) => [what, asking(what)]));
  window.drawings[name] = makeDrawing(kind, label, { id: name, events, server });
  document.querySelector('main').append(window.drawings[name].host);
  window.drawings[name].show(value);
}
</script></body></html>"""


def application(desk: Desk) -> Starlette:
    """The page: the components that its address names, under each other."""

    def layer_values(key: str, layer: int) -> bytes:
        return to_bytes({"codes": sqrt_codes(desk.attentions[key][layer])} if key in desk.attentions else {})

    def query_key(key: str, layer: int, head: int, row: int, column: int) -> Any:
        query = np.array([0.5, -0.25, 2.0, row + column / 100], np.float32)
        score = float(query.sum() / 2)
        pair = QueryKey(query, np.ones(4, np.float32), query / 2, 4, {}, score, weight=0.25, is_masked=False)
        return json.loads(figure("query_key", **vars(pair))) if key else None

    asked = {each.__name__: each for each in (layer_values, query_key, desk.poll)}

    async def page(request: Request) -> Response:
        parts = request.query_params["parts"].split(",")
        drawings = json.dumps([[*drawing, desk.values[drawing[0]]] for drawing in DRAWINGS if drawing[0] in parts])
        return HTMLResponse(PAGE % (assets.head(), drawings.replace("<", "\\u003c")))

    async def ask(request: Request) -> Response:
        try:
            answer = asked[request.path_params["name"]](*await request.json())
        except RuntimeError as error:
            return PlainTextResponse(str(error), status_code=500)
        is_packed = isinstance(answer, bytes)
        return Response(answer, media_type="application/octet-stream") if is_packed else JSONResponse(answer)

    async def fired(request: Request) -> Response:
        desk.fired.append(tuple(await request.json()))
        return PlainTextResponse("")

    posts = [Route(path, act, methods=["POST"]) for path, act in (("/ask/{name}", ask), ("/fired", fired))]
    return Starlette(routes=[Route("/", page), *posts, assets.route()])


@contextmanager
def serving(application: Starlette) -> Iterator[str]:
    """The address of an application while it runs."""
    config = uvicorn.Config(application, host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def running(make: Callable[[], gr.Blocks], *routes: Route) -> Iterator[str]:
    """The address of a page of Gradio while it runs."""

    def launch() -> gr.Blocks:
        blocks = make()
        middleware = [Middleware(assets.PageHead, language="en")]
        blocks.launch(
            server_name="127.0.0.1",
            prevent_thread_lock=True,
            quiet=True,
            run_history=False,
            enable_monitoring=False,
            app_kwargs={"routes": [assets.route(), *routes], "middleware": middleware},
        )
        return blocks

    blocks = in_event_loop(launch)
    try:
        yield blocks.local_url
    finally:
        blocks.close(verbose=False)
