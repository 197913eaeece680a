"""The last few of something that takes long to make."""

import threading

import pytest

from bertviz_lab.ui.state.lru_cache import LruCache


@pytest.mark.parametrize(
    ("cache", "asked", "made"),
    [
        (LruCache(2), (1, 2, 1, 3, 1, 2), [1, 2, 3, 2]),
        # By weight: 3 drives out 5, which drives out nothing but 3, and 20 all the others.
        (LruCache(10, weigh=int), (4, 5, 4, 3, 4, 5, 20, 20), [4, 5, 3, 5, 20]),
        # Where small ones stay, a large one drives out the large.
        (LruCache(100, weigh=int, small_stay=True), (1, 2, 3, 60, 70, 60, 70, 1, 2, 3), [1, 2, 3, 60, 70, 60, 70]),
    ],
)
def test_a_value_is_made_once_while_it_is_kept(cache: LruCache, asked: tuple[int, ...], made: list[int]) -> None:
    calls: list[int] = []

    def make(n: int) -> int:
        calls.append(n)
        return n

    assert [cache.get(n, lambda n=n: make(n)) for n in asked] == list(asked)
    assert calls == made


def test_of_several_who_ask_at_once_one_makes_it() -> None:
    kept, made, ready = LruCache(2), [], threading.Event()

    def slow() -> str:
        made.append(1)
        ready.wait(5)
        return "it"

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(kept.get("key", slow))) for _ in range(4)]
    for thread in threads:
        thread.start()
    ready.set()
    for thread in threads:
        thread.join()
    assert (made, found) == ([1], ["it"] * 4)


def test_what_fails_is_tried_again() -> None:
    kept = LruCache(2)
    with pytest.raises(ZeroDivisionError):
        kept.get("key", lambda: 1 // 0)
    assert kept.get("key", lambda: 7) == 7


def test_no_lock_is_left_of_what_was_made_or_failed() -> None:
    kept = LruCache(2)
    for n in range(100):
        kept.get(n, lambda: 1)
        kept.get(n, lambda: 1)
    with pytest.raises(ZeroDivisionError):
        kept.get("key", lambda: 1 // 0)
    assert len(kept) == 2
    assert not kept._making


def test_what_nobody_will_ask_for_again_is_forgotten() -> None:
    kept = LruCache(4)
    for n in range(4):
        kept.get(n, lambda: "old")
    kept.discard(lambda n: n < 3)
    assert [kept.get(n, lambda: "new") for n in range(4)] == ["new", "new", "new", "old"]


def test_those_who_wait_for_what_fails_make_it_themselves() -> None:
    kept, made, waiting = LruCache(2), [], threading.Barrier(3)

    def make() -> str:
        made.append(1)
        if len(made) == 1:
            raise InterruptedError("whoever asked has left")
        return "it"

    answers: list[str] = []

    def ask() -> None:
        waiting.wait(5)
        try:
            answers.append(kept.get("key", make))
        except InterruptedError:
            answers.append("")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(answers), len(made)) == (["", "it", "it"], 2)
