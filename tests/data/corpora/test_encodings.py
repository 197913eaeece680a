"""Bytes to text: every encoding that can be recognised, and everything that is no text."""
# ruff: noqa: PT017  # letters of many scripts; what an error says is checked where one may come or not

import gzip
import pickle
import random
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertviz_lab.data.corpora.reading_notes import ReadingNotes
from bertviz_lab.errors import InputError
from tests.data.support import PROSE, read, text_of, written, zipped

LANGUAGES = {
    "english": "It’s a “quoted” sentence – with dashes… and £5. The café is nice. ",
    "french": "Le soleil se levait à peine lorsque la vieille femme arriva près de la forêt. Où êtes-vous ? ",
    "german": "Die Straße war größer als üblich. Er kam am Übergang vorbei und hörte „Grüße“. ",
    "spanish": "El niño salió temprano de la casa. ¿Dónde está mi hermano?, preguntó la señora. ",
    "finnish": "Tyttö meni metsään keräämään sieniä. Myöhemmin äiti keitti päivällistä. ",
    "polish": "Zażółć gęślą jaźń. Wszyscy ludzie rodzą się wolni i równi pod względem swych praw. ",
    "czech": "Příliš žluťoučký kůň úpěl ďábelské ódy. Všichni lidé rodí se svobodní. ",
    "hungarian": "A kislány elment az erdőbe, hogy gombát szedjen. Árvíztűrő tükörfúrógép. ",
    "turkish": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Işık yağdı. ",
    "russian": "Все люди рождаются свободными и равными в своём достоинстве и правах. ",
    "bulgarian": "Всички хора се раждат свободни и равни по достойнство и права. ",
    "greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. ",
    "arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. ",
    "hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. ",
    "chinese": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "japanese": "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. ",
}
OLD_ENCODINGS = [
    ("english", "cp1252"), ("french", "cp1252"), ("german", "latin-1"), ("spanish", "cp1252"), ("finnish", "cp1252"),
    ("polish", "cp1250"), ("polish", "iso8859-2"), ("czech", "cp1250"), ("hungarian", "cp1250"), ("turkish", "cp1254"),
    ("russian", "cp1251"), ("russian", "koi8-r"), ("bulgarian", "cp1251"), ("greek", "cp1253"), ("arabic", "cp1256"),
    ("hebrew", "cp1255"), ("chinese", "gb18030"), ("chinese", "big5"), ("japanese", "shift-jis"),
    ("japanese", "euc-jp"), ("japanese", "iso2022-jp"), ("korean", "cp949"),
]  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_unicode_encodings_are_recognised_with_and_without_a_mark(tmp_path, language, encoding):
    text = (LANGUAGES[language] + "\n") * 30
    path = written(tmp_path, "text.txt", text.encode(encoding))
    assert text_of(read(path)).replace(" ", "") == "".join(text.split())


@pytest.mark.parametrize(("language", "encoding"), OLD_ENCODINGS)
def test_old_encodings_are_recognised(tmp_path, language, encoding):
    raw = ((LANGUAGES[language] + "\n") * 20).encode(encoding, "ignore")
    path = written(tmp_path, "text.txt", raw)
    assert text_of(read(path)).replace(" ", "") == "".join(raw.decode(encoding).split())


def test_an_old_encoding_that_shows_only_after_megabytes_of_ascii_is_recognised(tmp_path):
    raw = (PROSE + "\n").encode() * 8_000 + "Straße, größer, üblich.\n".encode("cp1252")
    assert len(raw) > 1 << 20
    assert text_of(read(written(tmp_path, "late.txt", raw))).endswith("Straße, größer, üblich.")


def test_a_few_damaged_bytes_do_not_spoil_utf8_and_are_counted(tmp_path):
    notes = ReadingNotes()
    raw = LANGUAGES["russian"].encode() * 50 + b"\xff\xfe\n" + LANGUAGES["greek"].encode() * 50
    documents = read(written(tmp_path, "damaged.txt", raw), notes)
    assert notes.files[0].encoding == "utf-8"
    assert notes.files[0].replaced == 2
    assert "ελεύθεροι" in text_of(documents)


any_bytes = st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_bytes, st.sampled_from([".txt", ".md", ".csv", ".tsv", ".jsonl", ".json", ".zip", ""]))
def test_any_bytes_give_documents_or_one_input_error(tmp_path, raw, suffix):
    path = written(tmp_path, "any" + suffix, raw)
    try:
        documents = read(path)
    except InputError as error:
        assert "any" in str(error)
        assert "\n" not in str(error)
    else:
        assert documents
        for document in documents:
            assert document.sentences
            assert all(s == s.strip() and s and "\n" not in s for s in document.sentences)
            "".join(document.sentences).encode("utf-8")


def test_null_bytes_are_dropped_and_lone_surrogates_replaced(tmp_path):
    assert text_of(read(written(tmp_path, "n.txt", b"The c\0at sat.\0 It ran."))) == "The cat sat. It ran."
    path = written(tmp_path, "s.jsonl", '{"text": "A \\ud800 here."}\n')
    assert read(path)[0].sentences == ("A \ufffd here.",)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "PNG"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "program"),
        (b"%PDF-1.7\n%abc\n1 0 obj", "PDF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "old Word"),
        (b"{\\rtf1\\ansi hello}", "Rich Text"),
        (gzip.compress(gzip.compress(b"text", mtime=0), mtime=0), "gzip"),
        (pickle.dumps(list(range(100))), "pickle"),
        (b"SQLite format 3\x00" + bytes(100), "SQLite"),
        (struct.pack("<Q", 40) + b'{"weight": {"dtype": "F32"}}' + bytes(50), "safetensors"),
        (b"<!DOCTYPE html>\n<html><body>Hello.</body></html>", "web page"),
        (random.Random(0).randbytes(5_000), "not text"),
        (bytes(5_000), "not text"),
    ],
)
def test_a_binary_file_is_named_for_what_it_is(tmp_path, content, what):
    with pytest.raises(InputError, match=what) as error:
        read(written(tmp_path, "upload.txt", content))
    assert str(error.value).startswith('"upload.txt"')
    assert str(error.value).endswith(".") or str(error.value).endswith(").")


@pytest.mark.parametrize(
    ("member", "what"),
    [("word/document.xml", "Word document"), ("xl/workbook.xml", "Excel"), ("META-INF/container.xml", "EPUB"),
     ("model/data.pkl", "PyTorch")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["upload.docx", "upload.zip", "upload.txt"])
def test_an_office_file_is_told_from_a_zip(tmp_path, member, what, name):
    with pytest.raises(InputError, match=what):
        read(zipped(tmp_path, {member: "x", "[Content_Types].xml": "x"}, name))


@pytest.mark.parametrize("content", [b"", b" ", b"\n\n \t\r\n", b"\xef\xbb\xbf", "\u00a0\u2003".encode()])
def test_a_file_without_words_is_refused(tmp_path, content):
    with pytest.raises(InputError, match=r'"e\.txt" (is empty|holds no words)'):
        read(written(tmp_path, "e.txt", content))
