"""JSON, Parquet, workbooks, columns, compressed files and data sets by name are read as records."""

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile

import datasets
import pyarrow
import pyarrow.parquet
import pytest
from pyarrow import feather, ipc, parquet

from bertviz_lab.data.formats.read import read_splits, read_task
from bertviz_lab.data.formats.reading import Reading
from bertviz_lab.data.tasks.unlabeled_inputs import read_inputs
from bertviz_lab.errors import InputError
from tests.data.formats.support import RECORDS, rows_of, table
from tests.data.support import written, zipped


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_record_a_line_is_read_under_either_ending(tmp_path, name):
    data = read_task(written(tmp_path, name, "\n".join(map(json.dumps, RECORDS))))
    assert [(e.text_a, e.label, e.row) for e in data.examples[:2]] == [
        ("film 0 was good", "0", 1), ("film 1 was good", "1", 2),
    ]  # fmt: skip
    assert len(data.examples) == 20


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("ending", [".json", ".jsonl", ".txt"])
def test_a_list_of_records_is_read_under_every_ending(indent, ending, tmp_path):
    data = read_task(written(tmp_path, f"a{ending}", json.dumps(RECORDS, indent=indent)))
    assert (len(data.examples), data.examples[1].text_a) == (20, "film 1 was good")


def test_records_over_several_lines_each_are_read_one_after_the_other(tmp_path):
    data = read_task(written(tmp_path, "a.json", "\n".join(json.dumps(record, indent=2) for record in RECORDS)))
    assert len(data.examples) == 20


def test_objects_inside_objects_become_columns(tmp_path):
    lines = [{"item": {"body": {"text": f"film {n} was good"}, "said": {"verdict": "ab"[n % 2]}}} for n in range(20)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines))))
    assert (data.files[0].label, data.labels) == ("verdict", ("a", "b"))


OPTIONS = ["a sea", "the hill", "no lake"]
RACE = {"article": "By the sea.", "questions": ["Where?", "Who?"], "options": [OPTIONS, OPTIONS], "answers": ["A", "B"]}


@pytest.mark.parametrize("record", [
    {"article": "It lies at the sea.", "question": "Where is it?", "options": OPTIONS, "answer": "A"},
    RACE,
    {"question": {"stem": "Where is it?", "choices": [{"text": text} for text in OPTIONS]}, "answerKey": "A"},
    {"question_stem": "Where is it?", "choices": {"text": OPTIONS, "label": ["A", "B", "C"]}, "answerKey": "A"},
    {"question": "Where is it?", **{f"answer{'ABC'[n]}": text for n, text in enumerate(OPTIONS)}, "label": 1},
    {"sent1": "It lies there.", **{f"ending{n}": text for n, text in enumerate(OPTIONS)}, "label": 0},
    {"question": "Where is it?", **dict(zip("ABC", OPTIONS, strict=True)), "answer": "A"},
])  # fmt: skip
@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv"])
def test_multiple_choice_is_named_and_refused(record, ending, tmp_path):
    key = list(record)[-1]
    answers = ["A", "B", "C"] if record[key] == "A" else [record[key], 3, 2]
    records = [record | {key: answers[n % 3]} for n in range(3)]
    if ending == ".csv":
        rows = csv.writer(stream := io.StringIO())
        rows.writerows([record, *(each.values() for each in records)])
    content = {".json": json.dumps(records), ".jsonl": "\n".join(map(json.dumps, records))}
    with pytest.raises(InputError, match=r"multiple-choice questions.* text and a label each"):
        read_task(written(tmp_path, f"a{ending}", content.get(ending) or stream.getvalue()), header="yes")


def test_a_file_of_one_article_with_its_questions_is_multiple_choice(tmp_path):
    with pytest.raises(InputError, match="multiple-choice questions"):
        read_task(written(tmp_path, "a.json", json.dumps(RACE)))


@pytest.mark.parametrize("before", [[], ["math"]])
def test_multiple_choice_without_a_header_is_named_and_refused(before, tmp_path):
    answers = [[f"at sea {n}", f"on hill {n}", str(n), f"no lake {n}", "ABCD"[n % 4]] for n in range(9)]
    rows = [[*before, f"Where does number {n} lie?", *row] for n, row in enumerate(answers)]
    csv.writer(stream := io.StringIO()).writerows(rows)
    path = written(tmp_path, "a.csv", stream.getvalue())
    for each in (path, written(tmp_path, "a.json", json.dumps(rows))):
        with pytest.raises(InputError, match=r"multiple-choice questions .* text and a label each, or name the two"):
            read_task(each)
    text, label = str(len(before) + 1), str(len(before) + 6)
    assert read_task(path, text_a=text, text_b="none", label=label).labels == ("A", "B", "C", "D")
    rows = "".join(f"{n},Ana {n},Oslo {n},the food of {n} was bad,{'ABC'[n % 3]}\n" for n in range(20))
    assert read_task(written(tmp_path, "b.csv", rows)).labels == ("A", "B", "C"), "a number asks nothing"


EVIDENCE = [["Oslo", ["Oslo lies at sea.", "It is old."]], ["Mill", ["The mill fell."]]]
JOINED = "Oslo\nOslo lies at sea.\nIt is old.\nMill\nThe mill fell."


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv"])
@pytest.mark.parametrize("written_as", [json.dumps, str])
def test_titles_with_their_sentences_are_read_as_the_second_text(written_as, ending, tmp_path):
    rows = [{"claim": f"It is claim {n}", "evidence": EVIDENCE[n % 2 :], "label": "YN"[n % 3 % 2]} for n in range(9)]
    table = csv.DictWriter(stream := io.StringIO(), rows[0])
    table.writeheader()
    table.writerows(row | {"evidence": written_as(row["evidence"])} for row in rows)
    content = {".json": json.dumps(rows), ".jsonl": "\n".join(map(json.dumps, rows)), ".csv": stream.getvalue()}
    data = read_task(path := written(tmp_path, f"a{ending}", content[ending]))
    texts = (JOINED, "Mill\nThe mill fell.")
    assert rows_of(data) == [(row["claim"], texts[n % 2], row["label"]) for n, row in enumerate(rows)]
    assert [(r.reason, r.count) for r in data.repaired] == [
        ("cells held lists of texts, and were read as these, a line each", 9)
    ]
    assert [example.text_b for example in read_inputs(path, "classification").examples[:2]] == [*texts]


def test_a_second_text_that_is_a_list_of_anything_else_is_doubted(tmp_path):
    rows = [{"claim": f"It is claim {n}", "evidence": [[[n, 4, "Some page"]]], "label": "YN"[n % 2]} for n in range(9)]
    path = written(tmp_path, "a.json", json.dumps(rows))
    with pytest.raises(InputError, match=r'"evidence" .* holds lists or records and is not read.*give --text-b none'):
        Reading.of(read_task(path)).require_sure()
    read = Reading.of(read_task(path, text_b="evidence"))
    assert any("Most second texts are lists or records" in note for note in read.notes)


def test_records_in_lists_that_have_labels_of_their_own_are_not_named_by_their_lists(tmp_path):
    reviews = [{"text": f"the review {n}", "label": "ab"[n % 2]} for n in range(9)]
    data = read_task(written(tmp_path, "a.json", json.dumps({"reviews": reviews, "posts": reviews[:4]})))
    assert (data.labels, len(data.examples)) == (("a", "b"), 9)
    unnamed = [{"text": review["text"], "id": n} for n, review in enumerate(reviews)]
    data = read_task(written(tmp_path, "b.json", json.dumps({"spam": unnamed, "ham": unnamed[:4]})))
    assert (data.labels, len(data.examples)) == (("ham", "spam"), 13)
    assert 'were read as the texts of the labels "spam", "ham"' in data.notes[0]


def test_answers_to_a_survey_are_no_choices_and_named_columns_are_read(tmp_path):
    rows = [{"comment": f"the comment number {n}", **dict.fromkeys("ABC", n % 4), "label": n % 3} for n in range(20)]
    assert read_task(written(tmp_path, "a.json", json.dumps(rows))).labels == ("0", "1", "2")
    rows = [{f"answer{k}": f"the answer {k} of {n}" for k in (1, 2, 3)} | {"grade": n % 3} for n in range(20)]
    assert read_task(written(tmp_path, "c.json", json.dumps(rows))).labels == ("0", "1", "2")
    rows = [{"question": f"where is {n}", "options": OPTIONS, "subject": "ab"[n % 2]} for n in range(20)]
    assert read_task(written(tmp_path, "b.json", json.dumps(rows)), label="subject").labels == ("a", "b")


@pytest.mark.parametrize(
    "like",
    [
        {"text": "the text", "cats": {"a": "yes", "b": None}},
        {"fields": {"text": "the text"}, "responses": {"question": ["good"]}},
        {"fields": {"text": "the text"}, "responses": {"question": {"value": "good"}}},
        {"data": {"text": "the text"}, "annotations": [{"result": 5}]},
        {"text": "the text", "entities": [[float("nan"), 3, "PER"], [0, float("inf"), "PER"]]},
        {"messages": ["the text", 5]},
    ],
    ids=lambda like: list(like)[-1],
)
def test_records_that_only_look_like_those_of_a_tool_are_read_as_they_are(like, tmp_path):
    rows = [like | {"remark": f"the remark number {n}", "topic": "ab"[n % 2]} for n in range(8)]
    data = read_task(written(tmp_path, "a.json", json.dumps(rows)), "classification", text_a="remark", label="topic")
    assert [example.label for example in data.examples] == ["a", "b"] * 4


def test_lists_that_only_look_like_intents_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(InputError, match="has one column only"):
        read_task(written(tmp_path, "a.json", json.dumps({name: [{"data": ["book", 5]}] * 9 for name in "ab"})))


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
        ("a.txt", "{'text': 'a, b', 'label': 'c'}\n" * 9, r'^Line 1 of "a\.txt" is not JSON \(.* double quotes\)'),
        ("a.txt", "[('a text, here', 'c'), ('b', 'd')]\n", r'^"a\.txt" is not JSON from line 1'),
        ("a.json", '{"data": [{"text": "a"}\n', r'"a\.json" is not JSON from line 2'),
        ("a.json", "[1, 2]", r'"a\.json" record 1 is neither an object nor a list'),
        ("a.json", '["a", "b"]', r'"a\.json" has one column only \("text"\), .*; give records with both'),
        ("a.csv", "text\nfine here\nbye now\n", "name its delimiter, or give a file with both"),
        ("a.json", "[]", "holds no records"),
        ("a.json", '{"a":' * 100_000, "nested too deeply"),
        ("a.jsonl", f'{{"text": "a", "label": {"9" * 5000}}}\n', "thousands of digits"),
        ("a.parquet", b"PAR1" + b"x" * 100, r'"a\.parquet" is a damaged table'),
    ],
)
def test_malformed_records_are_refused_with_their_location(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read_task(written(tmp_path, name, content))


def parquet_file(folder, name="a.parquet", names=("negative", "positive")):
    label = datasets.ClassLabel(names=list(names))
    features = datasets.Features({"sentence": datasets.Value("string"), "label": label})
    rows = [{"sentence": f"a film of number {n}", "label": n % 2} for n in range(10)]
    folder.mkdir(exist_ok=True)
    data = datasets.Dataset.from_list([*rows, {"sentence": "not labelled", "label": -1}], features)
    data.to_parquet(folder / name)
    return folder / name


def test_parquet_is_read_with_its_class_names(tmp_path):
    data = read_task(parquet_file(tmp_path))
    assert data.labels == ("negative", "positive")
    assert data.files[0].format == "parquet"
    assert [(d.reason, d.where) for d in data.dropped] == [
        ('the label is missing (column "label")', ('"a.parquet" row 11',))
    ]


def test_classes_are_in_the_order_that_the_file_declares(tmp_path):
    """The F1 of GLUE's MRPC is that of the second class, whatever the alphabet says."""
    names = ("not_equivalent", "equivalent")
    assert read_task(parquet_file(tmp_path, names=names)).labels == names
    more = parquet_file(tmp_path, "b.parquet", names)
    assert [data.labels for data in read_splits([tmp_path / "a.parquet", more])] == [names, names]


def test_a_data_set_by_name_is_read_with_its_class_names(tmp_path):
    data = read_task(f"dataset:{parquet_file(tmp_path / 'set').parent}")
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


ROWS = [(f"good film number {n}", None, ("neg", "pos")[n % 2]) for n in range(20)]
TEXTS, LABELS = [row[0] for row in ROWS], [row[2] for row in ROWS]
PACKERS = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
    "zst": lambda content: pyarrow.compress(content, "zstd", asbytes=True),
}  # fmt: skip


@pytest.mark.parametrize("ending", PACKERS)
def test_a_compressed_file_is_read_alone_and_in_a_zip(ending, tmp_path):
    packed = PACKERS[ending](table().encode())
    assert rows_of(read_task(written(tmp_path, f"a.csv.{ending}", packed))) == ROWS
    tests = PACKERS[ending](b"unseen\n")
    data = read_task(zipped(tmp_path, {f"train.csv.{ending}": packed, f"test.csv.{ending}": tests}))
    assert rows_of(data) == ROWS
    lines = written(tmp_path, f"b.txt.{ending}", PACKERS[ending](b"one\ntwo\n"))
    assert [example.text_a for example in read_inputs(lines, "classification").examples] == ["one", "two"]


def test_a_compressed_file_that_is_cut_off_or_unpacks_to_very_much_is_refused(tmp_path):
    with pytest.raises(InputError, match=r'"a\.csv\.gz" is damaged; pack it again'):
        read_task(written(tmp_path, "a.csv.gz", gzip.compress(table().encode())[:-20]))
    with pytest.raises(InputError, match="unpacks to more than is read"):
        read_task(written(tmp_path, "b.csv.gz", gzip.compress(b"the same line,a\n" * 2_000_000)))


def workbook(sheets: dict[str, list[tuple]]) -> bytes:
    """Return an .xlsx file with these rows of strings and numbers."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

    def cell(value) -> str:
        text = f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return text if isinstance(value, str) else f"<c><v>{value}</v></c>"

    files = {
        "_rels/.rels": [f'<Relationship Id="r" Type="{kind}/officeDocument" Target="xl/workbook.xml"/>'],
        "xl/_rels/workbook.xml.rels": [
            f'<Relationship Id="r{n}" Type="{kind}/worksheet" Target="worksheets/{n}.xml"/>' for n in range(len(sheets))
        ],
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, relations in files.items():
            package = "http://schemas.openxmlformats.org/package/2006/relationships"
            archive.writestr(name, f'<Relationships xmlns="{package}">{"".join(relations)}</Relationships>')
        names = "".join(f'<sheet name="{name}" sheetId="{n + 1}" r:id="r{n}"/>' for n, name in enumerate(sheets))
        body = f'<workbook xmlns="{main}" xmlns:r="{kind}"><sheets>{names}</sheets></workbook>'
        archive.writestr("xl/workbook.xml", body)
        for n, rows in enumerate(sheets.values()):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            archive.writestr(
                f"xl/worksheets/{n}.xml", f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
            )
    return packed.getvalue()


SHEET = [("Survey 2024", "", ""), ("no", "text", "stars"), *((n, text, n % 3) for n, text in enumerate(TEXTS))]


def test_the_sheet_of_a_workbook_that_is_a_table_is_read(tmp_path):
    content = workbook({"About": [("Made in May",)], "Data": [*SHEET, ("Total", "", 20)]})
    for path in (written(tmp_path, "a.xlsx", content), zipped(tmp_path, {"train.xlsx": content})):
        data = read_task(path)
        assert rows_of(data) == [(text, None, str(n % 3)) for n, text in enumerate(TEXTS)]
        assert [repair.count for repair in data.repaired] == [1, 1], "a title and a row of totals"
        assert any('only the sheet "Data" is read, not "About"' in note for note in data.notes)


def test_of_several_sheets_with_tables_one_has_to_be_named(tmp_path):
    path = written(tmp_path, "a.xlsx", workbook({"May": SHEET[:9], "June": SHEET}))
    with pytest.raises(InputError, match='2 sheets with tables; name one with `sheet`: "May", "June"'):
        read_task(path)
    assert len(read_task(path, sheet="June").examples) == len(read_task(path, sheet="2").examples) == 20
    with pytest.raises(InputError, match='has no sheet "July"'):
        read_task(path, sheet="July")


def test_what_is_no_workbook_is_refused(tmp_path):
    for content in (b"PK\x03\x04" + bytes(90), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)):
        with pytest.raises(InputError, match=r'"a\.xlsx" is no workbook that can be opened'):
            read_task(written(tmp_path, "a.xlsx", content))


def test_files_of_columns_are_read_alone_and_in_a_zip(tmp_path):
    columns = pyarrow.table({"text": [text.encode() for text in TEXTS], "label": LABELS})
    columns = columns.set_column(1, "label", columns["label"].dictionary_encode())
    parquet.write_table(columns, tmp_path / "a.parquet")
    feather.write_feather(columns, str(tmp_path / "a.feather"))
    with ipc.new_stream(str(tmp_path / "a.arrow"), columns.schema) as stream:
        stream.write_table(columns)
    for name in ("a.parquet", "a.feather", "a.arrow"):
        assert rows_of(read_task(tmp_path / name)) == ROWS, name
        assert rows_of(read_task(zipped(tmp_path, {name: (tmp_path / name).read_bytes()}))) == ROWS, name
    with pytest.raises(InputError, match=r'"b\.arrow" is a damaged table'):
        read_task(written(tmp_path, "b.arrow", (tmp_path / "a.arrow").read_bytes()[:-400]))


def test_data_sets_that_were_saved_to_disk_are_read_with_their_class_names(tmp_path):
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["pos", "neg"])})
    saved = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS}, features=features)
    saved.save_to_disk(str(tmp_path / "one"), num_shards=2)
    datasets.DatasetDict({"train": saved, "test": saved.select(range(5))}).save_to_disk(str(tmp_path / "two"))
    for folder in ("one", "two"):
        data = read_task(tmp_path / folder)
        assert rows_of(data) == ROWS
        assert data.labels == ("pos", "neg")
