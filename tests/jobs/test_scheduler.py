"""Who is served next: addresses take turns, then the browsers of an address."""

import threading

import pytest

from bertviz_lab.jobs.scheduler import Cancelled, Capacity, Job, Scheduler, Start, plan_starts


class Served(Scheduler):
    """A scheduler of "quick" and "slow" jobs with a clock that stands still."""

    def __init__(
        self, places: int = 1, per_visitor: int = 100, waiting_per_visitor: int = 100, waiting_in_all: int = 200
    ) -> None:
        self.now = 100.0
        kind = Capacity(places, per_visitor, 10.0)
        super().__init__({"quick": kind, "slow": kind}, waiting_per_visitor, waiting_in_all, lambda: self.now)
        self.jobs: dict[str, Job] = {}

    def ask(self, label: str, kind: str = "quick", name: str = "toy.it") -> Job:
        """Submit a job; its label is ADDRESS[/BROWSER] NUMBER."""
        self.jobs[label] = self.submit(tuple(label.split()[0].split("/")), name, kind)
        return self.jobs[label]

    def order(self) -> list[str]:
        """The labels of all jobs in the order in which they begin; each ends before the next begins."""
        begun = []
        while active := [label for label, job in self.jobs.items() if job in self._active]:
            begun += active[:1]
            self.finish(self.jobs[active[0]])
        return begun

    def begun(self) -> list[str]:
        return [label for label, job in self.jobs.items() if job.began is not None]

    def cancelled(self) -> list[str]:
        return [label for label, job in self.jobs.items() if job.cancelled]


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        ("a_1 a_2 a_3 a_4 b_1 c_1 b_2", "a_1 b_1 c_1 a_2 b_2 a_3 a_4"),  # visitors take turns
        ("a/1_x a/2_x a/3_x a/4_x b/1_x b/1_y", "a/1_x b/1_x a/2_x b/1_y a/3_x a/4_x"),  # whatever their cookies
        ("a/1_x a/1_y a/1_z a/2_x b/1_x", "a/1_x b/1_x a/2_x a/1_y a/1_z"),  # so do the browsers of an address
    ],
)
def test_free_places_go_round_the_addresses_and_then_round_their_browsers(labels: str, order: str) -> None:
    scheduler = Served()
    for label in labels.split():
        scheduler.ask(label.replace("_", " "))
    assert scheduler.order() == [label.replace("_", " ") for label in order.split()]
    assert not any(scheduler._served.values()), "nothing is kept of visitors who wait no longer"


def test_one_visitor_leaves_places_for_others_and_kinds_do_not_wait_for_each_other() -> None:
    scheduler = Served(places=4, per_visitor=2)
    for number in range(4):
        scheduler.ask(f"eager {number}")
    scheduler.ask("eager 4", kind="slow")
    scheduler.ask("calm 0")
    assert scheduler.begun() == ["eager 0", "eager 1", "eager 4", "calm 0"]
    assert scheduler.start_of(scheduler.jobs["eager 2"]) == Start(0, 10.0)  # although a place is free


def test_too_many_of_one_visitor_give_way_to_newer_ones_of_the_same_name_first() -> None:
    scheduler = Served(waiting_per_visitor=2)
    scheduler.ask("eager 1")
    scheduler.ask("eager 2", name="toy.other")
    for label in ("eager 3", "calm 1", "eager 4"):
        scheduler.ask(label)
    assert scheduler.cancelled() == ["eager 3"]
    assert scheduler.start_of(scheduler.jobs["eager 4"]) == Start(2, 30.0)


def test_where_too_many_wait_in_all_the_address_with_the_most_gives_way() -> None:
    scheduler = Served(waiting_in_all=3)
    for number in range(4):
        scheduler.ask(f"crowd/{number} x")
    scheduler.ask("calm/0 x")
    assert scheduler.cancelled() == ["crowd/1 x"]


def test_a_cancelled_job_never_begins_and_an_active_one_ends_at_its_next_report() -> None:
    scheduler = Served()
    first, second, _ = scheduler.ask("a 1"), scheduler.ask("b 1"), scheduler.ask("b 2")
    first.report(0.5)
    scheduler.cancel(first, "gone")
    scheduler.cancel(second, "gone")
    assert second.ready.done()
    with pytest.raises(Cancelled):
        first.report(0.6)
    assert scheduler.order() == ["a 1", "b 2"]
    assert len(scheduler) == 0


def test_the_expected_time_is_learned_from_earlier_jobs_of_the_name() -> None:
    scheduler = Served()
    first, second = scheduler.ask("a 1"), scheduler.ask("b 1")
    scheduler.now += 3
    assert scheduler.start_of(first) is None  # it is active
    assert scheduler.start_of(second) == Start(0, 7.0)  # of the ten that are assumed before the first measurement
    scheduler.finish(first)
    third, fourth = scheduler.ask("a 2"), scheduler.ask("c 1")
    assert scheduler.start_of(third) == Start(0, 3.0)
    assert scheduler.start_of(fourth) == Start(1, 6.0)
    second.report(0.5)
    scheduler.now += 1
    assert scheduler.start_of(third) == Start(0, 1.0)  # half is done after one second


def test_jobs_of_many_threads_all_begin_and_end() -> None:
    scheduler = Served(places=2)
    most, lock, done = [0], threading.Lock(), []

    def work(number: int) -> None:
        job = scheduler.submit((str(number % 3), ""), "toy", "quick")
        job.ready.result(30)
        with lock:
            most[0] = max(most[0], len(scheduler._active))
        scheduler.finish(job)
        done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(done) == list(range(30))
    assert most[0] <= 2


@pytest.mark.parametrize(
    ("expected", "left", "places", "starts"),
    [
        ([68.0, 68.0, 68.0], [30.0], 1, [Start(0, 30), Start(1, 98), Start(2, 166)]),
        ([68.0, 68.0, 68.0], [30.0, 100.0], 2, [Start(0, 30), Start(1, 98), Start(2, 100)]),
        ([68.0], [30.0], 2, [Start(0, 0)]),
        ([None, 68.0], [90.0], 1, [Start(0, 90), Start(1, 90, True)]),  # nobody knows how long a job before takes
        ([68.0], [None], 1, [Start(0, 0, True)]),
    ],
)
def test_a_job_starts_when_those_before_have_had_their_time(
    expected: list[float | None], left: list[float | None], places: int, starts: list[Start]
) -> None:
    assert plan_starts(expected, left, places) == starts
