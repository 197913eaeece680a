"""Longest frame while the curves of a run are followed: three charts, 2 to 4 lines of 400 points, new rows at 2 Hz.

The curves are those of the page, in headless Chromium, on a page that holds nothing else. A frame is the time between
two callbacks of `requestAnimationFrame`, a task what keeps the page from answering.
"""

from typing import Any

from benchmarks.browser import chromium
from benchmarks.machine import arguments, markdown, report
from bertviz_lab.figures.training.curves import live_payload
from tests.ui.components.harness import Desk, events, serve

GOAL = 100  # milliseconds

_WATCH = """() => {
  window.frames_taken = [];
  let last = performance.now();
  const step = (now) => {
    window.frames_taken.push(now - last);
    last = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
  }).observe({ entryTypes: ['longtask'] });
}"""
_POINTS = """() => [...document.querySelectorAll('#loss .curves')].filter((host) => host.data)
  .map((host) => host.data.filter(({ mode }) => mode === 'lines').map(({ x }) => x.length))"""


def longest_frame(seconds: int) -> dict[str, Any]:
    """Milliseconds of the longest frame and task (0 below 50), and how many points each line of each chart had."""
    rows = events(400 + 2 * seconds, total=800, forwards=0)
    desk = Desk()
    with serve(desk) as address, chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        desk.runs["r1"], desk.states["r1"] = [row for row in rows if row.get("step", 0) <= 400], {"status": "training"}
        desk.values["loss"] = live_payload("r1", objective="mlm+nsp")
        page.goto(f"{address}?parts=loss")
        page.locator("#loss [data-panel=accuracy] .plot-container").wait_for()
        # The page asks once a second; here it asks twice.
        page.evaluate(
            "() => { const wait = setTimeout; window.setTimeout = (act, ms) => wait(act, Math.min(ms, 500)); }"
        )
        page.wait_for_timeout(1500)
        page.evaluate(_WATCH)
        for turn in range(2 * seconds):
            desk.runs["r1"] = [row for row in rows if row.get("step", 0) <= 400 + turn]
            page.wait_for_timeout(500)
        frames = page.evaluate("window.frames_taken")
        task = page.evaluate("window.longest")
        return {
            "longest_frame_ms": max(frames),
            "longest_task_ms": task,
            "frames": len(frames),
            "points": page.evaluate(_POINTS),
        }


def table(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    return markdown(
        ["", "measured", "goal"],
        [
            ["longest frame", f"{result['longest_frame_ms']:.0f} ms", f"{GOAL} ms"],
            ["longest task", f"{result['longest_task_ms']:.0f} ms", f"{GOAL} ms"],
        ],
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=int, default=20, help="how long rows come")
    given = parser.parse_args()
    report("live_curves", longest_frame(given.seconds), table)


if __name__ == "__main__":
    main()
