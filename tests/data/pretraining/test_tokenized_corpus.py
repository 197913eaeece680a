"""A corpus as numbers: what goes in comes out, with the borders of sentences and documents."""

import errno
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining import tokenized_corpus
from bertviz_lab.data.pretraining.tokenized_corpus import (
    CachedTokenizer,
    TokenizedCorpus,
    read_sentence_cache,
    sample_sentences,
    sentence_lines,
    write_sentence_cache,
)
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from tests.data.support import corpus_of_ids


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["one two three four five six seven eight nine ten"] * 3, vocab_size=60)


def documents(*texts: str) -> list[str]:
    """The lines of a document a string, its sentences separated by a bar."""
    return [*sentence_lines(Document(str(i), tuple(text.split("|"))) for i, text in enumerate(texts))]


def contents(corpus: TokenizedCorpus) -> list[list[list[int]]]:
    whole, view = [], corpus.select(np.arange(corpus.documents))
    for index in range(corpus.documents):
        bounds = view.sentence_bounds(index)
        whole.append([corpus.ids[start:end].tolist() for start, end in pairwise(bounds)])
    return whole


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
    lines = [*sentence_lines(Document("", tuple(sentences), continues) for sentences, continues in parts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenized_corpus, "_BATCH", batch)
        if not expected:
            with pytest.raises(InputError):
                TokenizedCorpus.write(lines, tokenizer, tmp_path_factory.mktemp("corpus"))
            return
        corpus = TokenizedCorpus.write(lines, tokenizer, tmp_path_factory.mktemp("corpus"))
    assert contents(corpus) == expected
    flat = [i for document in expected for sentence in document for i in sentence]
    assert corpus.counts(tokenizer.vocab_size).tolist() == [flat.count(i) for i in range(tokenizer.vocab_size)]


def test_an_older_format_or_half_a_corpus_is_none(tokenizer, tmp_path):
    TokenizedCorpus.write(documents("one"), tokenizer, tmp_path)
    meta = json.loads((tmp_path / "corpus.json").read_text())
    (tmp_path / "corpus.json").write_text(json.dumps(meta | {"format": 1}))
    with pytest.raises(InputError, match="another version"):
        TokenizedCorpus.open(tmp_path)

    def crash():
        yield from documents("five six")
        raise KeyboardInterrupt

    TokenizedCorpus.write(documents("one|two", "three"), tokenizer, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        TokenizedCorpus.write(crash(), tokenizer, tmp_path)
    assert not (tmp_path / "corpus.json").exists()


@given(st.lists(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=5), min_size=1, max_size=4), max_size=6))
def test_a_corpus_in_memory_holds_what_it_was_given(given_documents):
    corpus = corpus_of_ids(given_documents)
    assert contents(corpus) == given_documents
    counts = corpus.counts(100)
    ids = [i for document in given_documents for sentence in document for i in sentence]
    assert counts.tolist() == [ids.count(i) for i in range(100)]


def test_a_view_counts_its_own_documents():
    view = corpus_of_ids([[[index], [index]] for index in range(10)]).select(np.array([7, 2]))
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


def merged(lines) -> list[list[str]]:
    """The sentences of each document."""
    whole: list[list[str]] = []
    for line in lines:
        if line:
            whole[-1].append(line)
        else:
            whole.append([])
    return whole


sentence_texts = st.text(min_size=1, max_size=20).map(lambda text: " ".join(text.split())).filter(bool)
corpora = st.lists(st.lists(sentence_texts, min_size=1, max_size=7), min_size=1, max_size=5)


@given(corpora)
def test_documents_come_back_as_they_were(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("spool") / "corpus.txt"
    documents = [Document(str(i), tuple(text)) for i, text in enumerate(texts)]
    assert write_sentence_cache(documents, path) == len(texts)
    assert merged(read_sentence_cache(path)) == texts


def test_sentences_in_parts_or_with_half_a_surrogate_pair_come_back(tmp_path):
    parts = [Document("a", ("one",)), Document("a", ("two",), continues=True), Document("b", ("three",))]
    assert write_sentence_cache(parts, tmp_path / "corpus.txt") == 2
    assert merged(read_sentence_cache(tmp_path / "corpus.txt")) == [["one", "two"], ["three"]]
    write_sentence_cache([Document("a", ("one \ud83d two",))], tmp_path / "corpus.txt")
    assert merged(read_sentence_cache(tmp_path / "corpus.txt")) == [["one ? two"]]


@pytest.mark.parametrize("empty", ["", " ", "\x1c", "\r\n"])
def test_an_empty_sentence_does_not_end_its_document(empty, tmp_path):
    write_sentence_cache([Document("a", ("one", empty, "two"))], tmp_path / "corpus.txt")
    assert merged(read_sentence_cache(tmp_path / "corpus.txt")) == [["one", "two"]]


@pytest.mark.parametrize("broken", ["a\nb", "a\r\nb", "a\u2028b", "a\x85b", "a\x0bb"])
def test_a_line_break_in_a_sentence_does_not_end_it(broken, tmp_path):
    write_sentence_cache([Document("a", (broken, "two"))], tmp_path / "corpus.txt")
    assert merged(read_sentence_cache(tmp_path / "corpus.txt")) == [["a b", "two"]]


def test_a_short_text_is_sampled_whole_and_a_long_one_evenly(tmp_path):
    path = tmp_path / "corpus.txt"
    lines = [f"{i:04d}" for i in range(1000)]
    write_sentence_cache([Document("", tuple(lines[i : i + 10])) for i in range(0, 1000, 10)], path)
    assert list(sample_sentences(path, 1_000_000)) == lines
    sampled = list(sample_sentences(path, 1_000))
    assert sampled == lines[::6]  # 5,100 bytes on disk for 1,000 characters
    assert sum(map(len, sampled)) <= 1_000


TEXT = [
    "The cat's mat isn't flat: it costs $4.50 (or 3,000 yen), they'll say.",
    "Ἀθῆναι, café, naïve, Straße, ΟΔΥΣΣΕΥΣ, İstanbul, 東京 and [MASK] on the_mat.",
    "DON'T go to the café: IT'S closed, and they'Ll say so.",
] * 3


@pytest.fixture(scope="module", params=["wordpiece", "wordpiece cased", "bpe", "bpe lowercased"])
def trained(request) -> Tokenizer:
    algorithm, _, case = request.param.partition(" ")
    lowercase = case == "lowercased" or (algorithm == "wordpiece" and case != "cased")
    return Tokenizer.train(TEXT, vocab_size=400, algorithm=algorithm, lowercase=lowercase)


def looked_up(trained: Tokenizer, sentences: list[str], table: CachedTokenizer | None = None) -> list[list[int]]:
    ids, sizes = (table or CachedTokenizer(trained)).ids(sentences)
    return [part.tolist() for part in np.split(ids, np.cumsum(sizes)[:-1])] if sentences else []


ascii_text = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
western = st.text(st.sampled_from(" aAéÉßİΣςσ'’.,-–Ⅳ[MASK]\u0301東\u00ad1½"), max_size=40)
contracted = st.lists(st.sampled_from(["don", "DON", "'", "'t", "'T", "'Re", "'LL", "é", "ſ", " "])).map("".join)


@given(st.lists(st.one_of(ascii_text, western, contracted, st.text(max_size=30)), max_size=8))
def test_the_ids_are_those_of_the_tokenizer(trained, sentences):
    sentences = ["".join(sentence.splitlines()) for sentence in sentences]
    assert looked_up(trained, sentences) == trained.ids(sentences)


def test_ordinary_text_is_looked_up_and_not_split_again(trained, monkeypatch):
    table = CachedTokenizer(trained)
    looked_up(trained, TEXT, table)
    asked: list[str] = []
    monkeypatch.setattr(Tokenizer, "ids", lambda self, texts: asked.extend(texts) or [])
    again = looked_up(trained, TEXT, table)
    assert asked == []
    monkeypatch.undo()
    assert again == trained.ids(TEXT)


def test_what_is_remembered_is_bounded(trained, monkeypatch):
    monkeypatch.setattr(tokenized_corpus, "_REMEMBERED", 50)
    table = CachedTokenizer(trained)
    sentences = [f"word{i} and another{i}" for i in range(40)]
    for i in range(0, 40, 2):
        assert looked_up(trained, sentences[i : i + 2], table) == trained.ids(sentences[i : i + 2])
        assert sum(len(word or "") for word in table._ids) < 150


def test_a_tokenizer_with_words_of_its_own_is_asked_itself():
    backend = Tokenizer.train(TEXT, vocab_size=400).backend
    backend.add_tokens([AddedToken("the mat", normalized=False)])
    trained = Tokenizer(backend)
    assert looked_up(trained, ["on the mat it sat"]) == trained.ids(["on the mat it sat"])
    assert trained.id("the mat") in trained.ids(["on the mat it sat"])[0]


def test_stages_that_are_not_known_are_left_to_the_tokenizer():
    state = json.loads(Tokenizer.train(TEXT, vocab_size=400, algorithm="bpe", lowercase=False).backend.to_str())
    state["pre_tokenizer"]["add_prefix_space"] = True
    trained = Tokenizer(type(Tokenizer.train(TEXT, vocab_size=400).backend).from_str(json.dumps(state)))
    sentences = ["cat's mat", "it isn't flat"]
    assert looked_up(trained, sentences) == trained.ids(sentences)
