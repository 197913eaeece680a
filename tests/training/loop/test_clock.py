"""Seconds of training, agreed on by all processes without an exchange in every step."""

import itertools
from dataclasses import dataclass, field

import pytest

from bertviz_lab.training.loop import clock
from bertviz_lab.training.loop.clock import SYNC_SECONDS, Stopwatch


@dataclass
class Network:
    """What the stopwatches of several processes use of `Hardware`: the values of rank 0 reach all."""

    rank: int
    sent: list[tuple[float, ...]] = field(default_factory=list)
    processes: int = 2
    received: int = 0

    def broadcast(self, *values: float) -> tuple[float, ...]:
        if self.rank == 0:
            self.sent.append(tuple(map(float, values)))
            return self.sent[-1]
        self.received += 1
        return self.sent[self.received - 1]


def fake_clock(monkeypatch: pytest.MonkeyPatch, tick: float) -> None:
    ticks = itertools.count(step=tick)
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(ticks))


def test_processes_see_the_same_seconds_and_exchange_them_a_few_times_a_second(monkeypatch):
    fake_clock(monkeypatch, 0.001)
    main = Network(0)
    stopwatch = Stopwatch(main, lambda: False, earlier=5.0)
    reads = [stopwatch.read() for _ in range(2000)]

    fake_clock(monkeypatch, 0.5)  # the other machine's clock is wrong
    other = Stopwatch(Network(1, main.sent), lambda: True, earlier=5.0)
    assert [other.read() for _ in range(2000)] == reads

    seconds = [at for at, _ in reads]
    assert seconds == sorted(seconds)
    assert seconds[0] > 5.0
    assert seconds[-1] - 5.0 == pytest.approx(len(main.sent) * SYNC_SECONDS, rel=0.2)
    assert len(main.sent) < 50


def test_a_stop_request_reaches_all_processes_at_the_same_step(monkeypatch):
    fake_clock(monkeypatch, 0.01)
    main, asked = Network(0), itertools.count()
    stopwatch = Stopwatch(main, lambda: next(asked) >= 5, earlier=0.0)
    reads = [stopwatch.read() for _ in range(400)]
    other = Stopwatch(Network(1, main.sent), lambda: False, earlier=0.0)
    assert [other.read() for _ in range(400)] == reads
    assert [stop for _, stop in reads].index(True) < 4 * 5 * SYNC_SECONDS / 0.01


def test_a_single_process_reads_its_clock_and_asks_for_a_stop_each_step():
    asked = itertools.count()
    stopwatch = Stopwatch(Network(0, processes=1), lambda: next(asked) == 2, earlier=0.0)
    assert [stopwatch.read()[1] for _ in range(3)] == [False, False, True]
