"""Files in BLiMP's format: each line is a pair, and one that is none is refused with its place and its fault."""

import json
import zipfile
from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.data.probes import MinimalPair, read_minimal_pairs


def line(good: str, bad: str, phenomenon: str = "agreement", **others: object) -> str:
    return json.dumps({"sentence_good": good, "sentence_bad": bad, "linguistics_term": phenomenon, **others})


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


CATS = line("The cats sleep.", "The cats sleeps.", field="syntax", UID="plain_agreement", pairID="0")
HERSELF = line("She washed herself.", "She washed himself.", "anaphora")


def test_a_line_is_a_pair_and_its_kind_the_phenomenon(tmp_path: Path) -> None:
    assert read_minimal_pairs(write(tmp_path / "a.jsonl", CATS, "", HERSELF)) == (
        MinimalPair("agreement", "", "The cats sleep.", "The cats sleeps.", 2),
        MinimalPair("anaphora", "", "She washed herself.", "She washed himself.", 2),
    )


def test_a_folder_and_a_zip_are_read_file_by_file_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    write(folder / "b.jsonl", CATS)
    write(folder / "a.jsonl", HERSELF)
    write(folder / "README.md", "not a pair")
    pairs = read_minimal_pairs(folder)
    assert [pair.kind for pair in pairs] == ["anaphora", "agreement"]
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, f"data/{path.name}")
    assert read_minimal_pairs(tmp_path / "data.zip") == pairs
    assert read_minimal_pairs([folder / "b.jsonl", folder / "a.jsonl"]) == pairs[::-1]


def test_sentences_may_differ_in_length_and_in_more_than_one_word(tmp_path: Path) -> None:
    longer = line("No one has ever left.", "Someone has ever left.")
    shorter = line("He left", "He left them")
    assert [pair.position for pair in read_minimal_pairs(write(tmp_path / "a.jsonl", longer, shorter))] == [0, 2]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("not json", 'Line 2 of "a.jsonl" is not JSON'),
        ("[1, 2]", 'Record 2 of "a.jsonl" is not an object with the fields sentence_good, sentence_bad'),
        ('{"sentence_good": "a b"}', 'Record 2 of "a.jsonl" has no text in the field "sentence_bad"'),
        (line("a b", " "), 'has no text in the field "sentence_bad"'),
        (line("a b", "a c", ""), 'has no text in the field "linguistics_term"'),
        (json.dumps({"sentence_good": 3}), 'has no text in the field "sentence_good"'),
        (line("a b", "a b "), "has the same sentence"),
    ],
)
def test_a_line_that_is_no_pair_is_refused_in_a_sentence(tmp_path: Path, bad: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_minimal_pairs(write(tmp_path / "a.jsonl", CATS, bad))
    assert message in str(error.value).replace("“", '"').replace("”", '"')
    assert "\n" not in str(error.value)


def test_files_that_hold_no_pairs_or_are_empty_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no minimal pairs"):
        read_minimal_pairs(write(tmp_path / "blank.jsonl", "", ""))
    with pytest.raises(InputError, match="There is no file"):
        read_minimal_pairs(tmp_path / "absent.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(CATS.replace("cats", "pinguïns").encode("latin-1"))
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_minimal_pairs(tmp_path / "latin.jsonl")
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / "a.jsonl", CATS)
    (tmp_path / "data" / "b.jsonl").touch()
    with pytest.raises(InputError, match="is empty"):
        read_minimal_pairs(tmp_path / "data")
