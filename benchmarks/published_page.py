"""A published wiki-mini in headless Chromium: first and second visit, presses to painted, memory and sizes.

The folder is served by Python's own web server on this machine; the single file is opened from the disk. First visits
have an empty cache.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks.browser import TIMING, chromium
from benchmarks.machine import arguments, beside_goals, report, spread
from bertviz_lab.browser.site import publish
from tests.published import served

_MODEL = "wiki-mini"
#: Goals in milliseconds, megabytes of files, and mebibytes of memory.
GOALS = {
    "first visit to the first painted prediction": 2000,
    "second visit to the first painted prediction": 1000,
    "single file to the first painted prediction": 3500,
    "fill-mask, press to painted": 30,
    "attention with 64 tokens, press to painted": 60,
    "longest pause of the page while the engine computes": 100,
    "single file, MB": 20,
    "memory of the tab, MiB": 400,
}
#: Each a token of this model: every press asks about another text, since the engine keeps what it has computed.
_WORDS = (
    "old young good new great little first last small large best white black long high second third north south west "
    "east king red blue green common local main"
).split()
_FIRST = "() => document.querySelectorAll('#fill-bars .bar-row').length > 0"


def visit(page: Page, address: str) -> float:
    """Milliseconds from opening a page to its first painted prediction."""
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_function(_FIRST, timeout=120_000)
    return 1000 * (time.perf_counter() - start)


def visits(browser: Browser, address: str, rounds: int) -> tuple[list[float], list[float]]:
    """First and second visits, each pair with a cache of its own."""
    firsts, seconds = [], []
    for _ in range(rounds):
        context = browser.new_context()
        for times in (firsts, seconds):
            page = context.new_page()
            times.append(visit(page, address))
            page.close()
        context.close()
    return firsts, seconds


def text_of(tokens: int, word: str) -> str:
    """Return a text of so many tokens of this model, [CLS] and [SEP] included."""
    words = ("the", word, "man", "was", "in", "the", "city")
    return " ".join(words[place % len(words)] for place in range(tokens - 2))


def pressed(page: Page, rounds: int) -> dict[str, list[float]]:
    """From pressing Enter to bars and to the last head painted, and the longest pause of the page."""
    turns = [_WORDS[turn % len(_WORDS)] for turn in range(rounds + 2)]

    def times(measure: str, given: Callable[[str], dict[str, Any]]) -> list[float]:
        taken = []
        for word in turns:
            page.wait_for_timeout(250)
            taken.append(page.evaluate(TIMING, [measure, given(word)]))
        return taken[2:]

    page.wait_for_timeout(2000)  # what is shown at first is drawn
    page.evaluate(TIMING, ["pauses", None])
    bars = times("change", lambda word: {"text": f"the {word} [MASK] was in the city", "watch": "#fill-bars .blanks"})
    grid = times("grid", lambda word: {"text": text_of(64, word), "tokens": 64})
    return {
        "fill-mask, press to painted": bars,
        "attention with 64 tokens, press to painted": grid,
        "longest pause of the page while the engine computes": [page.evaluate("() => window.longest")],
    }


def memory() -> float:
    """Return the resident memory of the largest renderer of this process's browser, in MiB."""
    children = psutil.Process().children(recursive=True)
    renderers = [child for child in children if "--type=renderer" in child.cmdline()]
    return max(child.memory_info().rss for child in renderers) / 2**20


def measure(browser: Browser, folder: Path, rounds: int) -> dict[str, Any]:
    """Return every figure by its name."""
    site, file = folder / "page", folder / "page.html"
    published = [publish([_MODEL], site), publish([_MODEL], file, single_file=True)]
    figures: dict[str, Any] = {}
    with served(site) as address:
        firsts, seconds = visits(browser, address, rounds)
        figures["first visit to the first painted prediction"] = spread(firsts)
        figures["second visit to the first painted prediction"] = spread(seconds)
        figures["single file to the first painted prediction"] = spread(visits(browser, file.as_uri(), rounds)[0])
        context: BrowserContext = browser.new_context()
        page = context.new_page()
        visit(page, address)
        figures |= {name: spread(times) for name, times in pressed(page, 4 * rounds).items()}
        figures["memory of the tab, MiB"] = spread([memory()])
        context.close()
    figures["folder, MB"], figures["single file, MB"] = (spread([one.bytes / 1e6]) for one in published)
    return figures


def table(result: dict[str, Any]) -> str:
    """Figures beside their goals."""
    return beside_goals("milliseconds unless named", result["figures"], GOALS)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="visits of each kind")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        report("published_page", {"figures": measure(browser, Path(place), given.rounds)}, table)


if __name__ == "__main__":
    main()
