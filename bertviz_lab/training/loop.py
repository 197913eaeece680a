"""The training loop: it knows steps, time and gradients, and no task.

A generator of events: whoever iterates decides what to do with them, and training stands still meanwhile.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from bertviz_lab.errors import InputError
from bertviz_lab.training.events import CheckpointSaved, EvalDone, Event, RunFinished, StepDone
from bertviz_lab.training.hardware import Hardware
from bertviz_lab.training.optim import rate_at, set_learning_rate


@dataclass(frozen=True)
class StepOutput:
    """One forward pass: the loss to follow downhill, and scalar tensors to report, by name."""

    loss: Tensor
    metrics: dict[str, Tensor]


class Batch(Protocol):
    """What the loop asks of a batch."""

    @property
    def real_tokens(self) -> int: ...


BatchT = TypeVar("BatchT", bound=Batch, contravariant=True)


class Task(Protocol[BatchT]):
    """What the loop asks of a task."""

    def step(self, model: nn.Module, batch: BatchT, measure: bool) -> StepOutput:
        """Forward pass; `measure` asks for the metrics that cost extra work, such as accuracies."""
        ...

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        """Scores on held-out data."""
        ...

    def save(self, model: nn.Module, progress: "Progress") -> str:
        """Write a checkpoint that the run can go on from; returns its path."""
        ...


@dataclass
class Progress:
    """Where a run stands; saved with each checkpoint."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True)
class Plan:
    """How long to train and how often to report; the length is steps, or seconds of training."""

    learning_rate: float
    warmup: float
    steps: int | None
    seconds: float | None
    clip_norm: float = 1.0
    eval_every: float = 15.0
    checkpoint_every: float = 60.0

    def share_done(self, progress: Progress) -> float:
        if self.steps is not None:
            return progress.step / self.steps
        assert self.seconds is not None
        return min(1.0, progress.seconds / self.seconds)


@dataclass
class _Window:
    """Sums since the last report; kept as tensors so that no step waits for the device."""

    steps: int = 0
    tokens: int = 0
    started: float = field(default_factory=time.perf_counter)
    sums: dict[str, Tensor] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, value: Tensor) -> None:
        value = value.detach().float()
        self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.counts[name] = self.counts.get(name, 0) + 1

    def means(self) -> dict[str, float]:
        return {name: float(total) / self.counts[name] for name, total in self.sums.items()}


def train(
    model: nn.Module,
    task: Task[BatchT],
    batches: Iterator[BatchT],
    optimizers: Sequence[torch.optim.Optimizer],
    plan: Plan,
    hardware: Hardware,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Train until the plan is fulfilled or `should_stop()`; ends with a checkpoint, a score and `RunFinished`.

    Raises `InputError` when the loss or the gradient stops being a number; the last checkpoint stays as it is.
    """
    progress = progress or Progress()
    window = _Window()
    earlier = progress.seconds  # of earlier sittings
    start = time.perf_counter()
    next_eval = progress.seconds + plan.eval_every
    next_checkpoint = progress.seconds + plan.checkpoint_every
    paused = 0.0  # seconds spent on evaluation and saving, which are not training

    def finished() -> bool:
        return plan.share_done(progress) >= 1.0

    stopped, rate = False, plan.learning_rate
    while not finished() and not (stopped := should_stop()):
        report = _report_due(window, progress)
        rate = plan.learning_rate * rate_at(
            (progress.step + 1) / (plan.steps + 1) if plan.steps is not None else _ahead(plan, progress),
            plan.warmup,
        )
        set_learning_rate(optimizers, rate)
        batch = next(batches)
        with hardware.autocast():
            out = task.step(model, batch, measure=report)
        out.loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), plan.clip_norm)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        progress.step += 1
        progress.tokens += batch.real_tokens
        progress.seconds = earlier + time.perf_counter() - start - paused
        window.steps += 1
        window.tokens += batch.real_tokens
        window.add("loss", out.loss)
        window.add("grad_norm", norm)
        for name, value in out.metrics.items():
            window.add(name, value)
        due_eval = progress.seconds >= next_eval
        due_checkpoint = progress.seconds >= next_checkpoint
        if report or due_checkpoint or finished():
            _require_numbers(window, progress, rate)
        if report:
            yield _step_done(window, progress, plan, rate)
            window = _Window()
        if (due_eval or due_checkpoint) and not finished():
            began = time.perf_counter()
            if due_eval:
                yield EvalDone(progress.step, progress.seconds, progress.tokens, task.evaluate(model))
                cost = time.perf_counter() - began
                next_eval = progress.seconds + max(plan.eval_every, 10 * cost)  # at most a tenth of the time
            if due_checkpoint:
                yield CheckpointSaved(progress.step, task.save(model, progress))
                next_checkpoint = progress.seconds + plan.checkpoint_every
            pause = time.perf_counter() - began
            paused += pause
            window.started += pause

    if window.steps:  # stopped between two reports
        _require_numbers(window, progress, rate)
    path = task.save(model, progress)
    yield CheckpointSaved(progress.step, path)
    if progress.step:
        yield EvalDone(progress.step, progress.seconds, progress.tokens, task.evaluate(model))
    reason = "stopped" if stopped and not finished() else "finished"
    yield RunFinished(progress.step, progress.seconds, reason, path, "")


def _require_numbers(window: _Window, progress: Progress, rate: float) -> None:
    """Before anything is reported or saved: one bad step makes every sum since the last report a non-number."""
    if not all(math.isfinite(float(window.sums[name])) for name in ("loss", "grad_norm")):
        raise InputError(
            f"The loss stopped being a number before step {progress.step}. Lower the learning rate "
            f"(now {rate:.2g}) and go on from the last checkpoint."
        )


def _ahead(plan: Plan, progress: Progress) -> float:
    """Share of the time that will have passed in the middle of the coming step, so that no step has rate zero."""
    assert plan.seconds is not None
    step = progress.seconds / progress.step if progress.step else 0.0
    return min(0.999, (progress.seconds + step / 2) / plan.seconds) or 0.002


def _report_due(window: _Window, progress: Progress) -> bool:
    """The first steps at once, then twice a second, then more rarely: some hundred points however long the run."""
    interval = max(0.5, progress.seconds / 400)
    return progress.step < 3 or time.perf_counter() - window.started >= interval


def _step_done(window: _Window, progress: Progress, plan: Plan, rate: float) -> StepDone:
    means = window.means()
    elapsed = max(time.perf_counter() - window.started, 1e-9)
    done = plan.share_done(progress)
    return StepDone(
        step=progress.step,
        seconds=progress.seconds,
        tokens=progress.tokens,
        loss=means.pop("loss"),
        grad_norm=means.pop("grad_norm"),
        learning_rate=rate,
        tokens_per_second=window.tokens / elapsed,
        eta_seconds=progress.seconds * (1 - done) / done if done else 0.0,
        metrics=means,
    )
