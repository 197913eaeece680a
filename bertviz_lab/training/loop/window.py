"""Between two reports: what the steps gave, kept as tensors so that no step waits for the device; and the clock."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.training.loop.hardware import Hardware


@dataclass
class MetricWindow:
    """The steps since the last report. A value is this process's share of the step's mean; shares add up."""

    started: float = 0.0  # seconds of training
    tokens: int = 0
    values: dict[str, list[Tensor]] = field(default_factory=dict)
    batches: list[str] = field(default_factory=list)  # their names

    @property
    def steps(self) -> int:
        return len(self.batches)

    def add(self, name: str, tokens: int, values: Mapping[str, Tensor]) -> None:
        self.batches.append(name)
        self.tokens += tokens
        for key, value in values.items():
            self.values.setdefault(key, []).append(value.detach().float())

    def summed(self, hardware: Hardware) -> dict[str, Tensor]:
        """Every step's values over all processes: (steps that have one,)."""
        return {name: hardware.all_reduce_sum(torch.stack(values)) for name, values in self.values.items()}


def window_means(summed: Mapping[str, Tensor]) -> dict[str, float]:
    """One number a name: the mean over the window's steps."""
    return {name: float(values.mean()) for name, values in summed.items()}


def raise_on_divergence(
    window: MetricWindow, summed: Mapping[str, Tensor], step: int, rate: float, checkpoint: str, first: float | None
) -> None:
    """Stop before anything wrong is reported or saved: a loss or gradient that is no number, or a loss that explodes.

    `step` is the last one done, `checkpoint` the last good one and `first` the first loss that was reported.
    Raises `InputError` with the step, its batch, and where to go on from.
    """
    bad = ~(summed["loss"].isfinite() & summed["grad_norm"].isfinite())
    if bad.any():
        index = int(bad.nonzero()[0])
        what = "stopped being a number" if not summed["loss"][index].isfinite() else "has a gradient without bounds"
    elif first is not None and float(summed["loss"].mean()) > 3 * first + 3:
        index, what = int(summed["loss"].argmax()), f"exploded from {first:.3g} to {float(summed['loss'].max()):.3g}"
    else:
        return
    where = f"Step {step - window.steps + index + 1}"
    batch = f" ({window.batches[index]})" if window.batches[index] else ""
    back = f"The last good checkpoint is {checkpoint}: resume from it" if checkpoint else "Start again"
    raise InputError(f"{where}{batch}: the loss {what}. {back} with a lower learning rate (now {rate:.2g}).")


class Stopwatch:
    """Seconds of training: pauses for evaluation and saving are not counted."""

    def __init__(self, hardware: Hardware, should_stop: Callable[[], bool], earlier: float):
        self._hardware, self._should_stop, self._earlier = hardware, should_stop, earlier
        self._start = time.perf_counter()
        self.paused = 0.0

    def look(self) -> tuple[float, bool]:
        """The seconds over all sittings, and whether to stop, as the main process sees it."""
        seconds = self._earlier + time.perf_counter() - self._start - self.paused
        seconds, stop = self._hardware.broadcast(seconds, self._should_stop())
        return seconds, bool(stop)
