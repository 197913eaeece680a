"""In which order runs that wait start, and when: those who start them take turns."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

#: From the start of a process to its first step: Python, PyTorch and a text that was prepared before.
PREPARING_SECONDS = 8.0


@dataclass(frozen=True)
class WaitingRun:
    """A run in the queue.

    Attributes:
        run_id: its id.
        owner: who started it; "" where nobody is known, and it has a turn of its own.
        since: when it began to wait, as Unix time.
        seconds: how long it will train; None where it trains for a number of steps.
    """

    run_id: str
    owner: str
    since: float
    seconds: float | None


@dataclass(frozen=True)
class Start:
    """When a run starts: in so many seconds, or later where a run before it trains for a number of steps."""

    before: int  # runs that start earlier
    seconds: float
    at_least: bool


def in_turn(waiting: Iterable[WaitingRun], training: Iterable[str], served: Mapping[str, float]) -> list[WaitingRun]:
    """The runs in the order in which they start.

    `training` has the owner of each run that trains, `served` when an owner's last run ended. First comes whoever has
    the fewest runs before, then whoever has waited longest since they had one: five runs of one owner do not hold up
    another's first.
    """
    rounds = Counter(training)
    ranks = {}
    for run in sorted(waiting, key=lambda run: (run.since, run.run_id)):
        owner = run.owner or run.run_id
        ranks[run] = rounds[owner], max(run.since, served.get(owner, 0.0)), run.run_id
        rounds[owner] += 1
    return sorted(ranks, key=ranks.__getitem__)


def starts(order: Sequence[WaitingRun], training: Sequence[float | None], places: int) -> dict[str, Start]:
    """When each run starts; `training` has the seconds that each run at work still takes, None where not known."""
    ends = [(left or 0.0, left is None) for left in training] + [(0.0, False)] * (places - len(training))
    heapq.heapify(ends)
    planned = {}
    for before, run in enumerate(order):
        start, at_least = heapq.heappop(ends)
        planned[run.run_id] = Start(before, start, at_least)
        end = start + PREPARING_SECONDS + (run.seconds or 0.0)
        heapq.heappush(ends, (end, at_least or run.seconds is None))
    return planned


def words_of(start: Start) -> str:
    """Such as "One other is before it in the queue; it starts in about 2 min."."""
    messages = {0: "It is next in the queue", 1: "One other is before it in the queue"}
    place = messages.get(start.before, f"{start.before} others are before it in the queue")
    if start.seconds < (60 if start.at_least else 1):  # nothing that helps
        return f"{place}."
    return f"{place}; it starts in {'at least' if start.at_least else 'about'} {_duration(start.seconds)}."


def _duration(seconds: float) -> str:
    if seconds < 57.5:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
