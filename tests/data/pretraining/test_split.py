"""Training and held-out text: a tenth of the tokens, whole documents where they fit, nothing on both sides."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.pretraining import split
from bertviz_lab.data.pretraining.split import split_corpus
from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView, TokenizedCorpus
from tests.data.support import corpus_of_ids


def corpus_of(*sentences: int, tokens: int = 5) -> TokenizedCorpus:
    """A document a number: so many sentences of so many tokens."""
    return corpus_of_ids([[[7] * tokens] * count for count in sentences])


def tokens(view: CorpusView) -> int:
    return sum(int(bounds[-1] - bounds[0]) for bounds in map(view.sentence_bounds, range(len(view))))


def sentences(view: CorpusView) -> list[int]:
    return [sentence for first, end in view.spans.tolist() for sentence in range(first, end)]


@pytest.mark.parametrize("min_documents", [1, 2])
def test_four_equal_documents_hold_out_a_tenth_and_not_half(min_documents):
    corpus = corpus_of(100, 100, 100, 100)
    training, held_out = split_corpus(corpus, min_documents=min_documents)
    assert tokens(held_out) == pytest.approx(0.1 * corpus.tokens, rel=0.05)
    assert (len(training), len(held_out)) == (4, min_documents)


@pytest.mark.parametrize("min_documents", [1, 2])
@pytest.mark.parametrize("shape", [(1, 2_000), (2_000, 1), (3, 2_000)])
def test_an_introduction_and_a_book_train_on_the_book(shape, min_documents):
    corpus = corpus_of(*shape)
    training, held_out = split_corpus(corpus, min_documents=min_documents)
    assert tokens(training) == pytest.approx(0.9 * corpus.tokens, rel=0.01)
    assert tokens(held_out) == pytest.approx(0.1 * corpus.tokens, rel=0.01)
    assert len(held_out) == min_documents
    assert len(training) == 2


def test_a_single_document_holds_out_its_end_and_half_of_a_corpus_stays_in_training():
    training, held_out = split_corpus(corpus_of(200))
    assert (training.spans.tolist(), held_out.spans.tolist()) == ([[0, 180]], [[180, 200]])
    corpus = corpus_of(5_000, *[50] * 100)
    training, held_out = split_corpus(corpus, min_documents=2)
    assert training.spans[0].tolist() == [0, 5_000]
    assert tokens(held_out) == pytest.approx(0.1 * corpus.tokens, rel=0.05)


def test_among_thousands_of_documents_whole_ones_spread_over_the_corpus_are_held_out():
    corpus = corpus_of(*np.random.default_rng(0).integers(1, 40, size=5_000).tolist())
    training, held_out = split_corpus(corpus, min_documents=2)
    assert tokens(held_out) == pytest.approx(0.1 * corpus.tokens, rel=0.01)
    assert len(training) + len(held_out) == 5_000
    in_each_tenth = np.histogram(held_out.spans[:, 0], bins=10, range=(0, corpus.sentences))[0]
    assert in_each_tenth.min() > 0.8 * in_each_tenth.max()


def test_a_large_corpus_holds_out_no_more_than_an_evaluation_needs(monkeypatch):
    monkeypatch.setattr(split, "MAX_HELD_OUT_TOKENS", 2_000)
    corpus = corpus_of(*[10] * 4_000)
    assert tokens(split_corpus(corpus)[1]) == 2_000


@given(st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(1, 2))
def test_every_sentence_is_on_exactly_one_side_or_the_parts_are_the_same(shape, min_documents):
    corpus = corpus_of(*shape)
    training, held_out = split_corpus(corpus, min_documents=min_documents)
    if training.spans.tolist() == held_out.spans.tolist():
        assert sentences(training) == list(range(corpus.sentences))
        assert len(shape) < min_documents or max(shape) < 2 * (min_documents + 1)
        return
    assert sorted(sentences(training) + sentences(held_out)) == list(range(corpus.sentences))
    assert len(training) >= min_documents
    assert len(held_out) >= min_documents
    assert tokens(held_out) <= max(0.25 * corpus.tokens, 5 * 2 * min_documents)
