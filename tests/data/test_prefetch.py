"""Batches made ahead of time: the same ones in the same order, a place to resume at, and no thread left behind."""

import gc
import multiprocessing
import threading
from dataclasses import dataclass

import pytest
import torch

from bertviz_lab.data.batches import Batch, BatchStream, Prefetcher


@dataclass(frozen=True)
class Numbers:
    """Three batches an epoch; each holds its epoch and its number."""

    fails_at: tuple[int, int] = (-1, -1)

    def epoch(self, number: int):
        return iter(range(3))

    def batch_at(self, rows: int, epoch: int, number: int) -> Batch:
        if (epoch, number) == self.fails_at:
            raise RuntimeError("a broken batch")
        ids = torch.tensor([[epoch, rows]])
        return Batch(input_ids=ids, token_type_ids=ids, attention_mask=None, real_tokens=2)


@pytest.fixture(autouse=True)
def _no_thread_is_left_behind():
    before = set(threading.enumerate())
    yield
    assert not set(threading.enumerate()) - before
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("in_process", [False, True])
def test_batches_come_in_the_order_of_the_stream_with_its_places(in_process):
    plain, ahead = BatchStream(Numbers()), Prefetcher(BatchStream(Numbers()), in_process=in_process)
    for _ in range(10):
        assert next(ahead).input_ids.tolist() == next(plain).input_ids.tolist()
        assert (ahead.epoch, ahead.number) == (plain.epoch, plain.number)
    ahead.close()


def test_the_place_is_that_of_the_next_batch_to_be_taken_and_not_of_the_next_to_be_made():
    ahead = Prefetcher(BatchStream(Numbers(), 1, 2), ahead=8)
    assert (ahead.epoch, ahead.number) == (1, 2)
    assert next(ahead).name == "epoch 2, batch 3"
    while ahead._ready.qsize() < 8:  # the thread is far ahead
        pass
    assert (ahead.epoch, ahead.number) == (1, 3)
    resumed = Prefetcher(BatchStream(Numbers(), ahead.epoch, ahead.number))
    assert next(resumed).name == next(ahead).name == "epoch 3, batch 1"
    ahead.close()
    resumed.close()


@pytest.mark.parametrize("in_process", [False, True])
def test_an_error_comes_where_its_batch_would_have_come_and_ends_the_thread(in_process):
    ahead = Prefetcher(BatchStream(Numbers(fails_at=(0, 2))), in_process=in_process)
    assert [next(ahead).name, next(ahead).name] == ["epoch 1, batch 1", "epoch 1, batch 2"]
    with pytest.raises(RuntimeError, match="a broken batch"):
        next(ahead)
    with pytest.raises(StopIteration):
        next(ahead)


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_close_ends_the_thread_even_while_it_waits_for_room(taken):
    ahead = Prefetcher(BatchStream(Numbers()), ahead=1)
    for _ in range(taken):
        next(ahead)
    ahead.close()
    assert not ahead._thread.is_alive()
    ahead.close()


def test_the_thread_of_a_forgotten_prefetcher_ends():
    ahead = Prefetcher(BatchStream(Numbers()), ahead=1)
    next(ahead)
    thread = ahead._thread
    del ahead
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()
