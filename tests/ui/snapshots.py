"""Histories for tests: little models, each snapshot of which has other random weights, and a log."""

import json
from dataclasses import replace
from pathlib import Path

import torch

from bertviz_lab import Checkpoint, save_checkpoint
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from tests.little import little_checkpoint

STEPS = (0, 1, 2, 5, 10, 20)


def little_history(folder: Path, steps: tuple[int, ...] = STEPS, **options: object) -> dict[int, Checkpoint]:
    """A model folder with snapshots of these steps and a log; what each of them is."""
    first = little_checkpoint(**options)  # type: ignore[arg-type]
    made = {
        step: replace(first, model=type(first.model)(first.config, generator=torch.Generator().manual_seed(100 + step)))
        for step in steps
    }
    save_checkpoint(made[steps[-1]], folder)
    for step, checkpoint in made.items():
        SnapshotWriter(folder / "snapshots", 10**9).save(checkpoint.model, step)
    rows: list[dict[str, object]] = [
        {"event": "RunStarted", "step": 0, "objective": "mlm+nsp", "baselines": {"unigram_entropy": 4.0}}
    ]
    rows += [
        {"event": "StepDone", "step": step, "mlm_loss": 6 - step / 10, "seconds": step, "tokens": 100 * step}
        for step in range(1, steps[-1] + 1)
    ]
    rows.append({"event": "EvalDone", "step": steps[-1], "mlm_loss": 4.5})
    (folder / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return made
