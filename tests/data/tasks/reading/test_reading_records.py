"""Records and questions: JSON, Parquet, data sets by name, SQuAD."""

import json
import time

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from bertviz_lab.data.tasks.examples import Answer
from bertviz_lab.data.tasks.reading.read_task import read_pair, read_task
from bertviz_lab.errors import InputError
from tests.data.support import written

RECORDS = [{"idx": n, "text": f"film {n} was good", "label": n % 2, "extra": None} for n in range(20)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "list.json", "data.json", "columns.json"])
def test_records_are_read_in_any_layout(tmp_path, name):
    values = {
        "list.json": json.dumps(RECORDS),
        "data.json": json.dumps({"version": 1, "data": RECORDS}, indent=1),
        "columns.json": json.dumps({key: [record[key] for record in RECORDS] for key in RECORDS[0]}),
    }
    content = values.get(name, "\n".join(map(json.dumps, RECORDS)))
    data = read_task(written(tmp_path, name, content))
    assert [(e.text_a, e.label, e.row) for e in data.examples[:2]] == [
        ("film 0 was good", "0", 1), ("film 1 was good", "1", 2),
    ]  # fmt: skip
    assert len(data.examples) == 20


def test_true_and_false_are_classes_and_numbers_amounts(tmp_path):
    lines = [{"question": f"is it {n} now", "passage": f"it was {n} then", "answer": n % 2 == 0} for n in range(8)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines))))
    assert data.labels == ("False", "True")
    assert data.examples[0].text_b == "it was 0 then"
    lines = [{"text": f"film {n}", "score": n / 4} for n in range(8)]
    data = read_task(written(tmp_path, "b.jsonl", "\n".join(map(json.dumps, lines))))
    assert data.examples[3].label == 0.75


def test_records_with_several_labels_are_counted(tmp_path):
    lines = [{"text": f"film {n}", "labels": [n % 2] if n else [0, 1]} for n in range(8)]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, lines))))
    assert len(data.examples) == 7
    assert [(d.count, d.where) for d in data.dropped] == [(1, ('"a.jsonl" record 1',))]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": \n', r'^Line 2 of "a\.jsonl" is not JSON'),
        ("a.json", '{"data": [{"text": "a"}\n', r'"a\.json" is not JSON from line 2'),
        ("a.json", '["a", "b"]', r'"a\.json" record 1 is neither an object nor a list'),
        ("a.json", "[]", "holds no records"),
        ("a.json", '{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_broken_records_are_refused_with_their_place(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message):
        read_task(written(tmp_path, name, content))


def parquet(folder, name="a.parquet"):
    features = datasets.Features(
        {"sentence": datasets.Value("string"), "label": datasets.ClassLabel(names=["negative", "positive"])}
    )
    info = {"info": {"features": features.to_dict()}}
    rows = [{"sentence": f"a film of number {n}", "label": n % 2} for n in range(10)]
    table = pyarrow.Table.from_pylist([*rows, {"sentence": "not labelled", "label": -1}])
    folder.mkdir(exist_ok=True)
    path = folder / name
    pyarrow.parquet.write_table(table.replace_schema_metadata({b"huggingface": json.dumps(info).encode()}), path)
    return path


def test_parquet_is_read_with_the_names_of_its_classes(tmp_path):
    data = read_task(parquet(tmp_path))
    assert data.labels == ("negative", "positive")
    assert data.files[0].format == "parquet"
    assert [(d.reason, d.where) for d in data.dropped] == [
        ('the label is missing (column "label")', ('"a.parquet" row 11',))
    ]


def test_a_damaged_parquet_table_is_refused(tmp_path):
    with pytest.raises(InputError, match=r'"a\.parquet" is a damaged Parquet table'):
        read_task(written(tmp_path, "a.parquet", b"PAR1" + b"x" * 100))


def test_a_data_set_by_name_has_the_names_of_its_classes(tmp_path):
    data = read_task(f"dataset:{parquet(tmp_path / 'set').parent}")
    assert data.labels == ("negative", "positive")
    assert data.files[0].format == "dataset"
    assert len(data.examples) == 10


# Questions

PASSAGE = "The bridge was built in 1890. It was painted in 1890 and closed in 1950."


def squad(*questions: dict, passage: str = PASSAGE, title: str = "Bridge") -> str:
    return json.dumps(
        {"version": "v2.0", "data": [{"title": title, "paragraphs": [{"context": passage, "qas": list(questions)}]}]}
    )


def question(name: str, text: str, start: int, **more) -> dict:
    return {"id": name, "question": f"When {name}?", "answers": [{"text": text, "answer_start": start}], **more}


def test_questions_are_read_with_their_answers(tmp_path):
    nothing = {"id": "none", "question": "Who?", "answers": [], "is_impossible": True, "plausible_answers": [{}]}
    data = read_task(written(tmp_path, "a.json", squad(question("one", "1890", 24), nothing)))
    assert data.task == "qa"
    assert data.labels == ()
    first, second = data.examples
    assert (first.id, first.title, first.passage, first.answers) == ("one", "Bridge", PASSAGE, (Answer("1890", 24),))
    assert second.answers == ()
    assert data.files[0].format == "squad"


def test_an_answer_at_the_wrong_place_is_taken_from_the_nearest(tmp_path):
    data = read_task(written(tmp_path, "a.json", squad(question("one", "1890", 40), question("two", " 1950 ", 66))))
    assert [e.answers for e in data.examples] == [(Answer("1890", 48),), (Answer("1950", PASSAGE.index("1950")),)]
    assert data.notes[0].startswith("1 answer was not at its stated offset")
    for example in data.examples:
        for answer in example.answers:
            assert example.passage[answer.start :].startswith(answer.text)


def test_a_question_whose_answer_stands_nowhere_is_counted(tmp_path):
    data = read_task(written(tmp_path, "a.json", squad(question("one", "1890", 24), question("two", "1900", 24))))
    assert [e.id for e in data.examples] == ["one"]
    assert [(d.reason, d.where) for d in data.dropped] == [
        ("none of its answers is in the passage", ('"a.json" question 2',))
    ]


def test_ids_are_made_to_differ(tmp_path):
    path = written(tmp_path, "a.json", squad(question("one", "1890", 24), question("one", "1950", 67)))
    assert len({e.id for e in read_task([path, path]).examples}) == 4


def test_questions_a_record_each_are_read_as_on_the_hub(tmp_path):
    records = [
        {
            "id": "a",
            "title": "B",
            "context": PASSAGE,
            "question": "When?",
            "answers": {"text": ["1890"], "answer_start": [24]},
        },
        {"id": "b", "title": "B", "context": PASSAGE, "question": "Who?", "answers": {"text": [], "answer_start": []}},
    ]
    data = read_task(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, records))))
    assert [e.answers for e in data.examples] == [(Answer("1890", 24),), ()]


def test_questions_and_labelled_texts_do_not_mix(tmp_path):
    questions = written(tmp_path, "a.json", squad(question("one", "1890", 24)))
    texts = written(tmp_path, "b.jsonl", "\n".join(map(json.dumps, RECORDS)))
    with pytest.raises(InputError, match=r"questions about passages, .* texts with a label each"):
        read_pair(questions, texts)


def test_a_small_table_that_unpacks_to_much_text_is_refused(tmp_path):
    column = pyarrow.array(["word " * 4_000] * 2_000).dictionary_encode()
    labels = pyarrow.array(["ab"[n % 2] for n in range(2_000)])
    pyarrow.parquet.write_table(pyarrow.table({"text": column, "label": labels}), tmp_path / "small.parquet")
    assert (tmp_path / "small.parquet").stat().st_size < 10_000
    with pytest.raises(InputError, match=r'"small.parquet" holds more text than is read at once'):
        read_task([tmp_path / "small.parquet"], max_bytes=1_000_000)


def test_records_that_have_a_field_each_are_refused(tmp_path):
    lines = (json.dumps({f"id {n}": "a text", "label": "ab"[n % 2]}) for n in range(3_000))
    path = written(tmp_path, "many.jsonl", "\n".join(lines))
    with pytest.raises(InputError, match="more than 1,000 different fields"):
        read_task([path])


def test_an_encoding_that_does_not_fit_is_refused_by_its_name(tmp_path):
    path = written(tmp_path, "plain.csv", "text,label\n" + "a good day,yes\na bad day,no\n" * 5)
    with pytest.raises(InputError, match='not in the encoding "utf-16"'):
        read_task([path], encoding="utf-16")


@pytest.mark.parametrize("offset", [0, 10**9], ids=["stated offsets", "misplaced answers"])
def test_squad_is_read_in_time_that_grows_linearly_with_its_size(tmp_path, offset):
    def seconds(count: int) -> float:
        answer = {"text": "a", "answer_start": offset}
        questions = [{"id": str(n), "question": "which", "answers": [answer]} for n in range(count)]
        paragraph = {"context": "a" * 100 * count, "qas": questions}
        path = written(tmp_path, "squad.json", json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}))
        begin = time.process_time()
        assert len(read_task(path).examples) == count
        return time.process_time() - begin

    small = min(seconds(500) for _ in range(3))
    assert min(seconds(4_000) for _ in range(2)) < 20 * small


@pytest.mark.parametrize(("stated", "start"), [(0, 4), (11, 4), (13, 18), (10**9, 18), (-1, 4)])
def test_a_misplaced_answer_is_taken_from_its_nearest_occurrence(tmp_path, stated, start):
    question = {"id": "1", "question": "which", "answers": [{"text": "river", "answer_start": stated}]}
    record = {"context": "the river and the river", "qas": [question]}
    (example,) = read_task(written(tmp_path, "a.json", json.dumps([record]))).examples
    assert example.answers == (Answer("river", start),)
