"""Metrics between two reports, kept as tensors so that no step waits for the device; and the check for divergence."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.training.loop.hardware import Hardware


@dataclass
class MetricWindow:
    """The steps since the last report. A value is this process's share of the step's mean; the shares add up."""

    started: float = 0.0  # seconds of training
    tokens: int = 0
    values: dict[str, list[Tensor]] = field(default_factory=dict)
    batches: list[str] = field(default_factory=list)  # their names

    @property
    def steps(self) -> int:
        return len(self.batches)

    def add(self, batch_name: str, tokens: int, values: Mapping[str, Tensor]) -> None:
        self.batches.append(batch_name)
        self.tokens += tokens
        for name, value in values.items():
            self.values.setdefault(name, []).append(value.detach().float())

    def reduced(self, hardware: Hardware) -> dict[str, Tensor]:
        """Each metric summed over all processes, in one exchange: name -> (steps that measured it,)."""
        counts = [len(values) for values in self.values.values()]
        total = hardware.all_reduce_sum(torch.stack([value for values in self.values.values() for value in values]))
        return dict(zip(self.values, total.split(counts), strict=True))


def raise_on_divergence(
    window: MetricWindow, metrics: Mapping[str, Tensor], step: int, rate: float, resumable: str, first: float | None
) -> None:
    """Stop before anything wrong is reported or saved: loss or gradient NaN or infinite, or an exploding loss.

    `metrics` are the window's, reduced; `step` is the last one done, `rate` the learning rate of the settings,
    `resumable` the last good checkpoint if the run can be resumed from it at a lower one ("" if not) and `first` the
    first loss that was reported.
    Raises `InputError` with the step, its batch, and what to do.
    """
    bad = ~(metrics["loss"].isfinite() & metrics["grad_norm"].isfinite())
    if bad.any():
        index = int(bad.nonzero()[0])
        finite = bool(metrics["loss"][index].isfinite())
        problem = "the gradient is infinite or NaN" if finite else "the loss is infinite or NaN"
    elif first is not None and float(metrics["loss"].mean()) > 3 * first + 3:
        index = int(metrics["loss"].argmax())
        problem = f"the loss exploded from {first:.3g} to {float(metrics['loss'].max()):.3g}"
    else:
        return
    location = f"Step {step - window.steps + index + 1}"
    batch = f" ({window.batches[index]})" if window.batches[index] else ""
    advice = f"The last good checkpoint is {resumable}: resume from it" if resumable else "Start a new run"
    raise InputError(f"{location}{batch}: {problem}. {advice} with a lower learning rate than {rate:g}.")
