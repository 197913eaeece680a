"""From tables of examples to batches: written out, padded, masked afresh, the same again for the same seed."""

from dataclasses import fields, replace
from itertools import islice

import numpy as np
import pytest
import torch

from bertviz_lab.data.batches import BatchStream
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData, masking_rule
from bertviz_lab.data.pretraining.sentence_pairs import IS_NEXT, IS_RANDOM, NO_LABEL
from bertviz_lab.tokenization import Tokenizer
from tests.data.support import corpus_of_ids

DOCUMENTS, SENTENCES, TOKENS = 30, 6, 7


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["one two three four five six seven eight nine ten"] * 3, vocab_size=60)


@pytest.fixture
def data(tokenizer) -> PretrainingData:
    rng = np.random.default_rng(0)
    texts = [
        [rng.integers(5, tokenizer.vocab_size, size=rng.integers(2, TOKENS + 1)).tolist() for _ in range(SENTENCES)]
        for _ in range(DOCUMENTS)
    ]
    return PretrainingData(
        documents=corpus_of_ids(texts).select(np.arange(DOCUMENTS)), tokenizer=tokenizer,
        rule=masking_rule(tokenizer), seq_len=32, batch_size=8, short_seq_probability=0.1, pairs="nsp", seed=3,
    )  # fmt: skip


def same(a: PretrainingBatch, b: PretrainingBatch) -> bool:
    values = [(getattr(a, field.name), getattr(b, field.name)) for field in fields(a)]
    return all(torch.equal(x, y) if isinstance(x, torch.Tensor) else x == y for x, y in values)


def batch_of(data: PretrainingData, *rows: tuple[int, ...]) -> PretrainingBatch:
    return data.batch(np.array(rows), np.random.default_rng(0))


def true_ids(batch: PretrainingBatch) -> list[list[int]]:
    """The ids before masking, without padding."""
    ids = batch.input_ids.clone()
    used = batch.labels != -100
    rows = torch.arange(len(ids))[:, None].expand_as(batch.masked_positions)
    ids[rows[used], batch.masked_positions[used]] = batch.labels[used]
    lengths = batch.attention_mask.sum(1) if batch.attention_mask is not None else [ids.shape[1]] * len(ids)
    return [row[:length].tolist() for row, length in zip(ids, lengths, strict=True)]


def test_a_pair_is_written_out_with_cls_sep_and_segments(data, tokenizer):
    ids = data.documents.corpus.ids.tolist()
    batch = batch_of(data, (3, 8, 20, 26, IS_NEXT), (0, 2, 40, 43, IS_RANDOM))
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    assert true_ids(batch) == [[cls, *ids[3:8], sep, *ids[20:26], sep], [cls, *ids[0:2], sep, *ids[40:43], sep]]
    assert batch.token_type_ids.tolist() == [[0] * 7 + [1] * 7 + [0] * 2, [0] * 4 + [1] * 4 + [0] * 8]
    assert batch.attention_mask.tolist() == [[True] * 14 + [False] * 2, [True] * 8 + [False] * 8]
    assert batch.input_ids[1, 8:].tolist() == [tokenizer.pad_id] * 8
    assert batch.next_sentence_label.tolist() == [IS_NEXT, IS_RANDOM]
    assert batch.real_tokens == 22


def test_a_single_text_has_one_separator_and_one_segment(data, tokenizer):
    ids = data.documents.corpus.ids.tolist()
    batch = batch_of(replace(data, pairs=""), (5, 11, 0, 0, NO_LABEL))
    assert true_ids(batch) == [[tokenizer.cls_id, *ids[5:11], tokenizer.sep_id]]
    assert not batch.token_type_ids.any()
    assert batch.attention_mask is None
    assert batch.next_sentence_label is None


def test_a_batch_is_as_wide_as_its_longest_example_in_eights_and_never_wider_than_allowed(data):
    assert batch_of(data, (0, 5, 10, 14, 0)).input_ids.shape == (1, 16)
    assert batch_of(data, (0, 7, 10, 16, 0)).input_ids.shape == (1, 16)
    assert batch_of(data, (0, 8, 10, 16, 0)).input_ids.shape == (1, 24)
    narrow = replace(data, seq_len=19)
    assert batch_of(narrow, (0, 8, 10, 16, 0)).input_ids.shape == (1, 19)


def test_an_epoch_holds_every_example_once(data):
    rows = np.concatenate(list(data.epoch(0)))
    stream = BatchStream(data)
    seen = 0
    while True:
        batch = next(stream)
        if stream.epoch == 1:
            break
        seen += len(batch.input_ids)
    assert seen == len(rows)
    assert len({tuple(row) for row in rows[:, :2].tolist()}) == len(rows), "no two examples begin with the same A"


def test_the_same_seed_gives_the_same_batches(data):
    again = replace(data)
    assert all(same(a, b) for a, b in zip(islice(BatchStream(data), 20), BatchStream(again), strict=False))
    other = replace(data, seed=4)
    assert not any(same(a, b) for a, b in zip(islice(BatchStream(data), 5), BatchStream(other), strict=False))


def passes(data: PretrainingData, count: int) -> list[list[PretrainingBatch]]:
    stream = BatchStream(data)
    found: list[list[PretrainingBatch]] = [[] for _ in range(count)]
    while True:
        batch = next(stream)
        if stream.epoch == count:
            return found
        found[stream.epoch].append(replace(batch, name=""))  # a name counts the passes


@pytest.mark.parametrize("repeat_after", [10, None])
def test_static_masks_repeat_after_ten_passes_and_not_before_and_dynamic_ones_never(data, repeat_after):
    every = passes(replace(data, repeat_after=repeat_after), 12)
    for later, earlier in ((10, 0), (11, 1)):
        assert len(every[earlier]) > 3
        repeats = [same(a, b) for a, b in zip(every[later], every[earlier], strict=False)]
        assert all(repeats) if repeat_after else not any(repeats)
    for number in range(1, 10):
        assert not any(same(a, b) for a, b in zip(every[0], every[number], strict=False))


@pytest.mark.parametrize("done", [0, 1, 5, 17, 60])
def test_a_stream_goes_on_where_another_stood(done, data):
    stream = BatchStream(data)
    assert [next(stream).name for _ in range(done)][:1] == ["epoch 1, batch 1"][:done]
    resumed = BatchStream(data, stream.epoch, stream.number)
    for _ in range(25):
        assert same(next(stream), next(resumed))
    assert (stream.epoch, stream.number) == (resumed.epoch, resumed.number)
    assert done < 60 or stream.epoch > 1


def test_batches_hold_examples_of_similar_length(data):
    flat = replace(data, batch_size=8, short_seq_probability=0.9)
    padding = total = 0
    for rows in flat.epoch(0):
        batch = flat.batch(rows, np.random.default_rng(0))
        total += batch.input_ids.numel()
        padding += batch.input_ids.numel() - batch.real_tokens
    table = np.concatenate(list(flat.epoch(0)))
    np.random.default_rng(0).shuffle(table)
    mixed = [flat.batch(table[i : i + 8], np.random.default_rng(0)) for i in range(0, len(table), 8)]
    careless = sum(batch.input_ids.numel() for batch in mixed) - sum(batch.real_tokens for batch in mixed)
    assert padding < 0.6 * careless


def test_the_parts_of_a_batch_are_all_of_it(data):
    for batch in islice(BatchStream(data), 6):
        parts = [batch.micro_batch(index, 3) for index in range(3)]
        assert sum(part.real_tokens for part in parts) == batch.real_tokens
        for field in fields(batch):
            value = getattr(batch, field.name)
            if isinstance(value, torch.Tensor):
                pieces = [getattr(part, field.name) for part in parts]
                again = torch.cat(pieces)
                order = [row for index in range(3) for row in range(len(value))[index::3]]
                assert torch.equal(again, value[order])


def test_a_part_knows_the_counts_of_the_whole(data):
    batch = next(BatchStream(data))
    assert batch.label_count == int((batch.labels != -100).sum())
    assert batch.pair_count == len(batch.input_ids) == 8
    for part in (batch.micro_batch(1, 3), batch.micro_batch(0, 8), batch.micro_batch(8, 9)):
        assert (part.label_count, part.pair_count) == (batch.label_count, batch.pair_count)
        assert part.input_ids.shape[1] == batch.input_ids.shape[1]
    assert len(batch.micro_batch(8, 9).input_ids) == batch.micro_batch(8, 9).real_tokens == 0
    assert next(BatchStream(replace(data, pairs=""))).pair_count == 0
    some = next(BatchStream(replace(data, single_share=0.5)))
    assert some.next_sentence_label is not None
    assert some.pair_count == int((some.next_sentence_label != -100).sum()) < 8


@pytest.mark.parametrize("causal", [False, True])
def test_no_two_rows_of_a_batch_share_memory_which_cannot_be_pinned(data, causal):
    source = replace(data, causal=causal)
    batch = source.batch_at(next(source.epoch(0)), 0, 1)
    assert batch.causal is causal
    assert all(tensor.is_contiguous() for tensor in batch._tensors().values())


def test_a_batch_moves_to_a_device_whole(data):
    batch = next(BatchStream(data))
    moved = batch.to(torch.device("meta"))
    for field in fields(batch):
        value = getattr(moved, field.name)
        assert not isinstance(value, torch.Tensor) or value.is_meta
    assert moved.real_tokens == batch.real_tokens
