"""Several labels of a text, however a file gives them."""

import json

import pytest

from bertviz_lab.data.examples import labels_of_example
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.errors import InputError
from tests.data.support import written

SETS = [("sad",), ("sad", "angry"), (), ("glad",), ("angry",), ("angry", "glad", "sad")] * 4
TEXTS = [f"this is the entry with the number {n}" for n in range(len(SETS))]
EXPECTED = [tuple(sorted(labels)) for labels in SETS]


def sets_of(data) -> list[tuple[str, ...]]:
    return [labels_of_example(example) for example in data.examples]


def table(separator: str) -> str:
    return "text\tlabels\n" + "".join(f"{t}\t{separator.join(s)}\n" for t, s in zip(TEXTS, SETS, strict=True))


@pytest.mark.parametrize("separator", ["|", ";", ",", ", ", " "])
def test_cells_are_split_at_the_separator_that_they_have(tmp_path, separator) -> None:
    data = read_task(written(tmp_path, "a.tsv", table(separator)), "multilabel")
    assert (data.task, data.labels) == ("multilabel", ("angry", "glad", "sad"))
    assert sets_of(data) == EXPECTED
    assert not data.dropped


def test_a_blank_inside_a_label_separates_nothing(tmp_path) -> None:
    text = "text\tlabels\n" + "".join(f"entry {n}\t{('very good', 'bad')[n % 2]}\n" for n in range(8))
    assert read_task(written(tmp_path, "a.tsv", text), "multilabel").labels == ("bad", "very good")


def test_a_row_of_another_width_among_columns_of_0_and_1_is_dropped(tmp_path) -> None:
    rows = [f"the entry {n},{n % 2},{n // 2 % 2}" for n in range(8)]
    text = "\n".join(["text,a,b", *rows, "odd,1,0,1,1", "short,1"]) + "\n"
    data = read_task(written(tmp_path, "a.csv", text), "multilabel")
    assert len(data.examples) == 8
    assert sum(dropped.count for dropped in data.dropped) == 2


@pytest.mark.parametrize("task", ["multilabel", "auto"])
def test_lists_of_records_are_labels(tmp_path, task) -> None:
    records = [json.dumps({"text": t, "labels": list(s)}) for t, s in zip(TEXTS, SETS, strict=True)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(records)), task)
    assert data.task == "multilabel"
    assert sets_of(data) == EXPECTED


def test_lines_of_fasttext_may_begin_with_several_labels(tmp_path) -> None:
    pairs = [(t, s) for t, s in zip(TEXTS, SETS, strict=True) if s]
    text = "".join(f"{' '.join(f'__label__{label}' for label in s)} {t}\n" for t, s in pairs)
    data = read_task(written(tmp_path, "a.txt", text), "multilabel")
    assert sets_of(data) == [tuple(sorted(s)) for _, s in pairs]
    assert [example.text_a for example in data.examples] == [t for t, _ in pairs]


def test_several_labels_are_recognised_where_each_is_also_a_cell_by_itself(tmp_path) -> None:
    assert read_task(written(tmp_path, "a.tsv", table("|"))).task == "multilabel"
    towns = "".join(f"entry {n}\t{('Paris, France', 'Rome, Italy')[n % 2]}\n" for n in range(8))
    assert read_task(written(tmp_path, "b.tsv", "text\tlabel\n" + towns)).task == "classification"
    decimals = "".join(f"entry {n}\t{('4', '5', '4,5')[n % 3]}\n" for n in range(9))
    assert read_task(written(tmp_path, "c.tsv", "text\tlabel\n" + decimals)).task == "classification"


def test_numbers_have_the_names_in_labels_txt(tmp_path) -> None:
    (tmp_path / "labels.txt").write_text("neutral\nsad\nglad\n")
    path = written(tmp_path, "a.tsv", "text\tlabel\n" + "".join(f"e {n}\t{('1', '0,2')[n % 2]}\n" for n in range(8)))
    data = read_task(path, "multilabel")
    assert data.labels == ("glad", "neutral", "sad")
    assert sets_of(data)[:2] == [("sad",), ("glad", "neutral")]
    assert data.notes == ('The labels 0, 1 ... have the names in "labels.txt".',)
    (tmp_path / "labels.txt").write_text("neutral\nsad\n")  # too few
    assert read_task(path, "multilabel").labels == ("0", "1", "2")


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["", ""], "gives no example a label"),
        (["sad", ""], 'has the label "sad" only'),
        ([f"l{n}" for n in range(60)], "has 60 different labels in 60 rows"),
    ],
)
def test_columns_that_hold_no_sets_of_labels_are_refused(tmp_path, cells, sentence) -> None:
    rows = "".join(f"this is entry {n}\t{cell}\n" for n, cell in enumerate(cells))
    with pytest.raises(InputError, match=sentence):
        read_task(written(tmp_path, "a.tsv", "text\tlabels\n" + rows), "multilabel", label="labels")
