"""Data sets by name: folders and files on this machine, and what is said where the hub cannot be reached."""

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from bertviz_lab.data.corpora.formats.hub import DatasetName
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.corpora.reading_notes import ReadingNotes
from bertviz_lab.errors import InputError

ROWS = [{"id": i, "label": "news", "text": f"Story {i} begins. It ends soon after."} for i in range(6)]


def lines(folder: Path, name: str, rows: list[dict]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(map(json.dumps, rows)) + "\n")
    return folder


def sentences(entry: str, **options) -> list[tuple[str, ...]]:
    return [document.sentences for document in read_documents([entry], **options)]


EXPECTED = [(f"Story {i} begins.", "It ends soon after.") for i in range(6)]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "tsv"])
def test_a_single_file_and_its_folder_are_data_sets(kind, tmp_path):
    file = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), file)
    elif kind == "jsonl":
        lines(tmp_path, file.name, ROWS)
    else:
        file.write_text("id\ttext\n" + "".join(f"{row['id']}\t{row['text']}\n" for row in ROWS))
    assert sentences(f"dataset:{file}") == EXPECTED
    if kind != "tsv":
        assert sentences(f"dataset:{tmp_path}") == EXPECTED


def test_a_split_and_a_configuration_can_be_named(tmp_path):
    folder = lines(tmp_path / "set", "train.jsonl", ROWS)
    lines(folder, "test.jsonl", ROWS[:2])
    assert sentences(f"dataset:{folder}") == EXPECTED
    assert sentences(f"dataset:{folder}@test") == EXPECTED[:2]
    with pytest.raises(InputError, match='no split "dev"; it has "train", "test"'):
        sentences(f"dataset:{folder}@dev")
    folder = lines(tmp_path / "set", "a.jsonl", ROWS)
    lines(folder, "b.jsonl", ROWS[:3])
    configs = "".join(f"- config_name: {name}\n  data_files: {name}.jsonl\n" for name in "ab")
    (folder / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    assert sentences(f"dataset:{folder}:b@train") == EXPECTED[:3]
    with pytest.raises(InputError, match="'a', 'b'"):
        sentences(f"dataset:{folder}")


def test_the_field_can_be_named_and_is_the_longest_text_otherwise(tmp_path):
    rows = [{"title": "A title.", "plot": row["text"]} for row in ROWS]
    folder = lines(tmp_path / "set", "data.jsonl", rows)
    assert sentences(f"dataset:{folder}") == EXPECTED
    assert sentences(f"dataset:{folder}", text_field="title") == [("A title.",)] * 6
    with pytest.raises(InputError, match='no field "body"'):
        sentences(f"dataset:{folder}", text_field="body")


def test_rows_that_are_lines_are_read_as_a_text(tmp_path):
    """As in wikitext: a paragraph a row, an empty row between articles."""
    article = [{"text": "One sentence. Another one.\n"}, {"text": "The next paragraph. It ends.\n"}, {"text": ""}]
    folder = lines(tmp_path / "set", "data.jsonl", article * 5)
    document = ("One sentence.", "Another one.", "The next paragraph.", "It ends.")
    notes = ReadingNotes()
    assert sentences(f"dataset:{folder}", notes=notes) == [document] * 5
    assert "rows are lines" in notes.files[0].layout
    assert sentences(f"dataset:{folder}", documents="file") == [document * 5]


def test_a_data_set_beside_files_and_a_limit_on_both(tmp_path):
    folder = lines(tmp_path / "set", "data.jsonl", ROWS)
    (tmp_path / "more.txt").write_text("More text. It is here.\n")
    found = list(read_documents([tmp_path / "more.txt", f"dataset:{folder}"]))
    assert [document.sentences for document in found] == [*EXPECTED, ("More text.", "It is here.")]
    with pytest.raises(InputError, match="larger than"):
        list(read_documents([f"dataset:{folder}"], max_bytes=100))


def test_what_cannot_be_read_is_told_in_one_sentence(tmp_path):
    with pytest.raises(
        InputError, match=r'"nobody/nothing" could not be opened .*; check its name and the network'
    ) as e:
        sentences("dataset:nobody/nothing:config@train")
    assert "\n" not in str(e.value)
    with pytest.raises(InputError, match="no field that holds text"):
        sentences(f"dataset:{lines(tmp_path / 'numbers', 'data.jsonl', [{'n': 1}, {'n': 2}])}")
    folder = lines(tmp_path / "set", "data.jsonl", ROWS)
    (folder / "other.jsonl").write_text('{"text": "fine."}\n{"text": broken\n')
    with pytest.raises(InputError, match="could not be"):
        sentences(f"dataset:{folder}")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("dataset:wikitext:wikitext-2-raw-v1@train", ("wikitext", "wikitext-2-raw-v1", "train")),
        ("dataset:org/set", ("org/set", None, None)),
        ("dataset:org/set@validation", ("org/set", None, "validation")),
        ("dataset:org/set:en", ("org/set", "en", None)),
    ],
)
def test_a_name_is_taken_apart(entry, expected):
    found = DatasetName.parse(entry)
    assert (found.name, found.config, found.split) == expected


def test_a_folder_may_have_marks_in_its_name(tmp_path):
    folder = lines(tmp_path / "a:b@c", "data.jsonl", ROWS)
    assert sentences(f"dataset:{folder}") == EXPECTED
    assert sentences(f"dataset:{folder}@train") == EXPECTED


@pytest.mark.parametrize("entry", ["dataset:", "dataset:@train", "dataset::config"])
def test_a_name_must_be_there(entry):
    with pytest.raises(InputError, match="names no data set"):
        sentences(entry)
