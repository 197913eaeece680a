"""A corpus as numbers: what goes in comes out, with the borders of sentences and documents."""

import errno
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining import tokenized_corpus
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["one two three four five six seven eight nine ten"] * 3, vocab_size=60)


def documents(*texts: str) -> list[Document]:
    """A document a string, its sentences separated by a bar."""
    return [Document(str(i), tuple(text.split("|"))) for i, text in enumerate(texts)]


def contents(corpus: TokenizedCorpus) -> list[list[list[int]]]:
    whole = []
    for index in range(corpus.documents):
        bounds = corpus.sentence_bounds(index)
        whole.append([corpus.ids[start:end].tolist() for start, end in pairwise(bounds)])
    return whole


def test_every_sentence_comes_back_with_its_tokens(tokenizer, tmp_path):
    texts = documents("one two|three", "four five six|seven|eight nine", "ten")
    corpus = TokenizedCorpus.write(texts, tokenizer, tmp_path / "corpus")
    assert contents(corpus) == [tokenizer.ids(document.sentences) for document in texts]
    assert (corpus.documents, corpus.sentences) == (3, 6)
    assert corpus.tokens == sum(len(s) for d in texts for s in tokenizer.ids(d.sentences))


def test_an_opened_corpus_is_the_written_one_and_stays_on_disk(tokenizer, tmp_path):
    written = TokenizedCorpus.write(documents("one two|three", "four"), tokenizer, tmp_path)
    opened = TokenizedCorpus.open(tmp_path)
    assert contents(opened) == contents(written)
    assert isinstance(opened.ids, np.memmap)
    assert opened.ids.dtype == np.uint16
    assert (tmp_path / "ids.bin").stat().st_size == 2 * opened.tokens


def test_no_special_token_is_stored(tokenizer, tmp_path):
    corpus = TokenizedCorpus.write(documents("one [MASK] two|[SEP] [CLS] [PAD]"), tokenizer, tmp_path)
    assert not set(corpus.ids.tolist()) & (tokenizer.special_ids - {tokenizer.unk_id})


def test_a_text_without_a_word_is_refused(tokenizer, tmp_path):
    with pytest.raises(InputError, match="no words"):
        TokenizedCorpus.write(documents(" ", " | "), tokenizer, tmp_path)
    with pytest.raises(InputError, match="no words"):
        TokenizedCorpus.write([], tokenizer, tmp_path)


parts_of_documents = st.lists(
    st.tuples(st.lists(st.sampled_from(["one", "two three", " ", "four five six"]), max_size=4), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(parts_of_documents, st.integers(1, 6))
def test_documents_in_parts_and_empty_ones_come_out_as_one_would_count_them(tokenizer, tmp_path_factory, parts, batch):
    expected: list[list[list[int]]] = []
    for sentences, continues in parts:
        if not continues or not expected:
            expected.append([])
        expected[-1] += [ids for ids in tokenizer.ids(sentences) if ids]
    expected = [document for document in expected if document]
    given_documents = [Document("", tuple(sentences), continues) for sentences, continues in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenized_corpus, "_BATCH", batch)
        if not expected:
            with pytest.raises(InputError):
                TokenizedCorpus.write(given_documents, tokenizer, tmp_path_factory.mktemp("corpus"))
            return
        corpus = TokenizedCorpus.write(given_documents, tokenizer, tmp_path_factory.mktemp("corpus"))
    assert contents(corpus) == expected
    flat = [i for document in expected for sentence in document for i in sentence]
    assert corpus.counts(tokenizer.vocab_size).tolist() == [flat.count(i) for i in range(tokenizer.vocab_size)]


def test_a_corpus_of_an_older_format_is_refused(tokenizer, tmp_path):
    TokenizedCorpus.write(documents("one"), tokenizer, tmp_path)
    meta = json.loads((tmp_path / "corpus.json").read_text())
    (tmp_path / "corpus.json").write_text(json.dumps(meta | {"format": 1}))
    with pytest.raises(InputError, match="another version"):
        TokenizedCorpus.open(tmp_path)


def test_half_a_corpus_is_none(tokenizer, tmp_path):
    """A crash while writing over an older corpus must not leave a mixture that opens."""

    def crash():
        yield from documents("five six")
        raise KeyboardInterrupt

    TokenizedCorpus.write(documents("one|two", "three"), tokenizer, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        TokenizedCorpus.write(crash(), tokenizer, tmp_path)
    assert not (tmp_path / "corpus.json").exists()


@given(st.lists(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=5), min_size=1, max_size=4), max_size=6))
def test_a_corpus_in_memory_holds_what_it_was_given(given_documents):
    corpus = TokenizedCorpus.from_sentences(given_documents)
    assert contents(corpus) == given_documents
    counts = corpus.counts(100)
    ids = [i for document in given_documents for sentence in document for i in sentence]
    assert counts.tolist() == [ids.count(i) for i in range(100)]


def test_a_view_counts_its_own_documents():
    view = TokenizedCorpus.from_sentences([[[index], [index]] for index in range(10)]).select(np.array([7, 2]))
    assert len(view) == 2
    assert view.sentence_bounds(0).tolist() == [14, 15, 16]
    assert view.sentence_bounds(1).tolist() == [4, 5, 6]


def test_a_full_disk_is_told_and_leaves_no_corpus(tokenizer, tmp_path, monkeypatch):
    (tmp_path / "sentence_ends.bin").symlink_to("/dev/full")  # few bytes: they are written when the file is closed
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)  # the link stays
    with pytest.raises(OSError, match="No space left") as told:
        TokenizedCorpus.write(documents("one two|three", "four"), tokenizer, tmp_path)
    assert told.value.errno == errno.ENOSPC
    assert not (tmp_path / "corpus.json").exists()
