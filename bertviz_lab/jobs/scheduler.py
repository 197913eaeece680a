"""The one scheduler: who is served next, for questions, file workers and training runs alike.

A visitor is a path, such as (network address, browser). Free places go round the addresses first and round the browsers
of an address then, since anybody can make up browsers. So a request waits for about as many others as there are
addresses, however many each of them sends.

`fair_order` and `plan_starts` are the rule, as plain functions. `Scheduler` applies it to jobs in memory;
`jobs.runs.Runs` applies it to runs that wait on disk, also across a restart.
"""

import heapq
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

#: (network address, browser); "" where one is not known.
Visitor = tuple[str, ...]

_EMA_DECAY = 0.7  # of the expected seconds of a job, with each measurement
_TOO_MANY_OF_ONE = "Too many of your questions were waiting; newer ones have taken this one's place."
_TOO_MANY_IN_ALL = "This server is busy with the questions of others; try again in a moment."


def groups_of(visitor: Visitor) -> list[Visitor]:
    """Return the groups that a visitor is in: everybody at the address, then those of the same browser, too."""
    return [visitor[:level] for level in range(1, len(visitor) + 1)]


def fair_order(waiting: Iterable["Job"], active: Sequence[Visitor], served: Mapping[Visitor, float]) -> list["Job"]:
    """Return the waiting jobs in the order in which they start if no others arrive.

    `active` has the visitor of each job that is being worked on; `served` has the time at which an address, or a
    visitor, was last served, on the clock of `arrived`. The fewest jobs so far come first, then the longest wait.
    """
    order = sorted(waiting, key=lambda job: job.arrived)
    depth = max((len(job.visitor) for job in order), default=0)
    for level in range(depth, 0, -1):  # the browsers of each address take turns first, then the addresses
        rounds = Counter(visitor[:level] for visitor in active)
        ranks: dict[int, tuple[int, float]] = {}
        for job in order:
            group = job.visitor[:level]
            ranks[id(job)] = rounds[group], max(job.arrived, served.get(group, 0.0))
            rounds[group] += 1
        order.sort(key=lambda job: ranks[id(job)])
    return order


@dataclass(frozen=True)
class Start:
    """When a job starts."""

    before: int  # jobs that start earlier
    seconds: float  # until it starts, or at least until then
    at_least: bool = False  # a job before it takes nobody knows how long


def plan_starts(expected: Sequence[float | None], left: Sequence[float | None], places: int) -> list[Start]:
    """Return when each job of a queue starts.

    `expected` has the seconds that each job of the queue will take, in order, and `left` those that each active job
    still takes; None where that is not known.
    """
    ends = [(seconds or 0.0, seconds is None) for seconds in left] + [(0.0, False)] * (places - len(left))
    heapq.heapify(ends)
    starts = []
    for before, seconds in enumerate(expected):
        start, at_least = heapq.heappop(ends)
        starts.append(Start(before, start, at_least))
        heapq.heappush(ends, (start + (seconds or 0.0), at_least or seconds is None))
    return starts


class Cancelled(BaseException):
    """The job was cancelled; no `Exception`, because code that handles errors of a computation must not swallow it."""


@dataclass(frozen=True)
class Capacity:
    """How many jobs of a kind are worked on at a time."""

    places: int  # of all visitors
    per_visitor: int
    seconds: float  # expected of a job before any of its name was measured


@dataclass(eq=False)
class Job:
    """A piece of work: it waits until it `began`, and is active until `Scheduler.finish`."""

    visitor: Visitor
    name: str
    kind: str
    arrived: float
    began: float | None = None  # on the clock of the scheduler
    share: float = 0.0  # done so far, 0 to 1
    cancelled: str = ""  # the reason, as a sentence
    waits_for: "Job | None" = None  # another one that this one has submitted
    ready: "Future[None]" = field(default_factory=Future)  # done when the job may begin, or is cancelled

    def report(self, share: float) -> None:
        """Note how much is done. Raises `Cancelled`."""
        self.share = share
        self.check()

    def check(self) -> None:
        """Raise `Cancelled` where the job was cancelled."""
        if self.cancelled:
            raise Cancelled


class Scheduler:
    """Jobs in memory; safe to use from many threads.

    At most `waiting_per_visitor` jobs of a visitor wait, and `waiting_in_all` of all visitors.
    """

    def __init__(
        self,
        kinds: Mapping[str, Capacity],
        waiting_per_visitor: int,
        waiting_in_all: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kinds, self._clock = kinds, clock
        self._waiting_per_visitor, self._waiting_in_all = waiting_per_visitor, waiting_in_all
        self._waiting: list[Job] = []
        self._active: list[Job] = []
        self._served: dict[str, dict[Visitor, float]] = {kind: {} for kind in kinds}  # while they have jobs waiting
        self._seconds: dict[str, float] = {}  # by the name of a job, what it takes
        self._tick = itertools.count(1).__next__  # orders arrivals and ends
        self._lock = threading.RLock()

    def submit(self, visitor: Visitor, name: str, kind: str) -> Job:
        """Add a job. Where too many of the visitor wait, their oldest one is cancelled, of the same name if any.

        Where too many wait in all, one of the address with the most is cancelled.
        """
        with self._lock:
            own = [job for job in self._waiting if job.visitor == visitor]
            if len(own) >= self._waiting_per_visitor:
                self.cancel(min(own, key=lambda job: (job.name != name, job.arrived)), _TOO_MANY_OF_ONE)
            elif len(self._waiting) >= self._waiting_in_all:
                ((crowd, _),) = Counter(job.visitor[:1] for job in self._waiting).most_common(1)
                self.cancel(next(job for job in self._waiting if job.visitor[:1] == crowd), _TOO_MANY_IN_ALL)
            job = Job(visitor, name, kind, self._tick())
            self._waiting.append(job)
            self._begin_next()
            return job

    def cancel(self, job: Job, reason: str) -> None:
        """Cancel a job; an active one ends when it next reports."""
        with self._lock:
            job.cancelled = job.cancelled or reason
            if job in self._waiting:
                self._waiting.remove(job)
                _wake(job)

    def finish(self, job: Job) -> None:
        """Give the place of a job, active or waiting, to the next one."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
            if job in self._active:
                self._active.remove(job)
                taken = self._clock() - (job.began or 0.0)
                if not job.cancelled:
                    average = self._seconds.get(job.name, taken)
                    self._seconds[job.name] = _EMA_DECAY * average + (1 - _EMA_DECAY) * taken
                self._served[job.kind] |= dict.fromkeys(groups_of(job.visitor), self._tick())
            for kind, served in self._served.items():
                waiting = {group for other in self._waiting if other.kind == kind for group in groups_of(other.visitor)}
                self._served[kind] = {group: tick for group, tick in served.items() if group in waiting}
            self._begin_next()

    def start_of(self, job: Job) -> Start | None:
        """Return when a waiting job starts, as far as can be estimated; None for one that waits no longer."""
        with self._lock:
            if job not in self._waiting:
                return None
            order = self._order(job.kind)
            active = [other for other in self._active if other.kind == job.kind]
            first, then = ([other for other in jobs if other.visitor == job.visitor] for jobs in (order, active))
            start = self._planned(job, order, active, self._kinds[job.kind].places)
            last = self._planned(job, first, then, self._kinds[job.kind].per_visitor)
            return start if last.seconds <= start.seconds else Start(start.before, last.seconds)

    def _planned(self, job: Job, order: list[Job], active: list[Job], places: int) -> Start:
        starts = plan_starts(list(map(self._expected, order)), list(map(self._left, active)), places)
        return starts[order.index(job)]

    def __len__(self) -> int:
        return len(self._waiting) + len(self._active)

    def _order(self, kind: str) -> list[Job]:
        active = [job.visitor for job in self._active if job.kind == kind]
        return fair_order((job for job in self._waiting if job.kind == kind), active, self._served[kind])

    def _begin_next(self) -> None:
        for kind, capacity in self._kinds.items():
            holders = Counter(job.visitor for job in self._active if job.kind == kind)
            for job in self._order(kind) if holders.total() < capacity.places else ():
                if holders.total() < capacity.places and holders[job.visitor] < capacity.per_visitor:
                    holders[job.visitor] += 1
                    self._waiting.remove(job)
                    self._active.append(job)
                    job.began = self._clock()
                    _wake(job)

    def _expected(self, job: Job) -> float:
        return self._seconds.get(job.name, self._kinds[job.kind].seconds)

    def _left(self, job: Job) -> float:
        """Estimate the remaining seconds of an active job, from its progress or from others of its name."""
        spent = self._clock() - (job.began or 0.0)
        if job.share > 0:
            return spent * (1 - job.share) / job.share
        expected = self._expected(job)
        return expected - spent if spent < expected else spent  # longer than usual: as long again


def _wake(job: Job) -> None:
    if job.ready.set_running_or_notify_cancel():  # False where the waiting coroutine was cancelled
        job.ready.set_result(None)
