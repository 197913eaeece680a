"""The name, tags and note of a run."""

from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.training.runs.summary import RunNotes, read_notes, write_notes


def test_notes_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert read_notes(tmp_path) == RunNotes()
    notes = RunNotes("Baseline für Ümlaute", ("a tag", "b"), "Two lines\nof <b>note</b>.")
    write_notes(tmp_path, notes)
    assert read_notes(tmp_path) == notes
    assert [path.name for path in tmp_path.iterdir()] == ["notes.json"]  # nothing is left of its replacement


@pytest.mark.parametrize("content", ["", "[]", '{"name": "x"}', '{"name": "x", "tags": 3, "note": ""}'])
def test_a_file_that_is_broken_reads_as_no_notes(tmp_path: Path, content: str) -> None:
    (tmp_path / "notes.json").write_text(content, encoding="utf-8")
    assert read_notes(tmp_path) == RunNotes()


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        ({"name": "x" * 61}, "at most 60"),
        ({"name": "two\nlines"}, "one line"),
        ({"tags": ("x" * 31,)}, "at most 30"),
        ({"tags": tuple("abcdefghijk")}, "at most 10 tags"),
        ({"note": "x" * 2001}, "at most 2,000"),
    ],
)
def test_what_is_too_long_is_refused(notes: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        RunNotes(**notes)
