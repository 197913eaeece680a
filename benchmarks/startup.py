"""Seconds from starting the page to its first paint, and from pressing Train to the first point of the curve.

Train is pressed when a person has read the form: five seconds after it is complete.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.browser import chromium
from benchmarks.machine import markdown, report, spread

TRIES = 3
_READING_SECONDS = 5.0


def measure() -> dict[str, float]:
    """One start of `python app.py`, one visit, one training of the sample that is chosen by default."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as runs, chromium() as browser:
        page = browser.new_page()
        began = time.perf_counter()
        command = [sys.executable, "app.py", "--runs-dir", runs]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            found["start_to_serving"] = time.perf_counter() - began
            page.goto(address)
            page.locator("#spaces").wait_for()
            found["start_to_first_paint"] = time.perf_counter() - began
            page.get_by_text("Predictions").first.wait_for(timeout=60_000)
            found["start_to_first_prediction"] = time.perf_counter() - began
            opened = time.perf_counter()
            page.get_by_role("tab", name="Train", exact=True).click()
            page.locator("#text-health").get_by_text("Sentences").first.wait_for(timeout=60_000)
            found["train_tab_to_report_on_the_text"] = time.perf_counter() - opened
            page.locator("#forecast .fact").first.wait_for(timeout=60_000)
            found["train_tab_to_forecast"] = time.perf_counter() - opened
            page.wait_for_timeout(1000 * _READING_SECONDS)
            pressed = time.perf_counter()
            page.get_by_role("button", name="Train", exact=True).click()
            stage = page.locator("#pretrain-chart .stage", has_text=re.compile(r"Training: .*step \d"))
            stage.wait_for(timeout=120_000)
            found["train_to_first_loss_point"] = time.perf_counter() - pressed
        finally:
            server.terminate()
            server.wait()
    return {name: round(seconds, 2) for name, seconds in found.items()}


def table(result: dict[str, Any]) -> str:
    rows = [(name.replace("_", " "), *at.values()) for name, at in result.items() if "median" in at]
    return markdown(["seconds", "min", "median", "max"], rows)


if __name__ == "__main__":
    tries = [measure() for _ in range(TRIES)]
    report("startup", {name: spread([one[name] for one in tries]) for name in tries[0]}, table)
