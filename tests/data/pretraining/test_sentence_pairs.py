"""Sentence pairs as google-research/bert makes them, `create_pretraining_data.py`."""

import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.pretraining import sentence_pairs
from bertviz_lab.data.pretraining.sentence_pairs import IN_ORDER, IS_NEXT, IS_RANDOM, NO_LABEL, SWAPPED, plan_epoch
from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView
from bertviz_lab.tokenization import truncated_lengths
from tests.data.support import corpus_of_ids

#: Documents as the lengths of their sentences.
shapes = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=9), min_size=2, max_size=6)


def corpus_of(shape: list[list[int]]) -> CorpusView:
    corpus = corpus_of_ids([[[7] * length for length in document] for document in shape])
    return corpus.select(np.arange(len(shape)))


def examples(view: CorpusView, seed: int = 0, **options) -> list[tuple[int, ...]]:
    options = {"seq_len": 20} | options
    tables = plan_epoch(view, np.random.default_rng(seed), **options)
    return [tuple(row) for table in tables for row in table.tolist()]


def document_of(view: CorpusView, start: int, end: int) -> int:
    """The document that a run of tokens lies in, which must be one."""
    for index in range(len(view)):
        bounds = view.sentence_bounds(index)
        if bounds[0] <= start and end <= bounds[-1]:
            return index
    raise AssertionError(f"tokens {start} to {end} cross the border of a document")


@given(shapes, st.integers(0, 2**32), st.integers(8, 40), st.sampled_from(["nsp", "sop"]))
def test_a_pair_fits_and_each_side_is_a_run_of_one_document(shape, seed, seq_len, pairs):
    view = corpus_of(shape)
    for a_start, a_end, b_start, b_end, label in examples(view, seed, seq_len=seq_len, pairs=pairs):
        assert a_start < a_end
        assert b_start < b_end
        assert a_end - a_start + b_end - b_start <= seq_len - 3
        a, b = document_of(view, a_start, a_end), document_of(view, b_start, b_end)
        assert (a == b) == (pairs == "sop" or label == IS_NEXT)
        assert pairs == "sop" or a_end <= b_start or label == IS_RANDOM


class Draws:
    """The same draws for both: what numpy's generator is asked for, and what Google's code asks of `random`."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def random(self) -> float:
        return self._random.random()

    def integers(self, low: int, high: int | None = None) -> int:
        return self._random.randrange(*(low, high) if high is not None else (low,))

    def randint(self, low: int, high: int) -> int:
        return self._random.randrange(low, high + 1)

    def permutation(self, value):
        return np.arange(value) if isinstance(value, int) else value


def google(documents: list[list[list[int]]], index: int, longest: int, short: float, rng: Draws) -> list[tuple]:
    """`create_instances_from_document` to the point of truncation; B's document is drawn without its retries."""
    document, instances = documents[index], []
    target = longest
    if rng.random() < short:
        target = rng.randint(2, longest)
    chunk, length, i = [], 0, 0
    while i < len(document):
        segment = document[i]
        chunk.append(segment)
        length += len(segment)
        if i == len(document) - 1 or length >= target:
            if chunk:
                a_end = 1
                if len(chunk) >= 2:
                    a_end = rng.randint(1, len(chunk) - 1)
                tokens_a = [token for part in chunk[:a_end] for token in part]
                tokens_b = []
                if len(chunk) == 1 or rng.random() < 0.5:
                    is_random = True
                    target_b = target - len(tokens_a)
                    others = [other for other in range(len(documents)) if other != index]
                    other = documents[others[rng.randint(0, len(others) - 1)]]
                    start = rng.randint(0, len(other) - 1)
                    for j in range(start, len(other)):
                        tokens_b.extend(other[j])
                        if len(tokens_b) >= target_b:
                            break
                    i -= len(chunk) - a_end
                else:
                    is_random = False
                    tokens_b = [token for part in chunk[a_end:] for token in part]
                instances.append((tokens_a, tokens_b, is_random))
            chunk, length = [], 0
        i += 1
    return instances


@given(shapes, st.integers(0, 2**32), st.integers(8, 40), st.sampled_from([0.0, 0.1, 1.0]))
def test_the_same_draws_give_the_pairs_of_google_s_code(shape, seed, seq_len, short):
    tokens = iter(range(10_000))
    documents = [[[next(tokens) for _ in range(length)] for length in document] for document in shape]
    rng = Draws(seed)
    expected = [pair for index in range(len(shape)) for pair in google(documents, index, seq_len - 3, short, rng)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_pairs, "_truncate", lambda a, b, longest, rng: (a, b))
        view = corpus_of_ids(documents).select(np.arange(len(shape)))
        tables = plan_epoch(view, Draws(seed), seq_len=seq_len, short_seq_probability=short)
        rows = [row for table in tables for row in table.tolist()]
    ids = view.corpus.ids.tolist()
    assert [(ids[a:b], ids[c:d], bool(label)) for a, b, c, d, label in rows] == expected  # 1 is random


@given(st.integers(1, 60), st.integers(1, 60), st.integers(2, 50), st.integers(0, 2**32))
def test_truncation_leaves_a_run_of_each_side_as_long_as_the_tokenizer_s_rule_says(length_a, length_b, longest, seed):
    a, b = (100, 100 + length_a), (500, 500 + length_b)
    (a0, a1), (b0, b1) = sentence_pairs._truncate(a, b, longest, np.random.default_rng(seed))
    assert (a1 - a0, b1 - b0) == truncated_lengths(length_a, length_b, longest)
    assert a[0] <= a0 <= a1 <= a[1]
    assert b[0] <= b0 <= b1 <= b[1]


def test_truncation_takes_from_front_and_back_by_a_coin_a_token():
    rng = np.random.default_rng(0)
    fronts = np.array([sentence_pairs._truncate((0, 30), (100, 110), 20, rng)[0][0] for _ in range(4_000)])
    # 20 tokens too many, all from the longer side: binomial with mean 10 and variance 5.
    assert fronts.mean() == pytest.approx(10, abs=0.2)
    assert fronts.var() == pytest.approx(5, abs=0.6)


@given(shapes, st.integers(0, 2**32), st.integers(8, 40))
def test_single_texts_are_runs_of_whole_sentences_and_none_is_lost_or_used_twice(shape, seed, seq_len):
    view = corpus_of(shape)
    rows = sorted(examples(view, seed, seq_len=seq_len, single_share=1.0))
    assert all(b_start == b_end and label == NO_LABEL for _, _, b_start, b_end, label in rows)
    assert max(a_end - a_start for a_start, a_end, *_ in rows) <= seq_len - 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_pairs, "_truncate", lambda a, b, longest, rng: (a, b))
        whole = sorted(examples(view, seed, seq_len=seq_len, single_share=1.0))
    assert [token for a_start, a_end, *_ in whole for token in range(a_start, a_end)] == list(range(view.corpus.tokens))


def test_a_share_of_the_examples_is_single_texts_of_one_sentence_or_more():
    rows = examples(corpus_of([[5] * 200] * 100), seq_len=40, single_share=0.3)
    lengths = [a_end - a_start for a_start, a_end, _, _, label in rows if label == NO_LABEL]
    assert len(lengths) / len(rows) == pytest.approx(0.3, abs=0.03)
    assert set(lengths) == {5, 10, 15, 20, 25, 30, 35, 38}
    assert {label for *_, label in rows} == {IS_NEXT, IS_RANDOM, NO_LABEL}


@given(shapes, st.integers(0, 2**32), st.integers(8, 40))
def test_the_sides_of_an_ordered_pair_are_neighbours_and_the_label_says_which_comes_first(shape, seed, seq_len):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_pairs, "_truncate", lambda a, b, longest, rng: (a, b))
        view = corpus_of(shape)
        rows = examples(view, seed, seq_len=seq_len, pairs="sop")
    ends = {int(bound) for index in range(len(view)) for bound in view.sentence_bounds(index)}
    used: list[tuple[int, int]] = []
    for a_start, a_end, b_start, b_end, label in rows:
        front, back = (
            ((a_start, a_end), (b_start, b_end)) if label == IN_ORDER else ((b_start, b_end), (a_start, a_end))
        )
        assert label in (IN_ORDER, SWAPPED)
        assert front[1] == back[0]
        assert {*front, *back} <= ends
        document_of(view, front[0], back[1])
        used.append((front[0], back[1]))
    used.sort()
    assert all(one[1] <= other[0] for one, other in pairwise(used)), "no sentence is in two examples"
    # All that is left out is a sentence without a neighbour: at most the last one of each document.
    left_out = view.corpus.sentences - sum(
        int(np.searchsorted(view.corpus.sentence_ends, end))
        + 1
        - int(np.searchsorted([0, *view.corpus.sentence_ends], a))
        for a, end in used
    )
    assert 0 <= left_out <= len(view)
    assert len({document_of(view, *pair) for pair in used}) == sum(len(document) > 1 for document in shape)


def test_half_of_the_ordered_pairs_are_swapped_and_one_document_is_enough():
    labels = [row[4] for row in examples(corpus_of([[4] * 4_000]), pairs="sop")]
    assert len(labels) > 700
    assert np.mean(labels) == pytest.approx(0.5, abs=0.08)
    view = corpus_of([[4, 4, 4, 4, 4]])
    rows = sorted(examples(view, seq_len=12, pairs="", short_seq_probability=0.0))
    assert [row[:2] for row in rows] == [(0, 8), (8, 16), (16, 20)]


@given(shapes, st.integers(0, 2**32), st.integers(8, 40))
def test_without_pairs_every_token_is_read_once(shape, seed, seq_len):
    view = corpus_of(shape)
    rows = sorted(examples(view, seed, seq_len=seq_len, pairs=""))
    assert rows[0][0] == 0
    assert rows[-1][1] == view.corpus.tokens
    assert all(one[1] == other[0] for one, other in pairwise(rows))
    for start, end, *rest in rows:
        assert rest == [0, 0, NO_LABEL]
        assert 0 < end - start <= seq_len - 2
        document_of(view, start, end)


def test_documents_come_shuffled_in_bounded_tables_from_their_part_only(monkeypatch):
    monkeypatch.setattr(sentence_pairs, "_SHARD", 8)
    view = corpus_of([[2, 2]] * 20)
    tables = list(plan_epoch(view, np.random.default_rng(0), seq_len=20))
    order = [row[0] // 4 for table in tables for row in table.tolist()]
    assert len(tables) == 3
    assert set(order) == set(range(20))
    assert order != sorted(order)
    corpus = corpus_of([[3, 3]] * 10).corpus
    part = corpus.select(np.array([2, 5, 7]))
    allowed = {2, 5, 7}
    rows = [row for seed in range(30) for row in examples(part, seed)]
    assert {row[0] // 6 for row in rows} == allowed
    assert {row[2] // 6 for row in rows} == allowed
