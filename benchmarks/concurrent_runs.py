"""Speed of a training run alone, and of two on the same cores, by how long OpenMP threads spin before they sleep.

libgomp's threads wait in a busy loop of GOMP_SPINCOUNT turns before they sleep. What they wait for may be a thread that
the other training keeps from its core: the longer the loop, the faster alone and the slower beside others.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import arguments, markdown, report, spread

# What the lab sets, ten times more and less, and what libgomp does where nobody says anything.
_LOOPS = ("100", "1000", "10000", "300000")


def steps_done(folder: Path) -> int:
    """The last step that the log of a run names; 0 where it did not come to one."""
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return max((int(row["step"]) for row in map(json.loads, lines) if row["event"] == "StepDone"), default=0)


def train(count: int, preset: str, seconds: int, loop: str) -> list[int]:
    """Steps of each of so many trainings of Tiny Town that begin together."""
    with tempfile.TemporaryDirectory() as where:
        folders = [Path(where) / str(number) for number in range(count)]
        command = [sys.executable, "-m", "bertviz_lab", "pretrain", "--corpus", "sample:tiny-town", "--no-probes"]
        command += ["--preset", preset, "--time-budget", f"{seconds}s", "--out"]
        environment = os.environ | {"GOMP_SPINCOUNT": loop}
        running = [
            subprocess.Popen([*command, str(folder)], env=environment, stdout=subprocess.DEVNULL) for folder in folders
        ]
        for process in running:
            if process.wait():
                raise RuntimeError(f"a training ended with code {process.returncode}")
        return [steps_done(folder) for folder in folders]


def measure(turns: int, preset: str, seconds: int) -> list[dict[str, Any]]:
    """A row for each length of the loop."""
    alone: dict[str, list[int]] = {loop: [] for loop in _LOOPS}
    each: dict[str, list[int]] = {loop: [] for loop in _LOOPS}
    for _ in range(turns):
        for loop in _LOOPS:
            alone[loop] += train(1, preset, seconds, loop)
            each[loop] += train(2, preset, seconds, loop)
    return [{"loop": loop, "alone": spread(alone[loop]), "each_of_two": spread(each[loop])} for loop in alone]


def table(results: dict[str, Any]) -> str:
    """Steps, smallest / median / largest."""
    rows = [[f"{int(row['loop']):,}", told(row["alone"]), told(row["each_of_two"])] for row in results["rows"]]
    return (
        f"Optimiser steps of {results['preset']} on Tiny Town in {results['seconds']} s; the lab sets 1,000, libgomp's "
        f"own is 300,000.\n\n{markdown(['GOMP_SPINCOUNT', 'alone', 'each of two'], rows)}"
    )


def told(steps: dict[str, float]) -> str:
    return f"{steps['min']:.0f} / **{steps['median']:.0f}** / {steps['max']:.0f}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--seconds", type=int, default=12)
    options = parser.parse_args()
    rows = measure(options.turns, options.preset, options.seconds)
    report("concurrent_runs", {"preset": options.preset, "seconds": options.seconds, "rows": rows}, table)


if __name__ == "__main__":
    main()
