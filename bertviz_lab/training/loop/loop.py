"""The training loop: it knows steps, time and gradients, but no task.

A generator of events: the caller decides what to do with each, and training pauses meanwhile.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from bertviz_lab.config import RunConfig
from bertviz_lab.data.batches import Batch
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.snapshots import is_snapshot_step
from bertviz_lab.training.loop.clock import ProbeBudget, Stopwatch
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.optim import clip_and_step, lr_schedule, set_learning_rate
from bertviz_lab.training.runs import events


@dataclass(frozen=True)
class StepOutput:
    """The forward pass of one micro-batch: its share of the batch's mean loss, and of scalars to report, by name.

    The shares of all micro-batches add up to the means over the batch.
    """

    loss: Tensor
    metrics: dict[str, Tensor]


BatchT = TypeVar("BatchT", bound=Batch)
TaskBatchT = TypeVar("TaskBatchT", bound=Batch, contravariant=True)


class Task(Protocol[TaskBatchT]):
    """What the loop needs of a task: its loss. A subclass inherits the rest, which does nothing."""

    def training_step(self, model: nn.Module, batch: TaskBatchT, measure: bool) -> StepOutput:
        """Forward pass; `measure` asks for the metrics that cost extra work, such as accuracies."""

    def evaluate(self, model: nn.Module, final: bool = False) -> dict[str, float]:
        """Return scores on held-out data; `final` asks for as much of it as a decision needs."""
        return {}

    def save(self, progress: "Progress", scores: Mapping[str, float]) -> str:
        """Write a checkpoint to resume from and return its path; `scores` are those of these very weights, if any."""
        return ""

    def snapshot(self, progress: "Progress") -> str:
        """Save the weights for later inspection; returns the path, "" where no snapshots are kept."""
        return ""

    def probe(self, progress: "Progress") -> events.ProbesDone | None:
        """Run the probes, with the same result in all processes; None where there are none."""
        return None

    def should_stop_early(self) -> bool:
        """Return whether the scores no longer improve (`early_stopping.py`); asked after an evaluation."""
        return False


@dataclass
class Progress:
    """How far a run has come; saved with each checkpoint."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0


@dataclass(frozen=True)
class LoopConfig:
    """How long to train, in steps or in seconds of training, and how often to evaluate and save."""

    learning_rate: float
    warmup: float
    steps: int | None
    seconds: float | None
    max_grad_norm: float = 1.0
    gradient_accumulation_steps: int = 1  # micro-batches of a step
    eval_every: float = 15.0  # seconds
    eval_steps: int | None = None  # evaluate every so many steps instead
    checkpoint_every: float = 60.0  # seconds
    stop_on_loss_spike: bool = True  # off where a single outlier among the targets makes a step's loss large
    rate_is_adjustable: bool = True  # when the run is resumed
    #: Fraction of the work done, by the fraction of the steps done: later steps may cost more. For the ETA.
    work_done: Callable[[float], float] = lambda done: done

    @classmethod
    def of(cls, config: RunConfig, **others: Any) -> Self:
        """Return the plan of a run: what its settings say, and the `others` of these fields."""
        names = ("warmup", "max_grad_norm", "gradient_accumulation_steps", "checkpoint_every")
        return cls(**{name: getattr(config, name) for name in names}, **others)

    def fraction_done(self, progress: Progress) -> float:
        """Return how much of the run is done, 0 to 1."""
        if self.steps is not None:
            return progress.step / self.steps
        assert self.seconds is not None
        return min(1.0, progress.seconds / self.seconds)


def train(
    model: nn.Module,
    task: Task[BatchT],
    batches: Iterator[BatchT],
    optimizers: Sequence[torch.optim.Optimizer],
    config: LoopConfig,
    hardware: Hardware,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    checkpoint: str = "",
) -> Iterator[events.Event]:
    """Train until `config` is fulfilled or `should_stop()`; ends with a checkpoint, an evaluation and `RunFinished`.

    With several processes all of them iterate, and all see the same events. `checkpoint` is the one that the run
    resumes from. Raises `InputError` when the loss diverges; the last checkpoint is untouched.
    """
    progress = progress or Progress()
    window, stopwatch = MetricWindow(progress.seconds), Stopwatch(hardware, should_stop, progress.seconds)
    probes = ProbeBudget(next_due=progress.seconds)
    eval_interval = config.eval_every
    next_eval = progress.seconds + eval_interval
    next_checkpoint = progress.seconds + config.checkpoint_every
    rate = config.learning_rate
    first_loss: float | None = None
    start = replace(progress)
    stop_early = start.step > 0 and task.should_stop_early()  # the resumed run may have stopped early already

    def finished() -> bool:
        return stop_early or config.fraction_done(progress) >= 1.0

    def run_probes() -> Iterator[events.Event]:
        began = time.perf_counter()
        if results := task.probe(progress):
            probes.charge(hardware.broadcast(time.perf_counter() - began), progress.seconds)
            yield results

    def snapshot_and_probe() -> Iterator[events.Event]:
        if path := task.snapshot(progress):
            yield events.SnapshotSaved(progress.step, path)
        # The first step hardly changes what a model prefers, and its loss is what a person waits for.
        if progress.step and (probes.is_affordable(progress.seconds) or finished()):
            yield from run_probes()

    _, stop = stopwatch.read()
    if progress.step == 0 and not stop:
        began = time.perf_counter()
        yield from snapshot_and_probe()
        stopwatch.paused += time.perf_counter() - began
    while not finished() and not stop:
        report = _report_due(window, progress)
        rate = config.learning_rate * lr_schedule(_schedule_position(config, progress), config.warmup)
        set_learning_rate(optimizers, rate)
        batch = next(batches)
        shares = _forward_backward(model, task, batch, config.gradient_accumulation_steps, hardware, measure=report)
        norm = clip_and_step(model, optimizers, config.max_grad_norm, hardware.scaler)
        progress.step += 1
        progress.tokens += batch.real_tokens
        window.add(batch.name, batch.real_tokens, {"grad_norm": norm / hardware.processes, **shares})

        progress.seconds, stop = stopwatch.read()
        eval_due = progress.step % config.eval_steps == 0 if config.eval_steps else progress.seconds >= next_eval
        # Where evaluations come by the clock, a checkpoint comes with the last one before it is due, and has its score.
        ahead = eval_interval if eval_due and not config.eval_steps else 0.0
        checkpoint_due = progress.seconds + ahead >= next_checkpoint
        if report or checkpoint_due or stop or finished():  # no step is missing from the log before a checkpoint
            metrics = window.reduced(hardware)
            resumable = checkpoint if config.rate_is_adjustable else ""
            raise_on_divergence(window, metrics, progress.step, config.learning_rate, resumable, first_loss)
            if config.stop_on_loss_spike:
                first_loss = first_loss or float(metrics["loss"].mean())
            yield window.step_done(metrics, start, progress, config, rate)
            window = MetricWindow(progress.seconds)
        began = time.perf_counter()
        if is_snapshot_step(progress.step):
            yield from snapshot_and_probe()
        scores: Mapping[str, float] = {}
        if eval_due and not finished():
            eval_began = time.perf_counter()
            scores = task.evaluate(model)
            yield events.EvalDone(progress.step, progress.seconds, progress.tokens, scores)
            cost = time.perf_counter() - eval_began
            # Evaluation takes at most a tenth of the time.
            decided = max(config.eval_every, 10 * cost), task.should_stop_early()
            eval_interval, stop_early = hardware.broadcast(decided)
            next_eval = progress.seconds + eval_interval
            if progress.seconds >= probes.next_due and not is_snapshot_step(progress.step):
                yield from run_probes()
        if checkpoint_due and not finished():
            checkpoint = task.save(progress, scores)
            yield events.CheckpointSaved(progress.step, checkpoint)
            next_checkpoint = progress.seconds + config.checkpoint_every
        stopwatch.paused += time.perf_counter() - began

    if finished() and progress.step > start.step and not is_snapshot_step(progress.step):
        yield from snapshot_and_probe()
    path = task.save(progress, {})
    yield events.CheckpointSaved(progress.step, path)
    if progress.step and not stop_early:
        yield events.EvalDone(progress.step, progress.seconds, progress.tokens, task.evaluate(model, final=finished()))
    reason = "stopped" if stop and not finished() else "finished"
    yield events.RunFinished(progress.step, progress.seconds, reason, path, "")


def _forward_backward(
    model: nn.Module, task: Task[BatchT], batch: BatchT, micro_batches: int, hardware: Hardware, measure: bool
) -> dict[str, Tensor]:
    """Accumulate the gradients of a step over its micro-batches; this process's share of loss and metrics."""
    shares: dict[str, Tensor] = {}
    parts = hardware.processes * micro_batches
    for index in range(micro_batches):
        part = batch if parts == 1 else batch.micro_batch(hardware.rank * micro_batches + index, parts)
        with hardware.sync_gradients(model, now=index == micro_batches - 1):
            with hardware.autocast():
                out = task.training_step(model, part, measure)
            hardware.backward(out.loss)
        for name, value in {"loss": out.loss, **out.metrics}.items():
            shares[name] = shares[name] + value.detach() if name in shares else value.detach()
    return shares


def _schedule_position(config: LoopConfig, progress: Progress) -> float:
    """Return where the coming step is in the learning-rate schedule: between 0 and 1, so that no rate is zero."""
    if config.steps is not None:
        return (progress.step + 1) / (config.steps + 1)
    assert config.seconds is not None
    step = progress.seconds / progress.step if progress.step else 0.0
    return min(0.999, (progress.seconds + step / 2) / config.seconds) or 0.002  # the middle of the step


@dataclass
class MetricWindow:
    """The steps since the last report. A value is this process's share of the step's mean; the shares add up."""

    started: float = 0.0  # seconds of training
    tokens: int = 0
    values: dict[str, list[Tensor]] = field(default_factory=dict)
    batches: list[str] = field(default_factory=list)  # their names

    def add(self, batch_name: str, tokens: int, values: Mapping[str, Tensor]) -> None:
        self.batches.append(batch_name)
        self.tokens += tokens
        for name, value in values.items():
            self.values.setdefault(name, []).append(value.detach().float())

    def reduced(self, hardware: Hardware) -> dict[str, Tensor]:
        """Return each metric summed over all processes, in one exchange: name -> (steps that measured it,)."""
        counts = [len(values) for values in self.values.values()]
        total = torch.stack(list(chain.from_iterable(self.values.values())))
        total = hardware.accelerator.reduce(total, "sum") if hardware.processes > 1 else total
        return dict(zip(self.values, total.split(counts), strict=True))

    def step_done(
        self, metrics: Mapping[str, Tensor], start: Progress, progress: Progress, config: LoopConfig, rate: float
    ) -> events.StepDone:
        """Return the event of these steps, from their reduced metrics; `start` is where the session began."""
        means = {name: float(values.mean()) for name, values in metrics.items()}
        # The speed is that since `start`: before a run was resumed, the machine may have been busy.
        before, done = map(config.fraction_done, (start, progress))
        if config.steps is not None:
            before, done = config.work_done(before), config.work_done(done)
        return events.StepDone(
            step=progress.step,
            seconds=progress.seconds,
            tokens=progress.tokens,
            loss=means.pop("loss"),
            grad_norm=means.pop("grad_norm"),
            learning_rate=rate,
            tokens_per_second=self.tokens / max(progress.seconds - self.started, 1e-9),
            eta_seconds=(progress.seconds - start.seconds) * (1 - done) / (done - before) if done > before else 0.0,
            metrics=means,
        )


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
    location = f"Step {step - len(window.batches) + index + 1}"
    batch = f" ({window.batches[index]})" if window.batches[index] else ""
    advice = f"The last good checkpoint is {resumable}: resume from it" if resumable else "Start a new run"
    raise InputError(f"{location}{batch}: {problem}. {advice} with a lower learning rate than {rate:g}.")


def _report_due(window: MetricWindow, progress: Progress) -> bool:
    """Return whether to report: the first three steps, then twice a second, then less often in long runs."""
    return progress.step < 3 or progress.seconds - window.started >= max(0.5, progress.seconds / 400)
