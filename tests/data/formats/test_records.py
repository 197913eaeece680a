"""JSON, Parquet and data sets by name are read as records."""

import json

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from bertviz_lab.data.formats.read import read_splits, read_task
from bertviz_lab.errors import InputError
from tests.data.formats.support import RECORDS
from tests.data.support import written


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_record_a_line_is_read_under_either_ending(tmp_path, name):
    data = read_task(written(tmp_path, name, "\n".join(map(json.dumps, RECORDS))))
    assert [(e.text_a, e.label, e.row) for e in data.examples[:2]] == [
        ("film 0 was good", "0", 1), ("film 1 was good", "1", 2),
    ]  # fmt: skip
    assert len(data.examples) == 20


def test_records_over_several_lines_each_are_read_one_after_the_other(tmp_path):
    data = read_task(written(tmp_path, "a.json", "\n".join(json.dumps(record, indent=2) for record in RECORDS)))
    assert len(data.examples) == 20


def test_objects_inside_objects_become_columns(tmp_path):
    lines = [{"item": {"body": {"text": f"film {n} was good"}, "said": {"verdict": "ab"[n % 2]}}} for n in range(20)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines))))
    assert (data.files[0].label, data.labels) == ("verdict", ("a", "b"))


def test_multiple_choice_is_named_and_refused(tmp_path):
    line = {"article": "It lies at the sea.", "question": "Where is it?", "options": ["sea", "hill", "lake"]}
    path = written(tmp_path, "a.jsonl", "\n".join(json.dumps(line | {"answer": "ABC"[n % 3]}) for n in range(20)))
    with pytest.raises(InputError, match="multiple-choice questions"):
        read_task(path)


def test_booleans_are_classes_and_decimals_regression_targets(tmp_path):
    lines = [{"question": f"is it {n} now", "passage": f"it was {n} then", "answer": n % 2 == 0} for n in range(8)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines))))
    assert data.labels == ("False", "True")
    assert data.examples[0].text_b == "it was 0 then"
    lines = [{"text": f"film {n}", "score": n / 4} for n in range(8)]
    data = read_task(written(tmp_path, "b.jsonl", "\n".join(map(json.dumps, lines))))
    assert data.examples[3].label == 0.75


def test_records_with_several_labels_are_dropped_where_one_is_asked_for(tmp_path):
    lines = [{"text": f"film {n}", "labels": [n % 2] if n else [0, 1]} for n in range(8)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines))), "classification")
    assert len(data.examples) == 7
    assert [(d.count, d.where) for d in data.dropped] == [(1, ('"a.jsonl" record 1',))]


def test_half_a_surrogate_pair_in_a_text_becomes_a_replacement_character(tmp_path):
    lines = [{"text": f"film \ud83d {n} \U0001f3ac", "label": ["a", "b\udfff"][: n % 2 + 1]} for n in range(8)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines))), "multilabel")
    assert (data.examples[1].text_a, data.examples[1].label) == ("film \ufffd 1 \U0001f3ac", ("a", "b\ufffd"))
    asked = {"question": "who \ud800", "context": "the cat \udc00", "answers": {"text": ["cat"], "answer_start": [4]}}
    (question,) = read_task(written(tmp_path, "b.json", json.dumps([asked]))).examples
    assert (question.question, question.passage, question.answers[0].start) == ("who \ufffd", "the cat \ufffd", 4)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": \n', r'^Line 2 of "a\.jsonl" is not JSON'),
        ("a.json", '{"data": [{"text": "a"}\n', r'"a\.json" is not JSON from line 2'),
        ("a.json", '["a", "b"]', r'"a\.json" record 1 is neither an object nor a list'),
        ("a.json", "[]", "holds no records"),
        ("a.json", '{"a":' * 100_000, "nested too deeply"),
        ("a.parquet", b"PAR1" + b"x" * 100, r'"a\.parquet" is a damaged table'),
    ],
)
def test_malformed_records_are_refused_with_their_location(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read_task(written(tmp_path, name, content))


def parquet(folder, name="a.parquet", names=("negative", "positive")):
    features = datasets.Features(
        {"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=list(names))}
    )
    info = {"info": {"features": features.to_dict()}}
    rows = [{"sentence": f"a film of number {n}", "label": n % 2} for n in range(10)]
    table = pyarrow.Table.from_pylist([*rows, {"sentence": "not labelled", "label": -1}])
    folder.mkdir(exist_ok=True)
    path = folder / name
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"huggingface": json.dumps(info).encode()}), path)
    return path


def test_parquet_is_read_with_its_class_names(tmp_path):
    data = read_task(parquet(tmp_path))
    assert data.labels == ("negative", "positive")
    assert data.files[0].format == "parquet"
    assert [(d.reason, d.where) for d in data.dropped] == [
        ('the label is missing (column "label")', ('"a.parquet" row 11',))
    ]


def test_classes_are_in_the_order_that_the_file_declares(tmp_path):
    """The F1 of GLUE's MRPC is that of the second class, whatever the alphabet says."""
    names = ("not_equivalent", "equivalent")
    assert read_task(parquet(tmp_path, names=names)).labels == names
    more = parquet(tmp_path, "b.parquet", names)
    assert [data.labels for data in read_splits([tmp_path / "a.parquet", more])] == [names, names]


def test_a_data_set_by_name_is_read_with_its_class_names(tmp_path):
    data = read_task(f"dataset:{parquet(tmp_path / 'set').parent}")
    assert data.labels == ("negative", "positive")
    assert data.files[0].format == "dataset"
    assert len(data.examples) == 10


def test_fields_beyond_a_thousand_and_small_files_of_much_text_are_refused(tmp_path):
    column = pyarrow.array(["word " * 4_000] * 2_000).dictionary_encode()
    labels = pyarrow.array(["ab"[n % 2] for n in range(2_000)])
    pyarrow.parquet.write_table(pyarrow.table({"text": column, "label": labels}), tmp_path / "small.parquet")
    assert (tmp_path / "small.parquet").stat().st_size < 10_000
    with pytest.raises(InputError, match=r'"small.parquet" holds more text than is read at once'):
        read_task([tmp_path / "small.parquet"], max_bytes=1_000_000)
    lines = (json.dumps({f"id {n}": "a text", "label": "ab"[n % 2]}) for n in range(3_000))
    path = written(tmp_path, "many.jsonl", "\n".join(lines))
    with pytest.raises(InputError, match="more than 1,000 different fields"):
        read_task([path])


@pytest.mark.parametrize(
    ("rows", "limit", "message"),
    [
        ([[0] * 100_000] * 100, 100_000_000, "holds 20,000,000 values, more than are read"),  # before they are read
        ([["word " * 200] * 100] * 100, 1_000_000, "holds more text than is read at once"),
    ],
)
def test_a_small_parquet_file_of_long_lists_is_refused(tmp_path, rows, limit, message):
    column = pyarrow.array(rows)
    pyarrow.parquet.write_table(pyarrow.table({"tokens": column, "label": column}), tmp_path / "lists.parquet")
    assert (tmp_path / "lists.parquet").stat().st_size < 50_000
    with pytest.raises(InputError, match=f'"lists.parquet" {message}'):
        read_task([tmp_path / "lists.parquet"], max_bytes=limit)
