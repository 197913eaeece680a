"""Documents on disk as plain text: what is written is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining import tokenized_corpus as sentence_cache
from bertviz_lab.data.pretraining.tokenized_corpus import read_sentence_cache, sample_sentences, write_sentence_cache


def merged(documents) -> list[list[str]]:
    """The sentences of each document, its parts put together."""
    whole: list[list[str]] = []
    for document in documents:
        if document.continues:
            whole[-1] += document.sentences
        else:
            whole.append(list(document.sentences))
    return whole


sentences = st.text(min_size=1, max_size=20).map(lambda text: " ".join(text.split())).filter(bool)
corpora = st.lists(st.lists(sentences, min_size=1, max_size=7), min_size=1, max_size=5)


@given(corpora)
def test_documents_come_back_as_they_were(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("spool") / "corpus.txt"
    documents = [Document(str(i), tuple(text)) for i, text in enumerate(texts)]
    assert write_sentence_cache(documents, path) == len(texts)
    assert merged(read_sentence_cache(path)) == texts


def test_a_long_document_comes_in_parts_and_stays_one(tmp_path, monkeypatch):
    monkeypatch.setattr(sentence_cache, "_PART", 3)
    texts = [[f"sentence {i}" for i in range(count)] for count in (2, 3, 7, 1)]
    write_sentence_cache([Document("", tuple(text)) for text in texts], tmp_path / "corpus.txt")
    found = list(read_sentence_cache(tmp_path / "corpus.txt"))
    assert max(len(document.sentences) for document in found) == 3
    assert merged(found) == texts


def test_parts_are_written_as_one_document(tmp_path):
    parts = [Document("a", ("one",)), Document("a", ("two",), continues=True), Document("b", ("three",))]
    assert write_sentence_cache(parts, tmp_path / "corpus.txt") == 2
    assert merged(read_sentence_cache(tmp_path / "corpus.txt")) == [["one", "two"], ["three"]]


@pytest.mark.parametrize("empty", ["", " ", "\x1c", "\r\n"])
def test_an_empty_sentence_does_not_end_its_document(empty, tmp_path):
    write_sentence_cache([Document("a", ("one", empty, "two"))], tmp_path / "corpus.txt")
    assert merged(read_sentence_cache(tmp_path / "corpus.txt")) == [["one", "two"]]


@pytest.mark.parametrize("broken", ["a\nb", "a\r\nb", "a\u2028b", "a\x85b", "a\x0bb"])
def test_a_line_break_in_a_sentence_does_not_end_it(broken, tmp_path):
    write_sentence_cache([Document("a", (broken, "two"))], tmp_path / "corpus.txt")
    assert merged(read_sentence_cache(tmp_path / "corpus.txt")) == [["a b", "two"]]


def test_half_a_surrogate_pair_is_no_obstacle(tmp_path):
    write_sentence_cache([Document("a", ("one \ud83d two",))], tmp_path / "corpus.txt")
    assert merged(read_sentence_cache(tmp_path / "corpus.txt")) == [["one ? two"]]


def test_a_short_text_is_sampled_whole_and_a_long_one_evenly(tmp_path):
    path = tmp_path / "corpus.txt"
    lines = [f"{i:04d}" for i in range(1000)]
    write_sentence_cache([Document("", tuple(lines[i : i + 10])) for i in range(0, 1000, 10)], path)
    assert list(sample_sentences(path, 1_000_000)) == lines
    sampled = list(sample_sentences(path, 1_000))
    assert sampled == lines[::6]  # 5,100 bytes on disk for 1,000 characters
    assert sum(map(len, sampled)) <= 1_000
