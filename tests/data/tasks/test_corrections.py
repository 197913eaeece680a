"""Decisions about labels are applied in their order, and written back in the format that the file came in."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bertviz_lab.data.examples import Label, LabelledText
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.tasks.corrected_files import CorrectedFile, corrected_files
from bertviz_lab.data.tasks.corrections import Correction, correct, newest, read_corrections, write_corrections
from bertviz_lab.errors import InputError

CAT, DOG, OWL = (LabelledText(text, None, "animal", row) for row, text in enumerate(("cat", "dog", "owl"), 1))


def test_labels_change_and_examples_are_left_out() -> None:
    decided = [Correction(CAT, "pet"), Correction(OWL, None), Correction(DOG, "animal")]
    assert correct((CAT, DOG, OWL), decided) == ((LabelledText("cat", None, "pet", 1), DOG), 2)


def test_the_newest_decision_counts() -> None:
    assert newest([Correction(CAT, "pet"), Correction(CAT, None)]) == {CAT: None}
    assert newest([Correction(CAT, "pet"), Correction(CAT, "animal")]) == {}


def test_a_second_check_decides_about_what_the_first_has_corrected() -> None:
    first = Correction(CAT, "pet")
    second = Correction(LabelledText("cat", None, "pet", 1), "toy")
    assert newest([first, second]) == {CAT: "toy"}


def test_a_file_gives_the_decisions_back(tmp_path: Path) -> None:
    several = LabelledText("line\u2028end", "b", ("x", "y"), 7)
    decided = (Correction(several, ("x",)), Correction(CAT, None))
    write_corrections(tmp_path / "corrections.jsonl", decided)
    assert read_corrections(tmp_path / "corrections.jsonl") == decided


def test_corrections_of_other_examples_are_refused() -> None:
    with pytest.raises(InputError, match="other examples"):
        correct((DOG,), [Correction(CAT, "pet")])


def test_a_file_that_is_missing_or_another_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There are no corrections"):
        read_corrections(tmp_path / "none.jsonl")
    (tmp_path / "other.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="holds no corrections"):
        read_corrections(tmp_path / "other.jsonl")


ROWS = [(f"text number {n}, which is long enough", ("good", "bad")[n % 2]) for n in range(12)]


def written(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


def corrected(path: Path, decisions: Mapping[int, Label | None], task: str = "auto") -> CorrectedFile:
    """Correct a file by the places of its examples."""
    examples = read_task(path, task).examples
    (file,) = corrected_files([path], task, {examples[n]: label for n, label in decisions.items()})  # type: ignore[misc]
    return file


def label(example: object) -> object:
    return example.label


def lines(file: CorrectedFile, encoding: str = "utf-8") -> list[str]:
    return file.content.decode(encoding).splitlines(keepends=True)


TABLES = {
    "plain.csv": "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in ROWS),
    "windows.csv": "\ufeffid;label;text\r\n" + "".join(f'{n};"{b}";"{a} ""so"""\r\n' for n, (a, b) in enumerate(ROWS)),
    "spread.csv": "label,text,more\n" + "".join(f'{b},"{a}\nand a line, {b}","x, y"\n\n' for a, b in ROWS),
    "tabs.tsv": "".join(f'{a} said "{b}\t{b}\n' for a, b in ROWS),
    "sep.csv": "sep=|\n" + "text|label\n" + "".join(f"{a}|{b}\n" for a, b in ROWS),
    "long.txt": "".join(f"{b}|||{a}\n" for a, b in ROWS),
    "escaped.csv": "text,label\n" + "".join(f'"{a} \\"{b}\\" x",{b}\n' for a, b in ROWS),
    "single.csv": "text,label\n" + "".join(f"'{a}, it''s','{b}'\n" for a, b in ROWS),
    "words.txt": "".join(f"{b}  {a}\n" for a, b in ROWS),
    "fast.txt": "".join(f"__label__{b} {a}\n" for a, b in ROWS),
    "records.jsonl": "".join(f'{{"label": "{b}",  "text":"{a} \\u00e9", "n": {{"label": 1.0}} }}\n' for a, b in ROWS),
    "list.json": "[\n" + ",\n".join(f'  {{"text": "{a}", "label": "{b}"}}' for a, b in ROWS) + "\n]\n",
}


def difference(before: str, after: str) -> tuple[str, str]:
    """Return the one place in which two texts differ, as it was and as it is, from a comma or line end on."""
    start = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(after))
    rest = min(len(before), len(after)) - start
    end = next((n for n in range(rest) if before[-1 - n] != after[-1 - n]), rest)
    return before[start : len(before) - end], after[start : len(after) - end]


@pytest.mark.parametrize("name", TABLES)
def test_only_the_corrected_label_changes(tmp_path: Path, name: str) -> None:
    content = TABLES[name]
    file = corrected(written(tmp_path / name, content), {3: "good"})
    stem, _, ending = name.partition(".")
    assert (file.name, file.changed, file.note) == (f"{stem}-corrected.{ending}", 1, "")
    assert difference(content, file.content.decode()) == ("ba", "goo")  # they end alike
    again = read_task(written(tmp_path / file.name, file.content.decode())).examples
    assert [label(e) for e in again] == ["good" if n == 3 else b for n, (_, b) in enumerate(ROWS)]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("place", [0, 3, 11])
def test_a_row_that_is_left_out_is_gone_and_no_other_byte(tmp_path: Path, name: str, place: int) -> None:
    content = TABLES[name]
    file = corrected(written(tmp_path / name, content), {place: None})
    gone, put = difference(content, file.content.decode())
    assert (file.note, put) == ("", "")
    assert gone.count("number") == 1


def test_labels_are_spelled_as_the_file_spells_them(tmp_path: Path) -> None:
    content = "text,label\n" + "".join(f"{a.replace(',', '')},{n % 2}.0\n" for n, (a, _) in enumerate(ROWS))
    file = corrected(written(tmp_path / "floats.csv", content), {0: "1"})
    assert lines(file)[1] == "text number 0 which is long enough,1.0\n"


def test_the_encoding_stays(tmp_path: Path) -> None:
    content = "text,label\n" + "".join(f'"café {a}",{b}\n' for a, b in ROWS)
    file = corrected(written(tmp_path / "old.csv", content, "cp1252"), {0: "bad"})
    assert lines(file, "cp1252")[1] == '"café text number 0, which is long enough",bad\n'


def test_sets_of_labels_are_joined_as_in_the_file(tmp_path: Path) -> None:
    content = "text,labels\n" + "".join(
        f'"{a}",{("new|old", "old", "red", "new")[n % 4]}\n' for n, (a, _) in enumerate(ROWS)
    )
    file = corrected(written(tmp_path / "sets.csv", content), {1: ("old", "red"), 2: ()}, "multilabel")
    assert [line.rstrip().rpartition(",")[2] for line in lines(file)[1:4]] == ["new|old", "old|red", ""]


def test_what_cannot_be_written_back_becomes_csv_and_says_so(tmp_path: Path) -> None:
    content = "text,good,bad\n" + "".join(f'"{a}",{int(b == "good")},{int(b == "bad")}\n' for a, b in ROWS)
    file = corrected(written(tmp_path / "bits.csv", content), {0: "bad", 1: None})
    assert "cannot be written back" in file.note
    assert file.changed == 2
    assert lines(file)[:3] == ["text,label\n", f'"{ROWS[0][0]}",bad\n', f'"{ROWS[2][0]}",good\n']


def test_several_files_are_corrected_each_by_itself(tmp_path: Path) -> None:
    paths = [written(tmp_path / f"{n}.csv", TABLES["plain.csv"].replace("text number", f"file {n}")) for n in range(2)]
    examples = [e for e in read_task(paths).examples if isinstance(e, LabelledText)]
    decided = {next(e for e in examples if e.text_a.startswith("file 1 0")): "bad"}
    first, second = corrected_files(paths, "auto", decided)
    assert (first.changed, second.changed) == (0, 1)
    assert first.content == paths[0].read_bytes()
