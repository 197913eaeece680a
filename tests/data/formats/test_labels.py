"""Labels are classes, sets of them, or regression targets, and columns that are neither are refused."""

import json

import pytest

from bertviz_lab.data.formats.read import read_splits, read_task
from bertviz_lab.data.formats.reading import Reading
from bertviz_lab.errors import InputError
from tests.data.formats.support import table
from tests.data.support import written


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (("0", "1"), "classification"),
        (("1", "2", "3", "4", "5"), "classification"),
        (tuple(map(str, range(77))), "classification"),
        (("0.0", "1.0"), "classification"),
        (("0.5", "1.5", "2.0"), "regression"),
        (tuple(str(n * 37 % 991) for n in range(100)), "regression"),
        (("good", "bad"), "classification"),
    ],
)
def test_numeric_labels_are_classes_or_regression_targets(tmp_path, labels, task):
    assert read_task(written(tmp_path, "a.csv", table(400, labels=labels))).task == task


@pytest.mark.parametrize(
    ("labels", "span"),
    [(range(1, 6), "1 to 5"), (range(6), "0 to 5"), ((1, 2, 3, 8, 9, 10), "1 to 10"), (range(4), ""), (range(20), "")],
)
def test_whole_numbers_that_may_be_ratings_are_classes_with_a_hint(tmp_path, labels, span):
    rows = "".join(f"film number {n},{labels[n % len(labels)]}\n" for n in range(60))
    path = written(tmp_path, "a.csv", f"text,label\n{rows}")
    hint = f"The whole numbers {span} were read as classes; if they are ratings or similarities, --task regression"
    reading = Reading.of(read_task(path))
    assert [note.startswith(hint) for note in reading.notes] == [True] * bool(span)
    assert reading.task == "classification"
    assert reading.sure
    assert not read_task(path, "classification").notes
    assert read_task(path, "regression").task == "regression"


@pytest.mark.parametrize("point", ["{} / 5", "{}.00 / 5", "{}0%"])
def test_points_of_a_quiz_are_doubtful_classes(tmp_path, point):
    rows = "".join(f"the answer of number {n},{point.format(n % 4)},{'xy'[n % 2]}\n" for n in range(40))
    path = written(tmp_path, "a.csv", f"Essay,Score,Topic area\n{rows}")
    (doubt,) = Reading.of(read_task(path)).doubts
    assert "name another label with --label, or write numbers for --task regression" in doubt.sentence
    assert Reading.of(read_task(path, label="Score")).sure


def test_integer_classes_are_integers_and_sort_as_numbers(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table(10, labels=("1.0", "0.0")) + "nothing,\n"))
    assert data.labels == ("0", "1")
    assert [(d.reason, d.count) for d in data.dropped] == [('the label is missing (column "label")', 1)]
    assert read_task(written(tmp_path, "a.csv", table(30, labels=("10", "9", "2")))).labels == ("2", "9", "10")


def test_one_class_is_refused_and_a_class_of_one_example_noted(tmp_path):
    with pytest.raises(InputError, match=r'^All 20 examples have the label "pos" in column "label" of "a\.csv"'):
        read_task(written(tmp_path, "a.csv", table(labels=("pos",))))
    data = read_task(written(tmp_path, "a.csv", table() + "an odd one,rare\n"))
    assert data.notes == ('1 class has one example only: "rare".',)


def test_a_column_of_thousands_of_values_is_refused_as_label(tmp_path):
    rows = "".join(f"{n},good film {n},user{n},{n % 2}\n" for n in range(5000))
    path = written(tmp_path, "a.csv", f"id,text,label,liked\n{rows}")
    with pytest.raises(InputError, match=r'5,000 different values .* name another: "id", "text", "label", "liked"'):
        read_task(path)
    assert read_task(path, label="liked").labels == ("0", "1")


def test_far_too_many_values_are_refused_before_examples_are_made(tmp_path, monkeypatch):
    monkeypatch.delattr("bertviz_lab.data.formats.read.labelled_texts")
    path = written(tmp_path, "a.csv", table(12_000, labels=tuple(f"class {n}" for n in range(12_000))))
    with pytest.raises(InputError, match=r"12,000 different values"):
        read_task(path)


def test_markup_in_a_label_is_text_and_harmless_in_messages(tmp_path):
    label = "<script>alert(1)</script>"
    assert label in read_task(written(tmp_path, "a.csv", table(labels=(label, "b")))).labels
    with pytest.raises(InputError) as caught:
        read_task(written(tmp_path, "a.csv", table(labels=(label,))))
    assert "<" not in str(caught.value)


SETS = [("sad",), ("sad", "angry"), (), ("glad",), ("angry",), ("angry", "glad", "sad")] * 4
ENTRIES = [f"this is the entry with the number {n}" for n in range(len(SETS))]
EXPECTED = [tuple(sorted(labels)) for labels in SETS]


def sets_of(data) -> list[tuple[str, ...]]:
    return [example.classes for example in data.examples]


def table_of_sets(separator: str) -> str:
    return "text\tlabels\n" + "".join(f"{t}\t{separator.join(s)}\n" for t, s in zip(ENTRIES, SETS, strict=True))


@pytest.mark.parametrize("separator", ["|", ";", ",", ", ", "#", "/", " "])
def test_cells_are_split_at_the_separator_that_they_have(tmp_path, separator) -> None:
    data = read_task(written(tmp_path, "a.tsv", table_of_sets(separator)), "multilabel")
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
    records = [json.dumps({"text": t, "labels": list(s)}) for t, s in zip(ENTRIES, SETS, strict=True)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(records)), task)
    assert data.task == "multilabel"
    assert sets_of(data) == EXPECTED


@pytest.mark.parametrize("spell", [json.dumps, lambda bits: '"' + ",".join(map(str, bits)) + '"'])
@pytest.mark.parametrize("kind", [int, float, bool])
def test_lists_of_a_0_or_1_for_each_label_name_those_with_1(kind, spell, tmp_path) -> None:
    bits = [[kind(label in labels) for label in ("angry", "glad", "sad")] for labels in SETS]
    lines = [f'{{"text": "{t}", "labels": {spell(each)}}}' for t, each in zip(ENTRIES, bits, strict=True)]
    (tmp_path / "labels.txt").write_text("angry\nglad\nsad\n")
    path = written(tmp_path, "a.jsonl", "\n".join(lines))
    data = read_task(path, "auto" if spell is json.dumps else "multilabel")
    assert sets_of(data) == EXPECTED
    assert "were read as the labels 0 to 2, of which those with 1 apply." in data.notes[0]
    with pytest.raises(InputError, match=r"have 2 to 3 items; give each a 0 or 1 for every label"):
        read_splits(
            [path, written(tmp_path, "b.jsonl", lines[0].replace(spell(bits[0]), spell(bits[0][1:])))], data.task
        )


def test_lines_of_fasttext_may_begin_with_several_labels(tmp_path) -> None:
    pairs = [(t, s) for t, s in zip(ENTRIES, SETS, strict=True) if s]
    text = "".join(f"{' '.join(f'__label__{label}' for label in s)} {t}\n" for t, s in pairs)
    data = read_task(written(tmp_path, "a.txt", text), "multilabel")
    assert sets_of(data) == [tuple(sorted(s)) for _, s in pairs]
    assert [example.text_a for example in data.examples] == [t for t, _ in pairs]


def test_several_labels_are_recognised_where_each_is_also_a_cell_by_itself(tmp_path) -> None:
    assert read_task(written(tmp_path, "a.tsv", table_of_sets("|"))).task == "multilabel"
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
        ([f"l{n}" for n in range(60)], "has 60 different values in 60 rows"),
    ],
)
def test_columns_that_hold_no_sets_of_labels_are_refused(tmp_path, cells, sentence) -> None:
    rows = "".join(f"this is entry {n}\t{cell}\n" for n, cell in enumerate(cells))
    with pytest.raises(InputError, match=sentence):
        read_task(written(tmp_path, "a.tsv", "text\tlabels\n" + rows), "multilabel", label="labels")
