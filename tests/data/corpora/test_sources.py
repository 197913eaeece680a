"""Paths to readable files: limits, folders, zips, how a text is known again, and every way to be no text."""

import errno
import json
import math
import os
import struct
import time
import zipfile
from pathlib import Path

import pytest

from bertviz_lab.data.corpora.read import fingerprint, read_documents
from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import MAX_BYTES, find_sources
from bertviz_lab.errors import InputError
from tests.data.support import PROSE, read, text_of, written, zipped


def test_a_file_name_cannot_bring_markup_or_line_breaks_into_a_message(tmp_path):
    path = written(tmp_path, "<script>alert('x')<\u2028\nb>.txt", b"")
    with pytest.raises(InputError) as error:
        read(path)
    assert "<" not in str(error.value)
    assert ">" not in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert "script" in str(error.value)
    assert len(quoted("x" * 5_000)) < 130


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["/nowhere/at/all.txt"], "There is no file"),
        (["a\0b.txt"], "cannot be a file name"),
        (["x" * 5_000], "cannot be a file name"),
        (["/dev/zero"], "not a regular file"),
        ([], "No file was given"),
    ],
)
def test_a_path_that_is_no_file_is_refused_without_being_read(paths, message):
    with pytest.raises(InputError, match=message) as error:
        read_documents(paths)
    assert len(str(error.value)) < 300


def test_files_too_large_together_are_refused(tmp_path):
    paths = [written(tmp_path, f"{n}.txt", PROSE * 3) for n in range(3)]
    with pytest.raises(InputError, match="together"):
        read_documents(paths, max_bytes=1_500)


def test_a_file_that_grows_beyond_the_limit_while_it_is_read_is_stopped(tmp_path):
    path = written(tmp_path, "log.txt", PROSE)
    documents = read_documents([path], max_bytes=1_000)
    path.write_text(PROSE * 3_000)
    with pytest.raises(InputError, match="larger than"):
        list(documents)


def test_a_folder_is_all_readable_files_in_it(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    written(tmp_path, "b.txt", "Second here.")
    written(tmp_path, "a.md", "# First")
    written(tmp_path, "deep/er/c.csv", "id,text\n1,Third here\n")
    written(tmp_path, ".git/d.txt", "Hidden.")
    written(tmp_path, "e.png", b"\x89PNG")
    written(tmp_path, "f.txt", b"")
    written(tmp_path, "g.txt", b"\x89PNG\r\n\x1a\n" + bytes(50))
    notes = ReadingNotes()
    documents = read(tmp_path, notes)
    found = {d.name: d.sentences[0] for d in documents}
    assert list(found.items()) == [("a.md", "First"), ("b.txt", "Second here."), ("deep/er/c.csv", "Third here")]
    assert len(notes.skipped) == 2
    assert all(reason.endswith(".") for reason in notes.skipped)


def test_a_text_that_is_given_twice_counts_once_and_is_noted(tmp_path):
    (tmp_path / "books").mkdir()
    path = written(tmp_path / "books", "a.txt", "First here.")
    written(tmp_path / "books", "b.txt", "Second here.")
    (tmp_path / "link.txt").symlink_to(path)
    archive = zipped(tmp_path, {"c.txt": "Third here."})
    given = [path, tmp_path / "books", tmp_path / "books" / ".." / "books" / "a.txt", tmp_path / "link.txt"]
    notes = ReadingNotes()
    documents = list(read_documents([*given, archive, archive], notes=notes))
    assert [document.sentences[0] for document in documents] == ["First here.", "Second here.", "Third here."]
    names = ("a.txt", "a.txt", "link.txt", "texts.zip/c.txt")
    assert notes.skipped == [f'"{name}" is given more than once and counts once.' for name in names]


def test_a_folder_that_cannot_be_opened_is_noted(tmp_path, monkeypatch):
    (tmp_path / "locked").mkdir()
    written(tmp_path, "a.txt", "First here.")
    scandir = os.scandir

    def guarded(path):
        if Path(path).name == "locked":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)  # who runs the tests may be root
    notes = ReadingNotes()
    assert len(read(tmp_path, notes)) == 1
    (reason,) = notes.skipped
    assert reason.startswith("The folder")
    assert reason.endswith('/locked" cannot be opened (Permission denied); check its permissions.')
    with pytest.raises(InputError, match=r"holds nothing readable.* First reason: The folder .*Permission denied"):
        read_documents([tmp_path / "locked"])


def test_a_zip_is_streamed_with_nested_folders_and_never_unpacked(tmp_path):
    before = sorted(tmp_path.parent.rglob("*"))
    names = ("deep/er/a.txt", "../../escape.txt", "/absolute.txt", "__MACOSX/._a.txt", "inner.zip", "picture.png")
    path = zipped(tmp_path, dict.fromkeys(names, "Words here."))
    notes = ReadingNotes()
    found = [document.name for document in read(path, notes)]
    assert found == [f"texts.zip/{name}" for name in ("escape.txt", "absolute.txt", "deep/er/a.txt")]
    assert notes.skipped == ['"texts.zip/inner.zip" is a zip inside a zip and was not opened.']
    assert sorted(tmp_path.parent.rglob("*")) == sorted([*before, path])


@pytest.mark.parametrize("content", [b"hello", b"PK\x03\x04" + bytes(60), b"PK\x05\x06"])
def test_an_invalid_zip_is_refused(tmp_path, content):
    with pytest.raises(InputError, match="not a valid zip"):
        read_documents([written(tmp_path, "x.zip", content)])


def test_a_zip_bomb_is_refused_by_its_declared_size(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.txt", "w") as member:
        for _ in range(40):
            member.write(b"a " * (1 << 19))
    with pytest.raises(InputError, match="zip bomb"):
        read_documents([path])
    with pytest.raises(InputError, match="unpacks to 42 MB, more than 10 MB"):
        read_documents([path], max_bytes=10_000_000)


def test_a_zip_that_lies_about_its_size_is_stopped(tmp_path):
    path = zipped(tmp_path, {"a.txt": "Many words. " * 1_000_000})
    raw = bytearray(path.read_bytes())
    entry = raw.rfind(b"PK\x01\x02")
    raw[entry + 24 : entry + 28] = struct.pack("<I", 1_000)
    path.write_bytes(raw)
    start = time.perf_counter()
    with pytest.raises(InputError, match="damaged"):
        read(path)
    assert time.perf_counter() - start < 2


def test_a_damaged_member_of_a_zip_is_named(tmp_path):
    path = zipped(tmp_path, {"a.txt": PROSE + os.urandom(500).hex(), "b.txt": "Fine here."})
    raw = bytearray(path.read_bytes())
    raw[100] ^= 0xFF
    path.write_bytes(raw)
    notes = ReadingNotes()
    assert "Fine here." in text_of(read(path, notes))
    assert notes.skipped == ['"texts.zip/a.txt" is damaged inside its zip; make the zip again.']


def test_an_encrypted_zip_and_one_with_nothing_readable_are_refused(tmp_path):
    path = zipped(tmp_path, {"a.txt": "secret"})
    raw = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.find(signature) + flags] |= 1
    path.write_bytes(raw)
    with pytest.raises(InputError, match="password"):
        read_documents([path])
    with pytest.raises(InputError, match="holds nothing readable"):
        read_documents([zipped(tmp_path, {"a.png": "x"})])


def test_reading_leaves_no_file_open(tmp_path, recwarn):
    path = zipped(tmp_path, {"a.txt": PROSE * 100, "b.txt": PROSE})
    documents = read_documents([path])
    next(documents)
    documents.close()  # type: ignore[attr-defined]
    path.unlink()
    assert not [w for w in recwarn if issubclass(w.category, ResourceWarning)]


def test_a_pattern_names_files_in_their_order_or_is_refused_and_brackets_may_be_part_of_a_name(tmp_path):
    for name in ("b.txt", "a.txt", "c.md", "deep/er/d.txt", ".hidden.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        written(tmp_path, name, f"The text of {Path(name).stem}.")
    assert [s.path.name for s in find_sources(f"{tmp_path}/*.txt", ReadingNotes())] == ["a.txt", "b.txt"]
    assert [s.path.name for s in find_sources(f"{tmp_path}/[bc].*", ReadingNotes())] == ["b.txt", "c.md"]
    everything = find_sources([f"{tmp_path}/**"], ReadingNotes())
    assert [s.path.name for s in everything] == ["a.txt", "b.txt", "c.md", "d.txt"]
    assert [s.format for s in everything] == ["text", "text", "markdown", "text"]
    (tmp_path / "folder").mkdir()
    for pattern in ("*.html", "fold?r", "absent/**"):
        with pytest.raises(InputError, match="No file is named like the pattern"):
            find_sources(str(tmp_path / pattern), ReadingNotes())
    written(tmp_path, "notes [1].txt", "A text. It is short.")
    (source,) = find_sources(tmp_path / "notes [1].txt", ReadingNotes())
    assert source.named


def test_a_person_s_own_text_has_no_limit(tmp_path):
    file = tmp_path / "large.txt"
    with file.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)  # a hole: it takes no room on the disk
    with pytest.raises(InputError, match="500 MB"):
        find_sources(file, ReadingNotes())
    assert find_sources(file, ReadingNotes(), math.inf)[0].size == MAX_BYTES + 1


def test_a_copy_in_another_folder_is_the_same_text_and_under_another_name_is_not(tmp_path):
    (tmp_path / "upload").mkdir()
    heard: list[tuple[int, int]] = []
    path = written(tmp_path, "a.txt", "x" * 3_000_000)
    first = fingerprint([str(path)], lambda done, total: heard.append((done, total)))
    assert (len(heard), heard[-1]) == (3, (3_000_000, 3_000_000))
    again = written(tmp_path / "upload", "a.txt", path.read_bytes())
    os.utime(again, (1, 1))
    assert fingerprint([again]) == first
    renamed = again.rename(tmp_path / "upload" / "b.txt")
    assert fingerprint([renamed]) != first, "a run says how it read its files by their names"
    assert len(first) == 32


def test_every_change_of_the_text_shows(tmp_path):
    path = written(tmp_path, "a.txt", "One text. " * 1_000)
    other = written(tmp_path, "b.txt", "Another text.")
    table = written(tmp_path, "a.csv", "One text. " * 1_000)
    seen = [fingerprint(entries) for entries in ([path], [path, other], [other, path], [path, path], [table])]
    path.write_text("One text. " * 999 + "One test. ")
    seen.append(fingerprint([path]))
    assert len(set(seen)) == len(seen)


def test_folders_patterns_and_zips_are_known_by_what_is_in_them(tmp_path):
    (tmp_path / "set").mkdir()
    written(tmp_path / "set", "a.txt", "One text.")
    b = written(tmp_path / "set", "b.txt", "Another text.")
    folder, pattern = fingerprint([tmp_path / "set"]), fingerprint([f"{tmp_path}/set/*"])
    assert folder == pattern
    b.write_text("Changed text.")
    assert fingerprint([tmp_path / "set"]) != folder
    assert fingerprint([zipped(tmp_path, {"a.txt": "x"}, "1.zip")]) != fingerprint(
        [zipped(tmp_path, {"a.txt": "y"}, "2.zip")]
    )
    assert fingerprint([zipped(tmp_path, {"a.txt": "x"}, "3.zip")]) != fingerprint(
        [zipped(tmp_path, {"b.txt": "x"}, "3.zip")]
    )


def test_data_sets_are_known_by_their_files_and_what_is_made_anew_or_fetched_by_none(tmp_path):
    (tmp_path / "set").mkdir()
    file = written(tmp_path / "set", "train.jsonl", json.dumps({"text": "One."}))
    names = [f"dataset:{tmp_path / 'set'}", f"dataset:{tmp_path / 'set'}@train", f"dataset:{tmp_path / 'set'}:a"]
    seen = [fingerprint([name]) for name in names]
    file.write_text(json.dumps({"text": "Two."}))
    seen.append(fingerprint(names[:1]))
    assert None not in seen
    assert len(set(seen)) == 4
    path = str(written(tmp_path, "a.txt", "One text."))
    assert fingerprint(["sample:tiny-town", path]) is None
    assert fingerprint(["dataset:wikitext:wikitext-2-raw-v1", path]) is None
