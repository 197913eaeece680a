"""The last few of something that takes long to make."""

import threading

import pytest

from bertviz_lab.ui.state.lru_cache import LruCache


def test_it_is_made_once_while_it_is_among_the_last_few() -> None:
    made: list[int] = []
    kept = LruCache(2)

    def make(n: int) -> int:
        made.append(n)
        return n

    for n in (1, 2, 1, 3, 1, 2):
        assert kept.get(n, lambda n=n: make(n)) == n
    assert made == [1, 2, 3, 2]


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


def test_values_may_be_kept_by_their_weight() -> None:
    made: list[int] = []
    kept = LruCache(10, weigh=int)

    def make(n: int) -> int:
        made.append(n)
        return n

    for n in (4, 5, 4, 3, 4, 5, 20, 20):  # 3 drives out 5, which drives out nothing but 3, and 20 all the others
        assert kept.get(n, lambda n=n: make(n)) == n
    assert made == [4, 5, 3, 5, 20]
