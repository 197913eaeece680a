"""Texts without labels out of files of many kinds."""

import json
from dataclasses import replace

import pytest

from bertviz_lab.data.examples import LabelledText, LabelledWords, Question
from bertviz_lab.data.tasks.unlabeled_inputs import read_inputs
from bertviz_lab.errors import InputError
from tests.training.finetuning.support import examples, write


def put(path, content: str):
    path.write_text(content, encoding="utf-8")
    return path


def test_a_text_file_has_a_text_a_line(tmp_path) -> None:
    path = put(tmp_path / "a.txt", "the cat\n\n  a dog, a mat\t\n\u201cgood\u201d")
    assert read_inputs(path, "classification").examples == (
        LabelledText("the cat", None, "", 1),
        LabelledText("a dog, a mat", None, "", 3),
        LabelledText("\u201cgood\u201d", None, "", 4),
    )
    assert {one.label for one in read_inputs(path, "regression").examples} == {0.0}
    assert read_inputs(path, "tokens").examples[1] == LabelledWords(("a", "dog,", "a", "mat"), ("O",) * 4, 3)


def test_a_text_file_is_read_as_it_is_told(tmp_path) -> None:
    lines = "".join(f"{n}|das größte Stück {n}|schön\n" for n in range(9))
    (tmp_path / "a.txt").write_bytes(f"id|text|label\n{lines}".encode("cp1252"))
    how = {"delimiter": "|", "text_a": "text", "text_b": "none", "header": "yes", "encoding": "cp1252"}
    texts = read_inputs(tmp_path / "a.txt", "classification", **how).examples
    assert [(one.text_a, one.row) for one in texts[:2]] == [("das größte Stück 0", 2), ("das größte Stück 1", 3)]
    told = read_inputs(tmp_path / "a.txt", "classification", encoding="utf-8")
    assert told.examples[1].text_a == "0|das gr\ufffd\ufffdte St\ufffdck 0|sch\ufffdn"
    assert told.notes[0].startswith('9 lines of "a.txt" could not be wholly read as utf-8')
    tabs = read_inputs(put(tmp_path / "b.txt", lines.replace("|", "\t")), "classification")
    assert tabs.notes == ('A tab in each line of "b.txt" was read as text: give --delimiter tab to read columns.',)
    with pytest.raises(InputError, match='not in the encoding "utf-16"'):
        read_inputs(tmp_path / "a.txt", "classification", encoding="utf-16")


def test_of_a_table_the_column_of_texts_is_found_or_named(tmp_path) -> None:
    rows = "".join(f"{n},the film number {n} was good,yes,other words here {n}\n" for n in range(8))
    path = put(tmp_path / "a.csv", "id,review,label,remark\n" + rows)
    named = read_inputs(path, "classification", text_a="review", text_b="none").examples
    assert [one.text_a for one in named] == [f"the film number {n} was good" for n in range(8)]
    assert {one.text_b for one in named} == {None}
    pair = read_inputs(path, "classification", text_a="review", text_b="remark").examples
    assert pair[3].text_b == "other words here 3"
    assert read_inputs(path, "classification").examples[0].text_a.startswith("the film")
    with pytest.raises(InputError, match="reviews"):
        read_inputs(path, "classification", text_a="reviews")


def long_rows(header: str, *last: str) -> str:
    rows = [("1", "a good film", "pos"), ("2", "a bad one", "neg"), ("3", "so good", "pos"), ("4", "so bad", "neg")] * 3
    places = {"id": 0, "text": 1, "label": 2}
    lines = [",".join(row[places[name]] for name in header.split(",")) for row in rows]
    return "\n".join([header, *lines, *last]) + "\n"


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("id,text", "5,not good, but bad"),
        ("text,id", "not good, but bad,5"),
        ("id,text,label", "5,not good, but bad,neg"),
        ("text,label", "not good, but bad,pos"),
        ("label,text", "neg,not good, but bad"),
    ],
)
def test_delimiters_in_an_unquoted_text_are_restored_as_in_training(header, row, tmp_path) -> None:
    path = put(tmp_path / "a.csv", long_rows(header, row))
    found = read_inputs(path, "classification", text_a="text")
    assert (found.examples[-1].text_a, found.examples[-1].row) == ("not good, but bad", 14)
    assert found.remarks == (
        '1 row of "a.csv" has more cells than the others; those over were taken for text (first: "a.csv" row 14).',
    )


def test_a_short_row_with_a_text_and_a_row_with_empty_cells_at_its_end_are_read(tmp_path) -> None:
    path = put(tmp_path / "a.csv", long_rows("id,text,label", "5,no label here", "6,not bad,pos,,"))
    found = read_inputs(path, "classification")
    assert [one.text_a for one in found.examples[-2:]] == ["no label here", "not bad"]
    assert ["fewer cells" in note or "left out" in note for note in found.remarks] == [True, True]


def test_the_texts_of_labelled_files_are_taken_without_their_labels(tmp_path) -> None:
    path = write(tmp_path / "a.tsv", examples("classification"))
    found = read_inputs(path, "classification")
    assert [(e.text_a, e.text_b) for e in found.examples] == [(e.text_a, e.text_b) for e in examples("classification")]
    assert {e.label for e in found.examples} == {""}
    sentences = read_inputs(write(tmp_path / "a.conll", examples("tokens")), "tokens").examples
    assert [e.words for e in sentences] == [e.words for e in examples("tokens")]
    assert {label for e in sentences for label in e.labels} == {"O"}
    joined = read_inputs(tmp_path / "a.conll", "classification").examples
    assert joined[0].text_a == " ".join(examples("tokens")[0].words)


def test_questions_come_from_squad_or_a_table_with_passages(tmp_path) -> None:
    squad = read_inputs(write(tmp_path / "a.json", examples("qa")), "qa").examples
    assert squad == tuple(replace(q, answers=(), title=f"t{q.row}") for q in examples("qa"))
    rows = [{"q": f"who is it {n}", "p": ("a long text " * 9).strip()} for n in range(4)]
    path = put(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    found = read_inputs(path, "qa", text_a="q", text_b="p").examples
    assert found[0] == Question("1", rows[0]["q"], rows[0]["p"], (), 1)
    assert len({question.id for question in found}) == 4
    rows = [{"question": "who is it", "context": f"a long text {n}"} for n in range(4)]  # one question of all texts
    nested = {"data": [{"paragraphs": [{"context": r["context"], "qas": [{"question": r["question"]}]} for r in rows]}]}
    for content in ("\n".join(map(json.dumps, rows)), json.dumps(nested)):
        found = read_inputs(put(tmp_path / "a.json", content), "qa").examples
        assert [(q.question, q.passage) for q in found] == [(r["question"], r["context"]) for r in rows]


def test_a_list_of_texts_in_json_is_read(tmp_path) -> None:
    texts = [f"the film {n} was good" for n in range(4)]
    for name, content in (("a.json", json.dumps(texts)), ("a.jsonl", "\n".join(map(json.dumps, texts)))):
        assert [e.text_a for e in read_inputs(put(tmp_path / name, content), "classification").examples] == texts


@pytest.mark.parametrize(
    ("name", "content", "task", "message"),
    [
        ("a.txt", "", "classification", '"a.txt"'),
        ("a.txt", " \n\n", "classification", 'a.txt" holds no texts'),
        ("a.txt", "who is it\n", "qa", "holds no questions with their passages"),
        ("missing.txt", None, "tokens", "missing.txt"),
    ],
)
def test_a_file_without_texts_is_refused_in_a_sentence(name, content, task, message, tmp_path) -> None:
    if content is not None:
        put(tmp_path / name, content)
    with pytest.raises(InputError, match=message):
        read_inputs(tmp_path / name, task)
