"""Texts become documents of sentences, in many scripts and languages, at any size."""

import tracemalloc
from pathlib import Path

import pytest
import sentencex
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.corpora.read import PART_SENTENCES, read_documents
from bertviz_lab.data.documents import LONGEST_SENTENCE, clean_text, count_words, split_sentences
from bertviz_lab.errors import InputError
from tests.data.support import PROSE, read, written


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Smith left the U.S. in 1999. He came back.", ["Dr. Smith left the U.S. in 1999.", "He came back."]),
        ('"Why?" she asked. "No." He left.', ['"Why?" she asked.', '"No."', "He left."]),
        ("我是学生。你好！再见？", ["我是学生。", "你好！", "再见？"]),
        ("مرحبا بالعالم. كيف حالك؟ نعم.", ["مرحبا بالعالم.", "كيف حالك؟", "نعم."]),
        ("यह एक वाक्य है। वह गया।", ["यह एक वाक्य है।", "वह गया।"]),
        ("Two 😀 smiles. One 🎉!", ["Two 😀 smiles.", "One 🎉!"]),
        ("<script>alert(1)</script> is text. Yes.", ["<script>alert(1)</script> is text.", "Yes."]),
        ("Over\ttwo\nlines \u00a0 it goes.", ["Over two lines it goes."]),
        ("no end at all", ["no end at all"]),
        (" \t\n", []),
        ("", []),
    ],
)
def test_sentences_are_split_in_many_scripts(text, sentences):
    assert split_sentences(text) == sentences


@given(st.text(max_size=500))
def test_splitting_loses_nothing_but_blanks(text):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(clean_text(text).split())
    assert all(s and s == clean_text(s) for s in sentences)


@given(st.lists(st.sampled_from(["word", "a", "я", "字", ",", ";", '"', "(", "Hi.", "x" * 120]), max_size=900))
def test_no_sentence_is_longer_than_the_limit(words):
    text = " ".join(words)
    sentences = split_sentences(text)
    assert all(count_words(sentence) <= LONGEST_SENTENCE for sentence in sentences)
    assert "".join(sentences).replace(" ", "") == text.replace(" ", "")


def test_a_long_sentence_is_cut_at_its_clauses_and_a_quotation_at_its_sentences():
    sentence = ", ".join(f"clause {n} goes on and on" for n in range(834)) + "."
    parts = split_sentences(sentence)
    assert count_words(sentence) >= 5_000
    assert len(parts) >= 5_000 // LONGEST_SENTENCE
    assert all(part.endswith((",", ".")) for part in parts)
    inner = " ".join(f"This is the sentence with number {n}." for n in range(20))
    parts = split_sentences(f'He said, "{inner}" and was gone. Nobody cared.')
    assert len(parts) >= 20
    assert parts[0] == 'He said, "This is the sentence with number 0.'
    assert parts[-1] == "Nobody cared."


def test_words_are_counted_in_scripts_without_blanks():
    assert count_words("two words") == 2
    assert count_words("我是学生。") == 5
    assert count_words("") == 0


def test_an_unknown_way_to_tell_documents_apart_is_refused(tmp_path):
    with pytest.raises(InputError, match="auto, blank-line, file"):
        read_documents([written(tmp_path, "a.txt", "Hi.")], documents="page")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("huge-town", 'no sample "huge-town".*tiny-town'),
        ("docstrings:held-out", "no part"),
        ("tiny-town:elsewhere", "no part"),
    ],
)
def test_an_unknown_sample_or_part_is_refused(name, message):
    with pytest.raises(InputError, match=message):
        read_documents([f"sample:{name}"])


def test_a_sample_may_have_more_that_is_never_trained_on():
    trained = {document.sentences for document in read_documents(["sample:tiny-town"])}
    kept = [document.sentences for document in read_documents(["sample:tiny-town:held-out"])]
    assert len(kept) == 500
    assert not trained.intersection(kept)


def test_a_very_long_document_comes_in_parts_that_continue_each_other(tmp_path):
    count = 2 * PART_SENTENCES + 17
    text = "\n".join(f"This is sentence number {n}." for n in range(count))
    documents = read(written(tmp_path, "long.txt", text))
    assert [document.continues for document in documents] == [False, True, True]
    assert {document.name for document in documents} == {"long.txt"}
    joined = [sentence for document in documents for sentence in document.sentences]
    assert joined == [f"This is sentence number {n}." for n in range(count)]


def test_a_reading_that_is_not_finished_closes_when_python_exits(tmp_path, monkeypatch):
    text = written(tmp_path, "long.txt", "\n\n".join(f"Text {n}. {PROSE}" for n in range(PART_SENTENCES)))
    documents = read_documents([text])
    next(documents)
    for module in ("zipfile", "zlib", "lzma"):  # as at the end, when modules are gone
        monkeypatch.setattr(f"bertviz_lab.data.corpora.sources.{module}", None)
    documents.close()


def test_progress_is_told_in_bytes_and_ends_at_the_whole(tmp_path):
    path = written(tmp_path, "a.txt", PROSE * 20_000)
    told: list[tuple[int, int]] = []
    read(path, on_progress=lambda done, total: told.append((done, total)))
    size = path.stat().st_size
    assert told == sorted(told)
    assert told[-1] == (size, size)
    assert 5 < len(told) <= 201


@pytest.mark.parametrize("piece", ["w", '"a. (b '])
@pytest.mark.slow
def test_a_line_of_ten_megabytes_is_read_whole_and_in_short_sentences(tmp_path, piece):
    line = piece * (10_000_000 // len(piece.encode("utf-8")))
    characters = most = 0
    for document in read_documents([written(tmp_path, "line.txt", line)]):
        characters += sum(len(sentence) - sentence.count(" ") for sentence in document.sentences)
        most = max(most, count_words(document.sentences[0]), count_words(document.sentences[-1]))
    assert characters == len(line.replace(" ", ""))
    assert most <= LONGEST_SENTENCE


@pytest.mark.parametrize(
    ("text", "documents", "sentences"),
    [(PROSE * 40_000, 1, 80_000), (f"{PROSE}\n{PROSE}\n\n" * 20_000, 20_000, 80_000)],
    ids=["one line", "many documents"],
)
@pytest.mark.slow
def test_memory_stays_flat(tmp_path, text, documents, sentences):
    path = written(tmp_path, "a.txt", text)
    assert path.stat().st_size > 7e6
    tracemalloc.start()
    try:
        counts = [(not document.continues, len(document.sentences)) for document in read_documents([path])]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert tuple(map(sum, zip(*counts, strict=True))) == (documents, sentences)
    assert peak < 6e6


#: A hundred sentences in their order, one a line, written for this test: every second has an abbreviation or ordinal.
SENTENCES = (Path(__file__).parent / "german_sentences.txt").read_text(encoding="utf-8").splitlines()


def ends(sentences: list[str]) -> set[int]:
    """Where sentences end, counted in characters that are not spaces."""
    places, place = set(), 0
    for sentence in sentences:
        place += len("".join(sentence.split()))
        places.add(place)
    return places


def test_of_a_hundred_german_sentences_none_is_split_and_hardly_any_are_joined() -> None:
    wanted, text = ends(SENTENCES), " ".join(SENTENCES)
    as_english = ends(list(sentencex.segment("en", text)))
    assert (len(as_english - wanted), len(wanted - as_english)) == (40, 2), "what English abbreviations make of it"
    ours = ends(split_sentences(text))
    assert ours <= wanted
    assert len(wanted - ours) <= 1, "an abbreviation at the end of a sentence may join the next"


@pytest.mark.parametrize(
    "sentences",
    [
        ["Der Turm brannte am 3. Oktober 1905 ab."] * 2,
        ["Im 19. Jahrhundert und in der 2. Hälfte des 18. Jahrhunderts war das anders."] * 2,
        ["Die Kinder, z. B. Anna, spielen im Hof, d. h. draußen."] * 2,
        ["Frau Dr. Lindner bzw. Herr Prof. Hansen ist ab dem 1. Mai zuständig."] * 2,
        ["He came on day 3.", "October was cold.", "The war of 1914 was over."],
        ["I am 5.", "Mary is 6."],
        ["They saw the film Die 3.", "Nobody liked it, and the critics left."],
        ["The painter Hans von der Tann was born in 1880.", "He died at 60.", "The rest is in the archive."],
    ],
)
def test_a_number_ends_an_english_sentence_and_a_german_one_stays_whole(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences
