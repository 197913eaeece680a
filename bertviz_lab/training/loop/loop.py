"""The training loop: it knows steps, time and gradients, and no task.

A generator of events: whoever iterates decides what to do with them, and training stands still meanwhile.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from bertviz_lab.training.checkpoints.snapshots import is_snapshot_step
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.schedule import lr_schedule, set_learning_rate
from bertviz_lab.training.loop.window import MetricWindow, Stopwatch, raise_on_divergence, window_means
from bertviz_lab.training.runs.events import (
    CheckpointSaved,
    EvalDone,
    Event,
    ProbesDone,
    RunFinished,
    SnapshotSaved,
    StepDone,
)


@dataclass(frozen=True)
class StepOutput:
    """One forward pass of a part of a step's batch: its share of the mean loss, and of scalars to report, by name.

    The shares of all parts add up to the means over the batch.
    """

    loss: Tensor
    metrics: dict[str, Tensor]


class Batch(Protocol):
    """What the loop asks of a batch."""

    @property
    def real_tokens(self) -> int: ...

    @property
    def name(self) -> str:
        """Which it is, for people."""
        ...

    def micro_batch(self, index: int, parts: int) -> Self:
        """The rows `index`, `index + parts` and so on."""
        ...


#: Asking what the model can do takes at most this share of the time, and so many seconds more for the first steps.
_PROBING, _HEAD_START = 0.03, 6.0

BatchT = TypeVar("BatchT", bound=Batch)
TaskBatchT = TypeVar("TaskBatchT", bound=Batch, contravariant=True)


class Task(Protocol[TaskBatchT]):
    """What the loop asks of a task."""

    def training_step(self, model: nn.Module, batch: TaskBatchT, measure: bool) -> StepOutput:
        """Forward pass; `measure` asks for the metrics that cost extra work, such as accuracies."""
        ...

    def evaluate(self, model: nn.Module, final: bool = False) -> dict[str, float]:
        """Scores on held-out data; `final` asks for as much of it as a decision needs."""
        ...

    def save(self, model: nn.Module, progress: "Progress", scores: Mapping[str, float]) -> str:
        """Write a checkpoint to resume from and return its path; `scores` are those of these very weights, if any."""
        ...

    def snapshot(self, progress: "Progress") -> str:
        """Keep the weights as they are, to look back at; returns the path, "" where none are kept."""
        ...

    def probe(self, progress: "Progress") -> ProbesDone | None:
        """What the model can do already, the same for all processes; None where nothing is asked."""
        ...

    def should_stop_early(self) -> bool:
        """Whether the scores say that going on is not worth it; asked after each evaluation."""
        ...


@dataclass
class Progress:
    """Where a run stands; saved with each checkpoint."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True)
class LoopConfig:
    """How long to train and how often to report; the length is steps, or seconds of training."""

    learning_rate: float
    warmup: float
    steps: int | None
    seconds: float | None
    max_grad_norm: float = 1.0
    gradient_accumulation_steps: int = 1  # parts in which a step is computed
    eval_every: float = 15.0  # seconds
    eval_steps: int | None = None  # evaluate after so many steps, whatever the time
    checkpoint_every: float = 60.0  # seconds

    def fraction_done(self, progress: Progress) -> float:
        if self.steps is not None:
            return progress.step / self.steps
        assert self.seconds is not None
        return min(1.0, progress.seconds / self.seconds)


def train(
    model: nn.Module,
    task: Task[BatchT],
    batches: Iterator[BatchT],
    optimizers: Sequence[torch.optim.Optimizer],
    plan: LoopConfig,
    hardware: Hardware,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    checkpoint: str = "",
) -> Iterator[Event]:
    """Train until the plan is fulfilled or `should_stop()`; ends with a checkpoint, a score and `RunFinished`.

    Raises `InputError` when the loss explodes or stops being a number; the last checkpoint stays as it is.
    With several processes all of them iterate, and all see the same events. `checkpoint` is the one gone on from.
    """
    progress = progress or Progress()
    window, watch = MetricWindow(progress.seconds), Stopwatch(hardware, should_stop, progress.seconds)
    eval_pace = plan.eval_every
    next_eval = progress.seconds + eval_pace
    next_checkpoint = progress.seconds + plan.checkpoint_every
    rate = plan.learning_rate
    first_loss: float | None = None
    first_step = progress.step
    enough = first_step > 0 and task.should_stop_early()  # one that is gone on with may have ended early already

    probing = _Pace(progress.seconds)

    def finished() -> bool:
        return enough or plan.fraction_done(progress) >= 1.0

    def snapshot_and_probe() -> Iterator[Event]:
        if kept := task.snapshot(progress):
            yield SnapshotSaved(progress.step, kept)
        if probing.affordable(progress) or finished():
            yield from probing.ask(task, progress, hardware)

    _, stop = watch.look()
    if progress.step == 0 and not stop:
        began = time.perf_counter()
        yield from snapshot_and_probe()
        watch.paused += time.perf_counter() - began
    while not finished() and not stop:
        report = _report_due(window, progress)
        rate = plan.learning_rate * lr_schedule(
            (progress.step + 1) / (plan.steps + 1) if plan.steps is not None else _ahead(plan, progress),
            plan.warmup,
        )
        set_learning_rate(optimizers, rate)
        batch = next(batches)
        shares = _forward_and_back(model, task, batch, plan.gradient_accumulation_steps, hardware, measure=report)
        norm = hardware.optimizer_step(model, optimizers, plan.max_grad_norm)
        progress.step += 1
        progress.tokens += batch.real_tokens
        window.add(batch.name, batch.real_tokens, {"grad_norm": norm / hardware.processes, **shares})

        progress.seconds, stop = watch.look()
        due_eval = progress.step % plan.eval_steps == 0 if plan.eval_steps else progress.seconds >= next_eval
        # Where evaluations come by the clock, a checkpoint comes with the last one before it is due, and has its score.
        until = progress.seconds + (eval_pace if due_eval and not plan.eval_steps else 0.0)
        due_checkpoint = until >= next_checkpoint
        if report or due_checkpoint or stop or finished():  # no step is missing from the log before a checkpoint
            summed = window.summed(hardware)
            raise_on_divergence(window, summed, progress.step, rate, checkpoint, first_loss)
            first_loss = first_loss or float(summed["loss"].mean())
            yield _step_done(window, summed, progress, plan, rate)
            window = MetricWindow(progress.seconds)
        began = time.perf_counter()
        if is_snapshot_step(progress.step):
            yield from snapshot_and_probe()
        if (due_eval or due_checkpoint) and not finished():
            scores: Mapping[str, float] = {}
            if due_eval:
                asked = time.perf_counter()
                scores = task.evaluate(model)
                yield EvalDone(progress.step, progress.seconds, progress.tokens, scores)
                cost = time.perf_counter() - asked
                (eval_pace,) = hardware.broadcast(max(plan.eval_every, 10 * cost))  # at most a tenth of the time
                next_eval = progress.seconds + eval_pace
                enough = bool(*hardware.broadcast(task.should_stop_early()))
                if probing.due(progress) and not is_snapshot_step(progress.step):
                    yield from probing.ask(task, progress, hardware)
            if due_checkpoint and not enough:
                checkpoint = task.save(model, progress, scores)
                yield CheckpointSaved(progress.step, checkpoint)
                next_checkpoint = progress.seconds + plan.checkpoint_every
        watch.paused += time.perf_counter() - began

    if finished() and progress.step > first_step and not is_snapshot_step(progress.step):
        yield from snapshot_and_probe()
    path = task.save(model, progress, {})
    yield CheckpointSaved(progress.step, path)
    if progress.step and not enough:
        yield EvalDone(progress.step, progress.seconds, progress.tokens, task.evaluate(model, final=finished()))
    reason = "stopped" if stop and not finished() else "finished"
    yield RunFinished(progress.step, progress.seconds, reason, path, "")


@dataclass
class _Pace:
    """When a model may be asked again what it can do, by how long that took so far."""

    next: float  # seconds of training
    cost: float = 0.0  # seconds that it took the last time
    spent: float = 0.0  # in this sitting

    def due(self, progress: Progress) -> bool:
        """Whether it is time to ask between the steps that snapshots are kept of."""
        return progress.seconds >= self.next

    def affordable(self, progress: Progress) -> bool:
        """Whether there is time to ask at a step that a snapshot is kept of, which come thick and fast at first."""
        return self.spent + self.cost <= _HEAD_START + _PROBING * progress.seconds

    def ask(self, task: Task[Any], progress: Progress, hardware: Hardware) -> Iterator[Event]:
        began = time.perf_counter()
        if found := task.probe(progress):
            (self.cost,) = hardware.broadcast(time.perf_counter() - began)
            self.spent += self.cost
            self.next = progress.seconds + self.cost / _PROBING
            yield found


def _forward_and_back(
    model: nn.Module, task: Task[BatchT], batch: BatchT, parts: int, hardware: Hardware, measure: bool
) -> dict[str, Tensor]:
    """Gradients of a step, added up over the parts it is computed in; this process's share of loss and metrics."""
    shares: dict[str, Tensor] = {}
    everyone = hardware.processes * parts
    for index in range(parts):
        part = batch if everyone == 1 else batch.micro_batch(hardware.rank * parts + index, everyone)
        with hardware.sync_gradients(model, now=index == parts - 1):
            with hardware.autocast():
                out = task.training_step(model, part, measure)
            hardware.backward(out.loss)
        for name, value in {"loss": out.loss, **out.metrics}.items():
            shares[name] = shares[name] + value.detach() if name in shares else value.detach()
    return shares


def _ahead(plan: LoopConfig, progress: Progress) -> float:
    """Share of the time that will have passed in the middle of the coming step, so that no step has rate zero."""
    assert plan.seconds is not None
    step = progress.seconds / progress.step if progress.step else 0.0
    return min(0.999, (progress.seconds + step / 2) / plan.seconds) or 0.002


def _report_due(window: MetricWindow, progress: Progress) -> bool:
    """The first steps at once, then twice a second, then more rarely: some hundred points however long the run."""
    interval = max(0.5, progress.seconds / 400)
    return progress.step < 3 or progress.seconds - window.started >= interval


def _step_done(
    window: MetricWindow, summed: Mapping[str, Tensor], progress: Progress, plan: LoopConfig, rate: float
) -> StepDone:
    values = window_means(summed)
    elapsed = max(progress.seconds - window.started, 1e-9)
    done = plan.fraction_done(progress)
    return StepDone(
        step=progress.step,
        seconds=progress.seconds,
        tokens=progress.tokens,
        loss=values.pop("loss"),
        grad_norm=values.pop("grad_norm"),
        learning_rate=rate,
        tokens_per_second=window.tokens / elapsed,
        eta_seconds=progress.seconds * (1 - done) / done if done else 0.0,
        metrics=values,
    )
