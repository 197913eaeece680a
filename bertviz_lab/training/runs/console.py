"""Events and final scores of a run as text for the command line."""

import json
from pathlib import Path
from typing import Any

from bertviz_lab.training.runs import events as e


def format_event(event: e.Event) -> str:
    """Return one line of text for an event; "" for events that are not shown."""
    line = ""
    if isinstance(event, e.Preparing):
        share = f" {event.done / event.total:.0%}" if event.total else ""
        line = f"{event.message}{share}"
    elif isinstance(event, e.RunStarted):
        baselines = ", ".join(f"{name} {value:.2f}" for name, value in event.baselines.items())
        line = f"{event.parameters:,} parameters, {event.precision} on {event.device}; baselines {baselines}"
        line = "\n".join([line, *event.notes])
    elif isinstance(event, e.StepDone):
        scores = " ".join(f"{name} {value:.3f}" for name, value in event.metrics.items())
        scores = scores if "mlm_loss" in event.metrics else f"loss {event.loss:.3f} {scores}"
        line = f"step {event.step:6} {scores} {event.tokens_per_second:,.0f} tokens/s, {event.eta_seconds:.0f} s left"
    elif isinstance(event, e.EvalDone):
        line = "validation " + " ".join(f"{name} {value:.3f}" for name, value in event.metrics.items())
    elif isinstance(event, e.ProbesDone):
        shares = event.right.values()
        passed = sum(share >= 0.8 for share in shares)
        mean = sum(shares) / max(1, len(shares))
        line = f"minimal-pair probes: accuracy {mean:.1%}, {passed} of {len(shares)} phenomena at 80% or more"
    elif isinstance(event, e.TrialStarted):
        line = f"trial {event.trial + 1} of {event.trials}: {event.name}" if event.trials > 1 else ""
    elif isinstance(event, e.TrialDone):
        line = "best validation " + " ".join(f"{name} {value:.3f}" for name, value in event.metrics.items())
    elif isinstance(event, e.FinalTestDone):
        line = "test " + " ".join(f"{name} {value:.3f}" for name, value in event.metrics.items())
    elif isinstance(event, e.RunFinished):
        line = f"{event.reason} after {event.step:,} {'step' if event.step == 1 else 'steps'}"
        line = f"{line}. {event.message}" if event.message else line
    return line


def final_scores(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the results of a run: the scores of a fine-tuning's best model, or the last ones of a pretraining."""
    if (folder / "examples").is_dir():
        report = folder / "report.json"
        body: dict[str, Any] = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else {}
        return {
            "task": body.get("task"),
            **body.get("scores", {}),
            "split": body.get("split", "validation"),
            "test": body.get("test"),
            "guess": body.get("guess"),
            "families": body.get("families"),
        }
    scores: dict[str, Any] = next((row for row in reversed(rows) if row["event"] == "EvalDone"), {})
    return {name: value for name, value in scores.items() if "_" in name}
