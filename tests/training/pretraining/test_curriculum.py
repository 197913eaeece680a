"""What a run is given to read and which layers it trains, part after part."""

import threading
from contextlib import closing

import pytest
import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.batches import MASKED_EVERY
from bertviz_lab.training.pretraining.curriculum import (
    Curriculum,
    DataPosition,
    phases,
    shallow_share,
    stacking_note,
    stages,
    work_by_phase,
    work_done,
)
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
        ({"causal_detour": 0.3, "init_from": "wiki-tiny"}, [(0.3, True, 16, 4), (1.0, False, 16, 4)]),
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
    assert not curriculum.is_last
    kinds = [next(curriculum).causal for _ in range(2 * MASKED_EVERY)]
    assert kinds == [number % MASKED_EVERY != 0 for number in range(2 * MASKED_EVERY)]
    done[0] = 0.5
    assert not any(next(curriculum).causal for _ in range(MASKED_EVERY))
    assert not curriculum.is_causal
    assert curriculum.is_last
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


def test_a_run_tells_once_of_longer_examples_and_looks_ahead_to_them(tokenizer):
    config, done, told = settings(causal_share=0.2, short_seq_len=8, short_share=0.5), [0.0], []
    plan = stages(config, small_data(tokenizer, batch_size=2))
    for position in (None, DataPosition(2)):
        with closing(
            Curriculum(plan, lambda: done[0], position, on_longer=lambda *lengths: told.append(lengths))
        ) as curriculum:
            for done[0] in (0.0, 0.3, 0.6, 0.9):
                next(curriculum)
    assert told == [(8, plan[-1].data.seq_len)], "nothing is told by a run that is resumed after it"
    done[0] = 0.0
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


def stacked(**changes) -> PretrainConfig:
    return PretrainConfig(**({"corpus": ("a",), "preset": "mini", "causal_share": 0.0, "shallow_share": 0.6} | changes))


def parts_of(layers: int, **changes) -> list[tuple[float, bool, int]]:
    return [(round(phase.share, 6), phase.causal, phase.layers) for phase in phases(stacked(**changes), layers)]


@pytest.mark.parametrize(("layers", "first", "then"), [(4, 1, 2), (12, 3, 6), (24, 6, 12), (2, 1, 1), (3, 1, 1)])
def test_a_quarter_of_the_layers_is_trained_first_then_half_then_all(layers, first, then):
    assert parts_of(layers) == [(0.45, False, first), (0.15, False, then), (0.4, False, layers)]


def test_the_causal_warm_up_may_end_between():
    assert parts_of(4, causal_share=0.5) == [(0.45, True, 1), (0.05, True, 2), (0.1, False, 2), (0.4, False, 4)]


@pytest.mark.parametrize(
    "changes",
    [
        {"share_layers": True},
        {"patience": 3},
        {"family": "albert"},
        {"init_from": "a"},
        {"recipe": "distil", "teacher": "a"},
    ],
)
def test_layers_that_are_trained_already_or_are_one_do_not_join_later(changes):
    assert shallow_share(stacked(**changes)) == 0.0
    assert parts_of(4, **changes) == [(1.0, False, 4)]


@pytest.mark.parametrize(
    ("layers", "note"),
    [
        (4, "1 of 4 layers is trained at first, 2 from 45% of the run on, all from 60% of the run on."),
        (12, "3 of 12 layers are trained at first, 6 from 45% of the run on, all from 60% of the run on."),
        (2, "1 of 2 layers is trained at first, all from 60% of the run on."),
    ],
)
def test_a_run_says_when_its_layers_join(layers, note):
    assert stacking_note(stacked(), layers) == f"Progressive stacking: {note}"
    assert stacking_note(stacked(shallow_share=0.0), layers) == ""
    assert stacking_note(stacked(init_from="a"), layers) == ""


def test_steps_with_few_layers_are_a_smaller_part_of_the_work():
    config = stacked(shallow_share=0.5, mask_probability=0.15)
    model = config.model_config(8192)
    layer, vocabulary = 12 * 256**2, 0.15 * 256 * 8192
    works = [layers * layer + vocabulary for layers in (1, 2, 4)]
    shares, costs = zip(*work_by_phase(config, model), strict=True)
    assert (shares, costs) == (pytest.approx((0.375, 0.125, 0.5)), pytest.approx(works))
    total = 0.375 * works[0] + 0.125 * works[1] + 0.5 * works[2]
    assert work_done(config, model, 0.0) == 0.0
    assert work_done(config, model, 0.4) == pytest.approx((0.375 * works[0] + 0.025 * works[1]) / total)
    assert work_done(config, model, 1.0) == pytest.approx(1.0)
    assert work_done(stacked(shallow_share=0.0), model, 0.4) == pytest.approx(0.4)
