"""Latency of the page's views in headless Chromium, and BertViz on the same tensors.

Times run from pressing Enter (or from opening a page) to painted: the last canvas or bar is there and two frames have
passed.
Models have random weights: what is looked at makes no difference to the time.

BertViz (`pip install bertviz==1.4.1 ipython`) fetches its scripts from the net; $BERTVIZ_SCRIPTS names a folder that
has them (require.min.js, d3.min.js, jquery.min.js). Without either its rows are left out.
"""

import importlib.util
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import torch
from playwright.sync_api import Browser, BrowserContext, Page, Route, ViewportSize

from benchmarks.browser import TIMING, chromium, served
from benchmarks.machine import RESULTS, arguments, beside_goals, markdown, report, spread
from bertviz_lab import (
    BertConfig,
    BertForPreTraining,
    Checkpoint,
    Tokenizer,
    interpret,
    load_checkpoint,
    save_checkpoint,
    show,
)
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.little import little_text

#: Goals in milliseconds, where there are some.
GOALS = {
    "attention grid, mini, 64 tokens": 70,
    "attention grid, base, 64 tokens": 200,
    "attention grid, base, 128 tokens": 800,
    "attention grid, base, 256 tokens": 2000,
    "attention grid, base, 512 tokens": 6000,
    "another head": 16,
    "another layer": 16,
    "another token": 16,
    "another filter": 16,
    "fill-mask, mini": 30,
    "fill-mask, base": 250,
    "effect of every head, base, 64 tokens": 6000,
}
_WINDOW: ViewportSize = {"width": 1280, "height": 900}
_BERTVIZ_TOKENS = {16: 5, 64: 5, 128: 2}  # and how often each is opened: the largest takes BertViz minutes
_FOLD = "#attribution-heads > summary"


def make_models(folder: Path) -> None:
    """Random models of two sizes whose words are those of the little text."""
    lines = [*little_text().splitlines(), *[text_of(20), text_of(20, "old")] * 100]
    tokenizer = Tokenizer.train(lines, vocab_size=1000)
    for preset in ("mini", "base"):
        config = BertConfig.preset(preset, vocab_size=30_522)
        model = BertForPreTraining(config, generator=torch.Generator().manual_seed(0)).eval()
        save_checkpoint(Checkpoint(model, tokenizer, config, name=preset), folder / preset)


def text_of(tokens: int, word: str = "red") -> str:
    """Return a text of so many tokens, [CLS] and [SEP] included."""
    words = ("the", word, "cat", "sat", "on", "the", "mat")
    return " ".join(words[place % len(words)] for place in range(tokens - 2))


def session_of(folder: Path) -> AppState:
    """A session whose models are open: opening them is not what is measured."""
    settings = Settings(runs_dir=folder / "runs", checkpoints=folder)
    session = AppState(settings)
    for name in session.models.shipped():
        session.models.open(name)
    return session


def choose(page: Page, address: str, model: str, view: str, text: str) -> None:
    """Open the page at a view, with a model and a text."""
    page.goto(f"{address}?{urlencode({'model': model, 'text_a': text, 'explore.open': view})}")
    page.locator("#model-facts").get_by_text("BertForPreTraining").first.wait_for(state="attached", timeout=120_000)
    page.locator(f"#panel-{view}").scroll_into_view_if_needed()
    page.wait_for_timeout(3000)  # what is shown at first is fetched
    page.evaluate(TIMING, ["pauses", None])


def grids(page: Page, address: str, rounds: int) -> dict[str, list[float]]:
    """From pressing Enter to the last head painted; and the longest time that the page did not answer."""
    found: dict[str, list[float]] = {}
    for model, tokens in (("mini", 64), ("base", 64), ("base", 128), ("base", 256), ("base", 512)):
        choose(page, address, model, "attention", text_of(tokens, "cat"))
        name = f"attention grid, {model}, {tokens} tokens"
        times = []
        for turn in range(rounds + 2):
            page.wait_for_timeout(200)
            text = text_of(tokens, ("red", "old")[turn % 2])
            times.append(page.evaluate(TIMING, ["grid", {"text": text, "tokens": tokens}]))
        found[name] = times[2:]
        found[f"longest pause, {model}, {tokens} tokens"] = [page.evaluate("() => window.longest")]
        if (model, tokens) == ("base", 64):
            found |= switches(page, rounds)
    return found


def switches(page: Page, rounds: int) -> dict[str, list[float]]:
    """How long the page is busy with what needs no round trip."""
    page.locator("#attention-grid .knobs summary").click()
    heads = "#attention-grid .grid canvas[data-layer='{}'][data-head='{}']"
    ways: dict[str, Callable[[int], str]] = {
        "another head": lambda turn: heads.format(5, turn % 12),
        "another layer": lambda turn: heads.format(turn % 12, 5),
        "another filter": lambda turn: f"#attention-grid .knobs input[value={('hidden', 'shown')[turn % 2]}]",
        "another token": lambda turn: f"#attention-grid .from .item:nth-child({turn % 60 + 1})",
    }
    found: dict[str, list[float]] = {}
    for name, selector in ways.items():
        if name == "another token":
            page.get_by_role("radio", name="Single tokens").first.check(force=True)
        times = []
        for turn in range(rounds + 2):
            times.append(page.evaluate(TIMING, ["click", selector(turn)]))
            page.wait_for_timeout(250)
        found[name] = times[2:]
    return found


def answers(page: Page, address: str, rounds: int) -> dict[str, list[float]]:
    """From pressing Enter to the bars of the predictions."""
    found = {}
    for model in ("mini", "base"):
        choose(page, address, model, "predictions", "the cat [MASK] sat on the mat")
        times = []
        for turn in range(rounds + 2):
            page.wait_for_timeout(200)
            text = f"the {('red', 'old')[turn % 2]} [MASK] sat on the mat"
            times.append(page.evaluate(TIMING, ["change", {"text": text, "watch": "#fill-bars .blanks"}]))
        found[f"fill-mask, {model}"] = times[2:]
    return found


def effects(page: Page, address: str, rounds: int) -> dict[str, list[float]]:
    """From opening the map of all heads to its picture.

    Each turn has another text: the page remembers what it has computed.
    """
    words = ("red", "old", "cat", "sat", "on", "mat")[: 1 + min(rounds, 5)]
    choose(page, address, "base", "attribution", f"{text_of(63, 'the')} [MASK]")
    times = []
    for word in words:
        page.locator("#text-a").fill(f"{text_of(63, word)} [MASK]")
        page.locator("#text-a").press("Enter")
        page.wait_for_timeout(1000)
        page.wait_for_function("() => !document.querySelector('#wire .lab').textContent", timeout=60_000)
        times.append(page.evaluate(TIMING, ["map", _FOLD]))
        page.evaluate("(fold) => document.querySelector(fold).click()", _FOLD)  # folded for the next turn
    return {"effect of every head, base, 64 tokens": times[1:]}


def rubbish(page: Page, address: str, rounds: int) -> dict[str, list[float]]:
    """What two hundred updates leave behind, as a share of what was there: 1 is nothing."""
    choose(page, address, "mini", "attention", text_of(64, "cat"))
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def update(times: int) -> dict[str, float]:
        for turn in range(times):
            text = text_of(64, ("red", "old")[turn % 2])
            page.evaluate(TIMING, ["grid", {"text": text, "tokens": 64}])
        session.send("HeapProfiler.collectGarbage")
        return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}

    updates = 10 * rounds
    before, after = update(20), update(updates)
    return {
        f"{name} after {updates} updates, times that before": [after[key] / before[key]]
        for name, key in (("heap", "JSHeapUsedSize"), ("nodes", "Nodes"))
    }


def beside_bertviz(context: BrowserContext, folder: Path, rounds: int) -> list[dict[str, Any]]:
    """The same attention as pages of BertViz and of the lab: megabytes, and milliseconds until painted."""
    scripts = os.environ.get("BERTVIZ_SCRIPTS", "")
    if not (importlib.util.find_spec("bertviz") and Path(scripts).is_dir() and scripts):
        return []
    import bertviz

    def script(route: Route) -> None:
        route.fulfill(path=Path(scripts) / route.request.url.rsplit("/", 1)[1])

    context.route("**/cdnjs.cloudflare.com/**", script)
    checkpoint = load_checkpoint(folder / "base")
    found = []
    for tokens, most in _BERTVIZ_TOKENS.items():
        trace = interpret.trace_text(checkpoint, text_of(tokens))
        attention = [torch.from_numpy(layer)[None] for layer in trace.attentions]
        pages = {
            "lab": show.attention(trace).page,
            "bertviz model_view": bertviz.model_view(attention, list(trace.tokens), html_action="return").data,
            "bertviz head_view": bertviz.head_view(attention, list(trace.tokens), html_action="return").data,
        }
        times: dict[str, list[float]] = {name: [] for name in pages}
        for _ in range(min(rounds, most)):
            for name, body in pages.items():
                page = context.new_page()  # each its own, so that none inherits another's rubbish
                times[name].append(_opened(page, folder, body, tokens if name == "lab" else None))
                page.close()
        for name, body in pages.items():
            found.append(
                {"view": name, "tokens": tokens, "megabytes": len(body.encode()) / 1e6, "painted": spread(times[name])}
            )
    return found


def _opened(page: Page, folder: Path, body: str, tokens: int | None) -> float:
    """Milliseconds from opening a page to its last drawing: the last canvas, or where there is none the last change."""
    path = folder / "view.html"
    watch = """<script>
      window.last = 0;
      new MutationObserver(() => { window.last = performance.now(); })
        .observe(document, {childList: true, subtree: true, attributes: true});
    </script>"""
    path.write_text(watch + body, encoding="utf-8")
    page.goto(path.as_uri())
    if tokens is not None:
        page.wait_for_function(
            """tokens => { const all = [...document.querySelectorAll('.grid canvas')];
              return all.length === 144 && all.every((canvas) => canvas.width === tokens); }""",
            arg=tokens,
        )
        return page.evaluate("() => performance.now()")
    page.wait_for_function("() => window.last > 0 && performance.now() - window.last > 1500", timeout=600_000)
    return page.evaluate("() => window.last")


def table(result: dict[str, Any]) -> str:
    """Times beside their goals, and the two libraries' pages."""
    parts = [beside_goals("milliseconds", result["times"], GOALS)]
    if result["bertviz"]:
        pages = [
            [
                f"{at['view']}, {at['tokens']} tokens",
                f"{at['megabytes']:.2f}",
                *(f"{at['painted'][key]:,.0f}" for key in ("min", "median", "max")),
            ]
            for at in result["bertviz"]
        ]
        parts.append("The same attention of a base-size model as a page of its own:")
        parts.append(markdown(["page", "MB", "painted, ms: min", "median", "max"], pages))
    return "\n\n".join(parts)


PARTS: dict[str, Callable[[Page, str, int], dict[str, list[float]]]] = {
    "grids": grids,
    "answers": answers,
    "effects": effects,
    "rubbish": rubbish,
}


def measure(
    browser: Browser, address: str, folder: Path, only: str | None, rounds: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Times of every part, and of the other library's pages; of one part alone, the others being as they were kept."""
    page = browser.new_page(viewport=_WINDOW)
    times: dict[str, Any] = {}
    other: list[dict[str, Any]] = []
    if only:
        kept = json.loads((RESULTS / "page_latency.json").read_text(encoding="utf-8"))
        times, other = kept["times"], kept["bertviz"]
    for name in [only] if only else PARTS:
        times |= {key: spread(value) for key, value in PARTS[name](page, address, rounds).items()}
    page.close()
    if not only:
        other = beside_bertviz(browser.new_context(viewport=_WINDOW), folder, rounds)
    return times, other


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="how often each is pressed")
    parser.add_argument("--only", choices=PARTS, help="measure one part, and leave the others as they were kept")
    parser.add_argument("--quick", action="store_true", help="twice each: to see that it runs")
    given = parser.parse_args()
    rounds = 2 if given.quick else given.rounds
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_models(folder)
        with served(session_of(folder)) as address, chromium() as browser:
            times, other = measure(browser, address, folder, given.only, rounds)
    command = "python -m benchmarks.page_latency"  # the whole of it, whichever part was measured again
    report("page_latency", {"command": command, "times": times, "bertviz": other}, table)


if __name__ == "__main__":
    main()
