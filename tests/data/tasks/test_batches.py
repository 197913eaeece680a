"""From rows to batches: padding, parts, and an order that follows from seed, epoch and number alone."""

import numpy as np
import pytest
import torch

from bertviz_lab.config import IGNORE_INDEX
from tests.training.finetuning.support import TASKS, batch_of, batches_of, features_of, little_tokenizer

TOKENIZER = little_tokenizer()


@pytest.mark.parametrize("task", TASKS)
def test_a_batch_is_its_rows_and_padding(task) -> None:
    features = features_of(task, TOKENIZER)
    batch = batch_of(features, TOKENIZER)
    width = batch.input_ids.shape[1]
    assert width % 8 == 0
    assert width - max(map(len, features.ids)) < 8
    assert batch.attention_mask is not None
    for n, ids in enumerate(features.ids):
        assert batch.input_ids[n].tolist() == [*ids, *[TOKENIZER.pad_id] * (width - len(ids))]
        assert batch.attention_mask[n].tolist() == [p < len(ids) for p in range(width)]
        segments = [int(features.segment_b[n] <= p < len(ids)) for p in range(width)]
        assert batch.token_type_ids[n].tolist() == segments
        target = features.targets[n]
        if task == "tokens":
            assert batch.targets[n].tolist() == [*target, *[IGNORE_INDEX] * (width - len(ids))]
        else:
            assert np.array_equal(batch.targets[n].numpy(), target)
    assert batch.real_tokens == sum(map(len, features.ids)) == int(batch.attention_mask.sum())
    asked = {"tokens": sum(map(len, features.word_starts)), "qa": len(features)}.get(task, 16)
    assert (batch.count, batch.total) == (asked, asked)


def test_rows_of_one_length_that_need_no_padding_have_no_mask() -> None:
    features = features_of("classification", TOKENIZER)
    features.ids[:] = [np.resize(ids, 16) for ids in features.ids]
    batch = batch_of(features, TOKENIZER)
    assert batch.attention_mask is None
    assert batch.micro_batch(1, 3).real_tokens == 5 * 16


def test_the_weight_of_a_batch_is_that_of_its_classes() -> None:
    features = features_of("classification", TOKENIZER)
    weights = np.array([1.0, 2.0, 5.0], dtype=np.float32)
    assert batch_of(features, TOKENIZER, weights).total == sum(weights[c] for c in features.targets)
    features.targets[3] = IGNORE_INDEX
    batch = batch_of(features, TOKENIZER, weights)
    assert batch.count == 15
    assert batch.total == sum(weights[c] for c in features.targets if c != IGNORE_INDEX)


@pytest.mark.parametrize("size", [1, 4, 5, 100])
def test_an_epoch_has_every_row_once(size) -> None:
    data = batches_of(features_of("tokens", TOKENIZER), TOKENIZER, size)
    for number in range(3):
        rows = list(data.epoch(number))
        assert len(rows) == data.in_an_epoch
        assert sorted(np.concatenate(rows).tolist()) == list(range(len(data.features)))
        assert max(map(len, rows)) <= size
    assert sorted(torch.cat([batch.rows for batch in data.in_order()]).tolist()) == list(range(len(data.features)))


def test_rows_of_like_length_are_together() -> None:
    features = features_of("classification", TOKENIZER, count=64)
    rows = list(batches_of(features, TOKENIZER, 8).epoch(0))
    lengths = np.array([len(ids) for ids in features.ids])
    assert sum(np.ptp(lengths[some]) for some in rows) < len(rows) * np.ptp(lengths) / 2
    in_order = [len(batch.input_ids[0]) for batch in batches_of(features, TOKENIZER, 8).in_order()]
    assert in_order == sorted(in_order, reverse=True)
