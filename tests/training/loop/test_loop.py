"""The loop: steps, time and gradients, whatever the task."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor, nn

from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.snapshots import is_snapshot_step
from bertviz_lab.training.loop import loop
from bertviz_lab.training.loop.loop import LoopConfig, Progress, StepOutput, train
from bertviz_lab.training.loop.optim import lr_schedule
from bertviz_lab.training.runs.events import CheckpointSaved, EvalDone, ProbesDone, RunFinished, SnapshotSaved, StepDone
from tests.training.support import CPU, after, fake_clock


@dataclass
class Numbers:
    """A batch: inputs and the answers to them."""

    x: Tensor
    y: Tensor
    real_tokens: int = 10
    name: str = ""

    def micro_batch(self, index: int, parts: int) -> "Numbers":
        return Numbers(self.x[index::parts], self.y[index::parts])


@dataclass
class FitALine:
    """A task small enough to be calculated by hand; it notes what is asked of it."""

    losses: dict[int, float] = field(default_factory=dict)  # step -> a loss to pretend
    saved: list[int] = field(default_factory=list)
    scored: list[tuple[dict[str, float], float]] = field(default_factory=list)  # of each save: scores, and the weights
    final: list[bool] = field(default_factory=list)  # of each evaluation
    evaluated: int = 0
    enough_after: int = 1_000_000
    snapshots: list[int] = field(default_factory=list)
    room: bool = True  # for snapshots
    probing: float | None = None  # seconds that a probe takes; None: there are none
    probed: list[int] = field(default_factory=list)
    measured: list[bool] = field(default_factory=list)
    model: nn.Module = field(default_factory=lambda: nn.Linear(1, 1))  # that took the last step

    def training_step(self, model: nn.Module, batch: Numbers, measure: bool) -> StepOutput:
        self.model = model
        self.measured.append(measure)
        loss = ((model(batch.x) - batch.y) ** 2).mean()
        step = len(self.measured)
        if step in self.losses:
            loss = loss * self.losses[step]
        return StepOutput(loss, {"error": loss} | ({"exact": torch.tensor(0.5)} if measure else {}))

    def evaluate(self, model: nn.Module, final: bool = False) -> dict[str, float]:
        self.evaluated += 1
        self.final.append(final)
        return {"error": float(model.weight.detach().sum())}

    def save(self, progress: Progress, scores: Mapping[str, float]) -> str:
        self.saved.append(progress.step)
        self.scored.append((dict(scores), float(self.model.weight.detach().sum())))
        return f"at-{progress.step}"

    def snapshot(self, progress: Progress) -> str:
        self.snapshots.append(progress.step)
        return f"snapshot-{progress.step}" if self.room else ""

    def probe(self, progress: Progress) -> ProbesDone | None:
        if self.probing is None:
            return None
        self.probed.append(progress.step)
        began = time.perf_counter()
        while time.perf_counter() < began + self.probing:
            pass
        return ProbesDone(progress.step, progress.seconds, progress.tokens, "some", {"counting": 0.5})

    def should_stop_early(self) -> bool:
        return self.evaluated >= self.enough_after


def numbers() -> Iterator[Numbers]:
    generator = torch.Generator().manual_seed(0)
    while True:
        x = torch.randn(8, 3, generator=generator)
        yield Numbers(x, x.sum(1, keepdim=True))


def line() -> nn.Linear:
    model = nn.Linear(3, 1)
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    return model


def plan(**changes) -> LoopConfig:
    return LoopConfig(**({"learning_rate": 0.1, "warmup": 0.2, "steps": 20, "seconds": None} | changes))


def run(task: FitALine, a_plan: LoopConfig | None = None, model: nn.Module | None = None, **options) -> list:
    model = model or line()
    optimizer = options.pop("optimizer", None) or torch.optim.SGD(model.parameters(), lr=123.0)
    return list(train(model, task, numbers(), [optimizer], a_plan or plan(), CPU, **options))


@pytest.fixture
def report_never(monkeypatch) -> None:
    monkeypatch.setattr(loop, "_report_due", lambda window, progress: False)


def test_it_takes_the_steps_of_the_plan_and_ends_with_checkpoint_score_and_the_end(report_always):
    task = FitALine()
    events = run(task)
    assert [event.step for event in events if isinstance(event, StepDone)] == list(range(1, 21))
    assert events[-3] == CheckpointSaved(20, "at-20")
    assert isinstance(events[-2], EvalDone)
    assert events[-1] == RunFinished(20, events[-1].seconds, "finished", "at-20", "")
    assert task.saved == [20]
    assert task.evaluated == 1


def test_the_optimiser_gets_the_rate_that_was_asked_for_over_the_shape_of_the_run(report_always):
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=123.0)
    seen = []
    optimizer.register_step_pre_hook(lambda opt, *_: seen.append(opt.param_groups[0]["lr"]))
    events = run(FitALine(), model=model, optimizer=optimizer)
    assert seen == [event.learning_rate for event in events if isinstance(event, StepDone)]
    assert seen == pytest.approx([0.1 * lr_schedule(step / 21, 0.2) for step in range(1, 21)])
    assert 0 < min(seen) < max(seen) <= 0.1


def test_gradients_are_clipped_and_reported_as_they_were(report_always):
    model = line()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    norms = []

    def note(opt, *_) -> None:
        norms.append(float(torch.cat([p.grad.flatten() for p in model.parameters()]).norm()))

    optimizer.register_step_pre_hook(note)
    events = run(FitALine(), plan(max_grad_norm=0.05), model=model, optimizer=optimizer)
    reported = [event.grad_norm for event in events if isinstance(event, StepDone)]
    assert max(norms) <= 0.05 + 1e-6
    assert reported[0] > 1.0


def test_a_report_is_the_mean_since_the_last_one(monkeypatch):
    monkeypatch.setattr(loop, "_report_due", lambda window, progress: progress.step % 5 == 4)
    sparse = [event for event in run(FitALine()) if isinstance(event, StepDone)]
    monkeypatch.setattr(loop, "_report_due", lambda window, progress: True)
    dense = [event for event in run(FitALine()) if isinstance(event, StepDone)]
    assert [event.step for event in sparse] == [5, 10, 15, 20]
    for event in sparse:
        part = dense[event.step - 5 : event.step]
        assert event.loss == pytest.approx(sum(e.loss for e in part) / 5)
        assert event.metrics["error"] == pytest.approx(event.loss)
        assert event.metrics["exact"] == 0.5, "measured once, not five times"
    assert [event.tokens for event in sparse] == [50, 100, 150, 200]


def test_reports_come_at_first_at_once_and_then_more_rarely():
    task = FitALine()
    reported = [event.step for event in run(task, plan(steps=300)) if isinstance(event, StepDone)]
    assert reported[:3] == [1, 2, 3]
    assert len(reported) < 100
    measured = [step for step, asked in enumerate(task.measured, 1) if asked]
    assert sorted({*measured, 300}) == reported, "the last step is reported whether or not it was its turn"


@pytest.mark.parametrize(("asked", "reason"), [(0, "stopped"), (7, "stopped"), (20, "finished")])
def test_it_stops_when_it_is_asked_to_and_saves(asked, reason, report_always):
    task = FitALine()
    events = run(task, should_stop=after(asked))
    assert (events[-1].step, events[-1].reason, task.saved) == (asked, reason, [asked])
    assert asked or [type(event) for event in events] == [CheckpointSaved, RunFinished]


def test_it_resumes_at_its_step_and_learning_rate(report_always):
    progress = Progress(step=15, seconds=3.0, tokens=150)
    events = run(FitALine(), progress=progress)
    steps = [event for event in events if isinstance(event, StepDone)]
    assert [event.step for event in steps] == [16, 17, 18, 19, 20]
    assert steps[0].learning_rate == pytest.approx(0.1 * lr_schedule(16 / 21, 0.2))
    assert steps[0].seconds > 3.0
    assert steps[-1].tokens == 200
    task = FitALine()
    assert run(task, progress=Progress(step=20, seconds=3.0, tokens=200))[-1].reason == "finished"
    assert not task.measured


@pytest.mark.parametrize(("at", "bad"), [(1, float("nan")), (8, float("inf")), (20, float("nan"))])
def test_a_nan_or_infinite_loss_ends_the_run_with_its_step_and_is_not_saved(bad, at, monkeypatch):
    monkeypatch.setattr(loop, "_report_due", lambda window, progress: progress.step % 6 == 5)
    task = FitALine(losses={at: bad})
    with pytest.raises(InputError, match=rf"Step {at}: the loss is infinite or NaN\. Start a new run"):
        run(task)
    assert task.saved == []


def test_a_bad_step_is_found_before_a_checkpoint(report_never):
    task = FitALine(losses={2: float("nan")})
    with pytest.raises(InputError, match=r"Step 2: .* The last good checkpoint is at-1: resume from it"):
        run(task, plan(checkpoint_every=1e-9))
    assert task.saved == [1]


def test_snapshots_are_taken_at_log_spaced_steps_and_at_the_end():
    task = FitALine()
    events = run(task, plan(steps=23))
    assert task.snapshots == [0, 1, 2, 5, 10, 20, 23]
    assert [event.step for event in events if isinstance(event, SnapshotSaved)] == task.snapshots


@pytest.mark.parametrize("room", [True, False])
def test_probes_run_at_snapshot_steps_but_the_first_whether_or_not_snapshots_are_kept(room):
    task = FitALine(probing=0.0, room=room)
    events = run(task, plan(steps=23))
    assert task.probed == [1, 2, 5, 10, 20, 23]
    assert [event.step for event in events if isinstance(event, ProbesDone)] == task.probed
    for event, before in zip(events[1:], events, strict=False):
        if isinstance(event, ProbesDone) and room:
            assert before == SnapshotSaved(event.step, f"snapshot-{event.step}")
    assert isinstance(events[-3], CheckpointSaved)  # the last probe stands before it, and is not cut from a log


def test_a_checkpoint_has_the_scores_of_its_own_weights_or_none(report_never):
    task = FitALine()
    run(task, plan(steps=None, seconds=0.4, eval_every=0.05, checkpoint_every=0.1))
    scored = [scores["error"] == weights for scores, weights in task.scored if scores]
    assert len(scored) >= 2, "checkpoints come with evaluations"
    assert all(scored)
    assert task.scored[-1][0] == {}, "the last checkpoint is written before the last evaluation"


def test_only_the_evaluation_at_the_end_of_a_finished_run_is_final(report_never):
    task = FitALine()
    run(task, plan(steps=20, eval_steps=5))
    assert task.final == [False, False, False, True]
    task = FitALine()
    run(task, plan(steps=20, eval_steps=5), should_stop=lambda: len(task.final) == 2)
    assert task.final == [False, False, False]


def test_a_resumed_run_does_not_repeat_the_probes_of_its_checkpoint():
    task = FitALine(probing=0.0)
    run(task, progress=Progress(step=20, seconds=3.0, tokens=200))
    assert task.probed == []


@pytest.mark.parametrize("cost", [0.25, 2.0])
def test_probes_take_at_most_their_share_of_the_time(report_never, monkeypatch, cost):
    fake_clock(monkeypatch, 0.025)
    task = FitALine(probing=cost)
    events = run(task, plan(steps=2_000, eval_every=0.125))
    assert len(task.probed) * cost < 6 + 0.03 * events[-1].seconds + 2 * cost
    assert task.probed[:2] == [1, 2]
    assert task.probed[-1] == 2_000
    assert [step for step in task.probed if not is_snapshot_step(step)], "between snapshots it is asked too"
    slow = {step for step in range(1, 2_001) if is_snapshot_step(step)} - set(task.probed)
    assert bool(slow) is (cost > 1)


def test_probes_do_not_count_as_training_time(report_never, monkeypatch):
    fake_clock(monkeypatch, 0.01)
    seconds = [run(FitALine(probing=cost), plan(steps=30, eval_every=1e9))[-1].seconds for cost in (None, 0.9)]
    assert seconds[0] == pytest.approx(seconds[1], abs=0.5)


def test_early_stopping_finishes_the_run_at_that_step(report_never):
    task = FitALine(enough_after=2)
    events = run(task, plan(steps=100, eval_steps=5))
    assert [event.step for event in events if isinstance(event, EvalDone)] == [5, 10]
    assert (events[-1].step, events[-1].reason) == (10, "finished")
    assert (task.saved[-1], task.snapshots[-1]) == (10, 10)


def test_scores_take_at_most_a_tenth_of_the_time(report_never, monkeypatch):
    clock = fake_clock(monkeypatch, 0.01)

    class Slow(FitALine):
        def evaluate(self, model: nn.Module, final: bool = False) -> dict[str, float]:
            for _ in range(50):
                next(clock)
            return super().evaluate(model)

    task = Slow()
    events = run(task, plan(steps=1_000, eval_every=0.05))
    training = events[-1].seconds
    assert task.evaluated > 2
    assert 0.5 * task.evaluated < 0.15 * training


def test_a_run_by_time_ends_in_time_with_a_rate_near_zero(report_always, monkeypatch):
    fake_clock(monkeypatch, 0.001)
    events = run(FitALine(), plan(steps=None, seconds=2.0))
    steps = [event for event in events if isinstance(event, StepDone)]
    assert events[-1].reason == "finished"
    assert events[-1].seconds == pytest.approx(2.0, abs=0.02)
    rates = [event.learning_rate for event in steps]
    assert 0 < rates[0] < 0.01
    assert max(rates) == pytest.approx(0.1, rel=0.05)
    assert 0 < rates[-1] < 0.005
    assert rates.index(max(rates)) / len(rates) == pytest.approx(0.2, abs=0.05)
    assert steps[len(steps) // 2].eta_seconds == pytest.approx(1.0, abs=0.05)
    assert steps[-1].eta_seconds < 0.02
    assert steps[5].tokens_per_second == pytest.approx(10 / (steps[5].seconds - steps[4].seconds))


def test_the_time_left_is_reckoned_by_the_cost_of_later_steps_and_the_speed_of_this_session(report_always, monkeypatch):
    fake_clock(monkeypatch, 0.001)

    def third_of_the_work(done: float) -> float:  # the first half of the steps is a third of it
        return done / 1.5 if done < 0.5 else 1 / 3 + (done - 0.5) / 0.75

    events = run(FitALine(), plan(steps=100, work_done=third_of_the_work))
    half = next(event for event in events if isinstance(event, StepDone) and event.step == 50)
    assert half.eta_seconds == pytest.approx(2 * half.seconds)
    fake_clock(monkeypatch, 0.001)
    slowly = Progress(step=50, seconds=5_000.0)  # the machine was busy
    events = run(FitALine(), plan(steps=100), progress=slowly)
    at_75 = next(event for event in events if isinstance(event, StepDone) and event.step == 75)
    assert at_75.eta_seconds == pytest.approx(at_75.seconds - 5_000.0)
