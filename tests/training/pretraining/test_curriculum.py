"""What a run is given to read, part after part."""

import threading
from contextlib import closing

import pytest
import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.batches import MASKED_EVERY
from bertviz_lab.training.pretraining.curriculum import Curriculum, DataPosition, stages
from tests.training.support import small_data


def settings(**changes) -> PretrainConfig:
    return PretrainConfig(**({"corpus": ("a",), "seq_len": 16, "batch_size": 4} | changes))


SHORT = {"short_seq_len": 8, "short_share": 0.5}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"causal_share": 0.3}, [(0.3, True, 16, 4), (1.0, False, 16, 4)]),
        ({"causal_share": 0.0}, [(1.0, False, 16, 4)]),
        ({"causal_share": 0.0, **SHORT}, [(0.5, False, 8, 8), (1.0, False, 16, 4)]),
        ({"causal_share": 0.2, **SHORT}, [(0.2, True, 8, 8), (0.5, False, 8, 8), (1.0, False, 16, 4)]),
        ({"causal_share": 0.3, **SHORT, "init_from": "wiki-tiny"}, [(1.0, False, 16, 4)]),  # needs no easy start
    ],
)
def test_a_run_is_causal_first_and_short_examples_come_in_larger_batches(changes, parts, tokenizer):
    config = settings(**changes)
    data = small_data(tokenizer, seq_len=config.seq_len, batch_size=config.batch_size)
    found = [(s.until, s.data.causal, s.data.seq_len, s.data.batch_size) for s in stages(config, data)]
    assert found == parts


def test_the_part_changes_when_its_share_of_the_run_is_done(tokenizer):
    config, done = settings(causal_share=0.5), [0.0]
    curriculum = Curriculum(stages(config, small_data(tokenizer, batch_size=2)), lambda: done[0])
    assert curriculum.is_causal
    kinds = [next(curriculum).causal for _ in range(2 * MASKED_EVERY)]
    assert kinds == [number % MASKED_EVERY != 0 for number in range(2 * MASKED_EVERY)]
    done[0] = 0.5
    assert not any(next(curriculum).causal for _ in range(MASKED_EVERY))
    assert not curriculum.is_causal
    assert curriculum.position == DataPosition(1, 0, MASKED_EVERY)


def test_a_stage_that_is_over_leaves_no_thread_and_no_batch_of_it_behind(tokenizer):
    done, before = [0.0], set(threading.enumerate())
    config = settings(causal_share=0.5)
    curriculum = Curriculum(stages(config, small_data(tokenizer, batch_size=2)), lambda: done[0])
    next(curriculum)
    done[0] = 0.5
    assert not next(curriculum).causal, "batches made ahead for the first stage are dropped"
    assert len(set(threading.enumerate()) - before) == 1
    curriculum.close()
    assert not set(threading.enumerate()) - before


def test_it_tells_once_of_longer_examples(tokenizer):
    config, done, told = settings(causal_share=0.2, short_seq_len=8, short_share=0.5), [0.0], []
    plan = stages(config, small_data(tokenizer, batch_size=2))
    for position in (None, DataPosition(2)):
        with closing(
            Curriculum(plan, lambda: done[0], position, on_longer=lambda *lengths: told.append(lengths))
        ) as curriculum:
            for done[0] in (0.0, 0.3, 0.6, 0.9):
                next(curriculum)
    assert told == [(8, plan[-1].data.seq_len)], "nothing is told by a run that is resumed after it"


def test_looking_ahead_it_tells_of_longer_examples_that_are_to_come(tokenizer):
    config, done, told = settings(causal_share=0.2, short_seq_len=8, short_share=0.5), [0.0], []
    plan = stages(config, small_data(tokenizer, batch_size=2))
    with closing(Curriculum(plan, lambda: done[0], on_longer=lambda *lengths: told.append(lengths))) as curriculum:
        for done[0] in (0.0, 0.1, 0.3, 0.6):
            next(curriculum)
            told.clear()
            curriculum.look_ahead()
            assert told == ([(8, plan[-1].data.seq_len)] if 0 < done[0] < 0.5 else [])


def test_it_goes_on_at_its_position(tokenizer):
    config, done = settings(causal_share=0.5), [0.0]
    found = stages(config, small_data(tokenizer))
    for share, before in ((0.2, 3), (0.7, 2)):
        done[0] = share
        first = Curriculum(found, lambda: done[0])
        for _ in range(before):
            next(first)
        second = Curriculum(found, lambda: done[0], first.position)
        for _ in range(4):
            a, b = next(first), next(second)
            assert torch.equal(a.input_ids, b.input_ids)
            assert torch.equal(a.labels, b.labels)
            assert a.name == b.name
