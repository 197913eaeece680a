"""What a run is given to read, part after part."""

import threading
from contextlib import closing

import torch

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.batches import MASKED_EVERY
from bertviz_lab.training.pretraining.curriculum import Curriculum, DataPosition, stages
from tests.training.support import small_data


def settings(**changes) -> PretrainConfig:
    return PretrainConfig(**({"corpus": ("a",), "seq_len": 16, "batch_size": 4} | changes))


def parts(tokenizer, **changes) -> list[tuple[float, bool, int, int]]:
    config = settings(**changes)
    data = small_data(tokenizer, seq_len=config.seq_len, batch_size=config.batch_size)
    return [(s.until, s.data.causal, s.data.seq_len, s.data.batch_size) for s in stages(config, data)]


def test_a_run_is_causal_first_and_then_as_bert(tokenizer):
    assert parts(tokenizer, causal_share=0.3) == [(0.3, True, 16, 4), (1.0, False, 16, 4)]


def test_without_a_first_part_there_is_one(tokenizer):
    assert parts(tokenizer, causal_share=0.0) == [(1.0, False, 16, 4)]


def test_a_model_that_knows_a_language_needs_no_easy_start(tokenizer):
    found = parts(tokenizer, causal_share=0.3, short_seq_len=8, short_share=0.5, init_from="wiki-tiny")
    assert found == [(1.0, False, 16, 4)]


def test_short_examples_come_in_larger_batches(tokenizer):
    found = parts(tokenizer, causal_share=0.0, short_seq_len=8, short_share=0.9)
    assert found == [(0.9, False, 8, 8), (1.0, False, 16, 4)]


def test_both_first_parts_overlap(tokenizer):
    found = parts(tokenizer, causal_share=0.2, short_seq_len=8, short_share=0.5)
    assert found == [(0.2, True, 8, 8), (0.5, False, 8, 8), (1.0, False, 16, 4)]


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


def test_reading_forwards_asks_for_each_next_token_and_never_for_a_special_one(tokenizer):
    curriculum = Curriculum(stages(settings(causal_share=0.5), small_data(tokenizer)), lambda: 0.0)
    batch = [next(curriculum) for _ in range(2)][1]
    assert batch.causal
    special = torch.tensor(sorted(tokenizer.special_ids))
    for row in range(len(batch.input_ids)):
        following = batch.input_ids[row, 1:]
        asked = batch.labels[row] != -100
        assert torch.equal(batch.labels[row][asked], following[asked])
        assert torch.equal(~asked, torch.isin(following, special))
    assert batch.label_count == int((batch.labels != -100).sum())
    assert batch.next_sentence_label is None
    assert not torch.isin(batch.input_ids, torch.tensor(tokenizer.mask_id)).any()
