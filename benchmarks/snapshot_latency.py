"""Cost of training dynamics: bytes of a snapshot, milliseconds to open one, per frame, and per drag of the slider.

A drag runs in headless Chromium from moving the slider to two frames later, when every view has been redrawn; its
frames have been fetched, as they have a few seconds after a text was given. Models have random weights: what is looked
at makes no difference to the time.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Page

from benchmarks.browser import TIMING, chromium, served
from benchmarks.machine import arguments, markdown, report, spread
from benchmarks.page_latency import text_of
from bertviz_lab import BertConfig, BertForPreTraining, Checkpoint, Tokenizer, interpret, save_checkpoint
from bertviz_lab.figures.training.dynamics import frame_payload
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter, list_snapshots
from bertviz_lab.training.runs.snapshot_reader import open_snapshots
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.app_state import AppState
from tests.little import little_text

#: Goals in milliseconds.
GOALS = {"open": 100.0, "frame": 150.0, "drag": 33.0}
_SIZES = {"tiny": 811, "mini": 8192}  # words of the vocabulary: those of Tiny Town, and of real text
_STEPS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
_TOKENS = 32


def make_histories(folder: Path) -> None:
    """A model of each size with random weights at every step."""
    lines = [*little_text().splitlines(), *[text_of(20)] * 100]
    tokenizer = Tokenizer.train(lines, vocab_size=500)
    for size, words in _SIZES.items():
        config = BertConfig.preset(size, vocab_size=words)
        model = BertForPreTraining(config, generator=torch.Generator().manual_seed(0)).eval()
        save_checkpoint(Checkpoint(model, tokenizer, config, name=size), folder / size)
        for step in _STEPS:
            other = BertForPreTraining(config, generator=torch.Generator().manual_seed(step)).eval()
            SnapshotWriter(folder / size / "snapshots", 10**9).save(other, step)


def on_the_server(folder: Path, size: str, rounds: int) -> dict[str, Any]:
    """Bytes and milliseconds of one snapshot, on one thread; the files have been read before."""
    path = folder / size
    past = open_snapshots(path)
    text = masked_text()
    opened, framed, sent = [], [], []
    torch.set_num_threads(1)
    for step in (*_STEPS, *(_STEPS * rounds)):
        began = time.perf_counter()
        checkpoint = past.open(step)
        middle = time.perf_counter()
        analysis = interpret.analyze_snapshot(checkpoint, text, tracked=range(5, 8), projected=range(5, 45))
        payload = frame_payload(analysis, step)
        framed.append(1000 * (time.perf_counter() - middle))
        opened.append(1000 * (middle - began))
        sent.append(len(payload))
    assert len(analysis.encoding) == _TOKENS
    warm = slice(len(_STEPS), None)
    return {
        "snapshot_bytes": statistics.median(file.stat().st_size for _, file in list_snapshots(path / "snapshots")),
        "frame_bytes": statistics.median(sent),
        "open": spread(opened[warm]),
        "frame": spread(framed[warm]),
    }


def masked_text() -> str:
    """A text of so many tokens, one of them a blank."""
    return text_of(_TOKENS).replace("red", "[MASK]", 1)


def in_the_browser(page: Page, address: str, size: str, rounds: int) -> dict[str, Any]:
    """From pressing Show to the first picture and to all frames, and what a drag takes with parts folded or open."""
    page.goto(f"{address}?space=runs&runs.open=dynamics&dynamics.run={size}")
    view = page.locator("#dynamics-scrubber")
    view.locator("[data-took]").wait_for(timeout=120_000)
    page.wait_for_timeout(3000)
    page.locator("#dynamics-a").fill(masked_text())
    before = view.locator(".sentence").inner_text()
    began = time.perf_counter()
    page.locator("#dynamics-show").click()
    page.wait_for_function(
        "before => document.querySelector('#dynamics-scrubber .sentence').innerText !== before", arg=before
    )
    shown = time.perf_counter() - began
    page.wait_for_function(
        "() => !document.querySelector('#dynamics-scrubber .state').textContent.includes('are loading')"
    )
    fetched = time.perf_counter() - began
    page.wait_for_timeout(1000)
    found = {
        "first_ms": 1000 * shown,
        "all_ms": 1000 * fetched,
        "drag": spread(page.evaluate(TIMING, ["drag", rounds])),
    }
    for summary in view.locator("details.fold > summary").all():
        summary.click()
    page.wait_for_timeout(1000)
    return found | {"drag, all parts open": spread(page.evaluate(TIMING, ["drag", rounds]))}


def table(result: dict[str, Any]) -> str:
    """Sizes, then times beside their goals."""
    sizes = [
        [size, f"{at['snapshot_bytes'] / 1e6:.1f}", f"{at['frame_bytes'] / 1e3:.0f}", f"{at['first_ms']:.0f}",
         f"{at['all_ms']:.0f}"]
        for size, at in result["sizes"].items()
    ]  # fmt: skip
    names = {"open": "open a snapshot", "frame": f"a frame of {_TOKENS} tokens", "drag": "a drag"}
    rows = [
        [f"{names.get(key, key)}, {size}", *(f"{at[key][part]:.1f}" for part in ("min", "median", "max")),
         f"{GOALS[key]:.0f}" if key in GOALS else ""]
        for size, at in result["sizes"].items()
        for key in ("open", "frame", "drag", "drag, all parts open")
    ]  # fmt: skip
    header = ["model", "snapshot, MB", "frame, KB", "shown after, ms", f"all {len(_STEPS)} steps after, ms"]
    return f"{markdown(header, sizes)}\n\n{markdown(['milliseconds', 'min', 'median', 'max', 'goal'], rows)}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often every step is gone through")
    parser.add_argument("--quick", action="store_true", help="once: to see that it runs")
    given = parser.parse_args()
    rounds = 1 if given.quick else given.rounds
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_histories(folder)
        found = {size: on_the_server(folder, size, rounds) for size in _SIZES}
        session = AppState(Settings(runs_dir=folder / "runs", checkpoints=folder))
        with served(session) as address, chromium() as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            for size in _SIZES:
                found[size] |= in_the_browser(page, address, size, rounds)
    report("snapshot_latency", {"sizes": found}, table)


if __name__ == "__main__":
    main()
