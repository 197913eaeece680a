"""Tokens with the same neighbors have similar vectors, whatever the text."""

from itertools import pairwise

import numpy as np
import pytest

from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView, TokenizedCorpus
from bertviz_lab.data.pretraining.word_vectors import word_vectors

_VOCABULARY = 40
#: Ids of tokens that take the same places in a sentence: determiners, animals, verbs, adverbs.
_CLASSES = (range(5, 8), range(8, 16), range(16, 24), range(24, 30))


def view_of(*documents: list[int]) -> CorpusView:
    """Documents of one sentence each."""
    ids = np.concatenate([np.array(document, dtype=np.uint16) for document in documents])
    ends = np.cumsum([len(document) for document in documents])
    corpus = TokenizedCorpus(ids, ends, np.arange(1, len(documents) + 1), np.bincount(ids))
    return corpus.select(np.arange(len(documents)))


def sentences(count: int) -> CorpusView:
    """Sentences of a token of each class, drawn at random."""
    random = np.random.default_rng(0)
    return view_of(*([int(random.choice(tokens)) for tokens in _CLASSES] for _ in range(count)))


@pytest.mark.parametrize("size", [8, 128])
def test_tokens_that_take_the_same_places_are_alike(size: int) -> None:
    vectors = word_vectors(sentences(2000), _VOCABULARY, size, seed=0)
    cosines = vectors @ vectors.T / size
    kinds = np.repeat(np.arange(len(_CLASSES)), [len(tokens) for tokens in _CLASSES])
    known = np.concatenate([np.array(tokens) for tokens in _CLASSES])
    for token, kind in zip(known, kinds, strict=True):
        others = known != token
        assert cosines[token, known[others & (kinds == kind)]].min() > cosines[token, known[kinds != kind]].max()


def test_a_token_of_the_text_has_numbers_of_size_one_and_others_have_none() -> None:
    vectors = word_vectors(sentences(500), _VOCABULARY, 16, seed=3)
    assert vectors.dtype == np.float32
    occurs = np.isin(np.arange(_VOCABULARY), np.concatenate([np.array(tokens) for tokens in _CLASSES]))
    np.testing.assert_allclose(np.sqrt((vectors[occurs] ** 2).mean(1)), 1, rtol=1e-4)
    assert not vectors[~occurs].any()


def test_the_same_text_and_seed_give_the_same_vectors() -> None:
    one, other = (word_vectors(sentences(300), _VOCABULARY, 16, seed=1) for _ in range(2))
    assert np.array_equal(one, other)
    assert not np.array_equal(one, word_vectors(sentences(300), _VOCABULARY, 16, seed=2))


@pytest.mark.parametrize("at_once", [7, 1000])
def test_vectors_are_a_singular_value_decomposition_of_positive_pointwise_mutual_information(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertviz_lab.data.pretraining.word_vectors._AT_ONCE", at_once)
    ids = np.random.default_rng(1).integers(5, 30, 400)
    counts = np.zeros((_VOCABULARY, 2 * _VOCABULARY))
    for left, right in pairwise(ids):
        counts[right, left] += 1
        counts[left, _VOCABULARY + right] += 1
    contexts = counts.sum(0) ** 0.75
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(counts * contexts.sum() / (counts.sum(1, keepdims=True) * contexts))
    axes, values, _ = np.linalg.svd(np.nan_to_num(np.maximum(information, 0)))
    expected = (axes[:, :8] * values[:8])[5:30]
    expected -= expected.mean(0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = word_vectors(view_of(ids.tolist()), _VOCABULARY, 8, seed=0)[5:30] / np.sqrt(8)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


@pytest.mark.parametrize("ids", [[5], [5, 5, 5, 5], [5, 6], [5, 6, 7], [*range(5, 40)]], ids=str)
def test_a_text_of_a_few_tokens_gives_finite_vectors(ids: list[int]) -> None:
    vectors = word_vectors(view_of(ids), _VOCABULARY, 16, seed=0)
    assert vectors.shape == (_VOCABULARY, 16)
    assert np.isfinite(vectors).all()


def test_only_the_documents_of_the_view_are_counted() -> None:
    view = sentences(1000)
    training = view.corpus.select(np.arange(0, 1000, 2))
    alone = view_of(*(view.corpus.ids[4 * n : 4 * n + 4].tolist() for n in range(0, 1000, 2)))
    given, expected = (word_vectors(each, _VOCABULARY, 16, seed=0) for each in (training, alone))
    assert np.array_equal(given, expected)


def test_a_sample_is_of_documents_throughout_the_text() -> None:
    view = view_of(*([number] * 10 for number in range(100)))
    assert len(view.sample(10**6)) == 1000
    assert sorted(set(view.sample(100).tolist())) == [*range(0, 100, 10)]
    assert view.corpus.select(np.array([7, 3])).sample(10**6).tolist() == [7] * 10 + [3] * 10
