"""What the page's default run reaches on Tiny Town in one and in two minutes, on held-out stories."""

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import markdown, report
from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.training.pretraining.pretrain import pretrain
from bertviz_lab.training.runs.events import EvalDone, RunStarted, StepDone

BUDGETS = ("1m", "2m")

#: The rows of the table: what a result calls each, and its name for people.
ROWS = {
    "seconds_to_start": "seconds to the first event",
    "seconds_to_first_step": "seconds to the first step",
    "steps": "steps",
    "tokens": "tokens",
    "mlm_loss": "MLM loss",
    "mlm_accuracy": "MLM accuracy",
    "nsp_loss": "NSP loss",
    "nsp_accuracy": "NSP accuracy",
    "seconds_in_all": "seconds in all",
}


def measure(budget: str) -> dict[str, float]:
    """One run from the text to the last score; seconds count from the start of reading."""
    began = time.perf_counter()
    found: dict[str, float] = {}
    options = {**SAMPLES["tiny-town"].settings, "time_budget": budget}
    config = PretrainConfig(corpus=("sample:tiny-town",), **options)
    with tempfile.TemporaryDirectory() as folder:
        for event in pretrain(config, Path(folder) / "run"):
            now = time.perf_counter() - began
            if isinstance(event, RunStarted):
                found["seconds_to_start"] = round(now, 2)
            elif isinstance(event, StepDone):
                found.setdefault("seconds_to_first_step", round(now, 2))
                found["steps"], found["tokens"] = event.step, event.tokens
            elif isinstance(event, EvalDone):
                found |= {name: round(value, 4) for name, value in event.metrics.items()}
        found["seconds_in_all"] = round(time.perf_counter() - began, 1)
    return found


def table(result: dict[str, Any]) -> str:
    rows = ([name, *(_written(key, result[budget][key]) for budget in BUDGETS)] for key, name in ROWS.items())
    return markdown(["time budget", *BUDGETS], rows)


def _written(key: str, value: float) -> str:
    return f"{value:.1%}" if key.endswith("accuracy") else f"{value:,}"


if __name__ == "__main__":
    report("tiny_town", {budget: measure(budget) for budget in BUDGETS}, table)
