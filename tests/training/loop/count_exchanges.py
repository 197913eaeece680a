"""Train a line in every process of a `torchrun` and write down the events and how often processes exchanged what."""

import json
import os
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import torch
import torch.distributed
from torch import nn

from bertviz_lab.training.loop.hardware import Hardware, start_accelerator
from bertviz_lab.training.loop.loop import LoopConfig, Progress, StepOutput, train
from bertviz_lab.training.runs.events import StepDone
from tests.training.loop.test_loop import FitALine, Numbers, line, numbers

STEPS = 400


class Shares(FitALine):
    """Each process's loss is its share of the mean over the whole batch of eight."""

    def training_step(self, model: nn.Module, batch: Numbers, measure: bool) -> StepOutput:
        loss = ((model(batch.x) - batch.y) ** 2).sum() / 8
        return StepOutput(loss, {"error": loss})

    def evaluate(self, model: nn.Module, final: bool = False) -> dict[str, float]:
        return {}

    def save(self, progress: Progress, scores: Mapping[str, float]) -> str:
        return ""


calls: Counter[str] = Counter()


def counting(name: str) -> None:
    original = getattr(torch.distributed, name)

    def counted(*arguments, **options):
        calls[name] += 1
        return original(*arguments, **options)

    setattr(torch.distributed, name, counted)


def main(folder: Path) -> None:
    hardware = Hardware(torch.device("cpu"), "fp32", 1, start_accelerator())
    bare = line()
    model = hardware.prepare(bare)
    for name in ("broadcast", "broadcast_object_list", "all_gather_object"):
        counting(name)
    config = LoopConfig(learning_rate=0.1, warmup=0.2, steps=STEPS, seconds=None, eval_every=1e9, checkpoint_every=1e9)
    optimizers = [torch.optim.SGD(bare.parameters(), lr=0.1)]
    events = list(train(model, Shares(), numbers(), optimizers, config, hardware))
    losses = [event.loss for event in events if isinstance(event, StepDone)]
    objects = calls["broadcast_object_list"] + calls["all_gather_object"]
    body = {"steps": STEPS, "objects": objects, "broadcasts": calls["broadcast"], "first_losses": losses[:3]}
    text = json.dumps(body | {"events": [repr(event) for event in events]})
    (folder / f"{hardware.rank}.json").write_text(text)
    hardware.accelerator.state.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    os._exit(0)  # as the command line ends under a launcher
