"""One or two sets of files become task data, or are refused in a sentence; encodings are detected, damage is noted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.examples import read_examples, write_examples
from bertviz_lab.data.formats.raw import ReadOptions
from bertviz_lab.data.formats.read import read_splits, read_task
from bertviz_lab.errors import InputError
from tests.data.formats.support import RECORDS, question, squad, table
from tests.data.support import written, zipped


def test_the_task_can_be_chosen(tmp_path):
    path = written(tmp_path, "a.csv", table(20, labels=("1", "2", "3")))
    assert read_task(path, "regression").examples[1].label == 2.0
    with pytest.raises(InputError, match=r'"neg" in "b\.csv" row 2, column "label", is no number'):
        read_task(written(tmp_path, "b.csv", table()), "regression")
    with pytest.raises(InputError, match="which is classification, multilabel, regression, embeddings, not qa"):
        read_task(path, "qa")
    with pytest.raises(InputError, match="not tokens"):
        read_task(path, "tokens")
    with pytest.raises(InputError, match='no task "poetry"'):
        read_task(path, "poetry")


ENDINGS = ("csv", "tsv", "txt", "jsonl", "json", "conll", "conllu", "parquet")

PIECES = st.sampled_from(
    ["text", "label", "a b", "O", "B-X", "1", "2.5", '"', ",", "\t", "\n", "\n\n", "#", "{", "}", "[", "]"]
)


@given(
    ending=st.sampled_from(ENDINGS),
    content=st.binary(max_size=200) | st.lists(PIECES | st.text(max_size=3), max_size=60).map(lambda p: "".join(p)),
    task=st.sampled_from(["auto", "classification", "regression", "tokens", "qa"]),
)
def test_any_content_gives_examples_or_an_error_message(tmp_path_factory, ending, content, task):
    path = written(
        tmp_path_factory.mktemp("any"),
        f"a.{ending}",
        content.encode("utf-8", "replace") if isinstance(content, str) else content,
    )
    try:
        said, examples = "", read_task(path, task).examples
    except InputError as error:
        said, examples = str(error), ()
    assert bool(said) is not bool(examples)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("ending", "first", "second", "rows"),
    [
        ("csv", "text,label\n,neg\n" + table(2, ""), table(2), [3, 4, 2, 3]),
        ("csv", "question,answer\nhow far,far\n", "question,answer\nhow old,old\nhow big,big\n", [2, 2, 3]),
        ("conll", "the O\nman B-PER\n\nan O\nold O\nman B-PER\n", "a O\nman B-PER\n\nhe O\n", [1, 4, 1, 4]),
        (
            "json",
            squad(question("a", "1890", 24)),
            squad(question("b", "1890", 24), question("c", "1890", 24)),
            [1, 1, 2],
        ),
    ],
    ids=["texts", "related texts", "words", "questions"],
)
def test_an_example_knows_its_file_and_its_row_there(tmp_path, ending, first, second, rows):
    paths = [written(tmp_path, f"{name}.{ending}", text) for name, text in (("first", first), ("second", second))]
    examples = read_task(paths, "embeddings" if first.startswith("question,answer") else "auto").examples
    assert [example.row for example in examples] == rows
    ends = len(rows) - 2
    assert [example.file for example in examples] == [paths[0].name] * ends + [paths[1].name] * 2
    write_examples(tmp_path / "kept.jsonl", examples)
    assert [example.file for example in read_examples(tmp_path / "kept.jsonl")] == [e.file for e in examples]


def test_a_pair_of_files_has_one_task_and_one_label_set(tmp_path):
    train = written(tmp_path, "train.csv", table(labels=("1", "2", "3")))
    held = written(tmp_path, "held.csv", table(3, labels=("2", "2", "4")))
    first, second = read_splits([train, held])
    assert first.labels == second.labels == ("1", "2", "3", "4")
    assert any('"4" (1 time)' in note for note in second.notes)
    train = written(tmp_path, "train.csv", table(labels=("1", "2", "3")))
    held = written(tmp_path, "held.csv", table(labels=("1.5", "2.5")))
    assert [data.task for data in read_splits([train, held])] == ["regression"] * 2


def test_the_columns_of_the_first_file_are_those_of_the_second(tmp_path):
    rows = [f"{n % 5},the long text of number {n} here,{'ab'[n % 2]}" for n in range(50)]
    train, held = (written(tmp_path, f"{n}.csv", "\n".join(part)) for n, part in enumerate((rows, rows[:8:2])))
    first, second = read_splits([train, held])
    assert first.files[0].label == second.files[0].label == "3"
    assert {e.label for e in second.examples} == {"a"}


def test_held_out_labels_that_are_spelt_differently_are_refused(tmp_path):
    train = written(tmp_path, "train.csv", table(labels=("0", "1")))
    held = written(tmp_path, "held.csv", table(labels=("negative", "positive")))
    with pytest.raises(InputError, match='labels that none to train on has \\("negative", "positive"'):
        read_splits([train, held])


def test_files_of_different_tasks_do_not_mix(tmp_path):
    rows = "".join(f"{n},Anna,B-PER\n{n},ran,O\n" for n in range(9))
    words = written(tmp_path, "words.csv", f"sentence_id,word,tag\n{rows}")
    with pytest.raises(InputError, match=r"a table of texts, .* words with a label each"):
        read_splits([written(tmp_path, "texts.csv", table()), words])
    questions = written(tmp_path, "a.json", squad(question("one", "1890", 24)))
    texts = written(tmp_path, "b.jsonl", "\n".join(map(json.dumps, RECORDS)))
    with pytest.raises(InputError, match=r"questions about passages, .* a table of texts"):
        read_splits([questions, texts])


def test_classes_are_those_of_the_model_that_is_scored_by_name_or_number(tmp_path):
    rows = "".join(f"good film {n},{label}\n" for n, label in enumerate(("1.0", "0", " 1 ", "unsure", "2.0")))
    data = read_task(written(tmp_path, "a.csv", "text,label\n" + rows), "classification", ("0", "1"))
    assert [e.label for e in data.examples] == ["1", "0", "1", "unsure", "2.0"]
    named = read_task(written(tmp_path, "b.csv", table(3)), "classification", ("neg", "pos"))
    assert [e.label for e in named.examples] == ["neg", "pos", "neg"]


def test_one_label_is_enough_to_score_a_model_on(tmp_path):
    path = written(tmp_path, "a.csv", table(2, labels=("neg",)))
    assert len(read_task(path, "classification", ("neg", "pos")).examples) == 2
    words = written(tmp_path, "a.conll", "a\tO\ncat\tO\n\nsat\tO\n")
    assert len(read_task(words, "tokens", ("O", "B-X")).examples) == 2
    with pytest.raises(InputError, match="All words of"):
        read_task(words, "tokens")


def test_the_encoding_is_detected_and_can_be_given(tmp_path):
    content = "text;label\n" + "".join(f"Das größte Stück {n};{('schön', 'häßlich')[n % 2]}\n" for n in range(9))
    path = written(tmp_path, "a.csv", content.encode("cp1252"))
    assert read_task(path).labels == ("häßlich", "schön")
    assert read_task(path, encoding="latin-1").labels == ("häßlich", "schön")
    for encoding in ("raw_unicode_escape", "utf-7"):  # which can spell half of a surrogate pair
        with pytest.raises(InputError, match=f'no encoding "{encoding}"'):
            ReadOptions(encoding=encoding)
    with pytest.raises(InputError, match='no encoding "klingon"'):
        read_task(path, encoding="klingon")


def test_an_encoding_that_does_not_fit_is_refused_by_its_name(tmp_path):
    path = written(tmp_path, "plain.csv", "text,label\n" + "a good day,yes\na bad day,no\n" * 5)
    with pytest.raises(InputError, match='not in the encoding "utf-16"'):
        read_task([path], encoding="utf-16")


def test_null_and_damaged_characters_are_noted(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table().replace("good", "go\0od")))
    assert data.examples[0].text_a == "good film number 0"
    assert data.notes == ('20 null characters were taken out of "a.csv".',)
    content = table(400).encode() + "größe süß äußerst über,pos\n".encode() * 50 + b"sch\xf6n,neg\n"
    data = read_task(written(tmp_path, "a.csv", content))
    assert data.files[0].encoding == "utf-8"
    assert any(note.startswith("1 line of") and "read as utf-8" in note for note in data.notes)


def test_prose_is_refused(tmp_path):
    text = "It was late in the year.\nNobody had told them so, and they went on.\nThe road was closed.\n"
    with pytest.raises(InputError, match=r'"a\.txt" shows no labels'):
        read_task(written(tmp_path, "a.txt", text))


def test_markup_and_the_format_of_one_program_are_refused_with_what_to_do(tmp_path):
    rows = "".join(f"<tr><td>nice {n}</td><td>good</td></tr>" for n in range(20))
    with pytest.raises(InputError, match="is a web page"):
        read_task(written(tmp_path, "a.html", f"<table>{rows}</table>"))
    words = "#FORMAT=WebAnno TSV 3.3\n\n#Text=Ada left.\n1-1\t0-3\tAda\tPER\t\n1-2\t4-8\tleft\t_\t\n"
    with pytest.raises(InputError, match="export it as CoNLL 2003"):
        read_task(written(tmp_path, "a.tsv", words))
    records = (
        "<reviews>" + "".join(f"<r><text>nice {n}</text><label>good</label></r>\n" for n in range(20)) + "</reviews>"
    )
    for name, head in (("a.xml", ""), ("a.txt", '<?xml version="1.0"?>\n'), ("b.txt", '\ufeff<?xml version="1.0"?>\n')):
        with pytest.raises(InputError, match=f'"{name}" is XML.*give them as a table'):
            read_task(written(tmp_path, name, head + records))


def test_a_zip_is_read_and_its_files_without_task_data_are_noted(tmp_path):
    data = read_task(zipped(tmp_path, {"a.csv": table(), "b.txt": "Just one line of prose.\n"}))
    assert len(data.examples) == 20
    assert any("b.txt" in note for note in data.notes)


def test_a_file_that_is_given_twice_is_read_once_and_noted(tmp_path):
    path = written(tmp_path, "a.csv", table())
    data = read_task([path, str(tmp_path), f"dataset:{path}", f"dataset:{path}"])
    assert len(data.examples) == 2 * 20, "a data set by its name is another way of reading a file"
    assert [note for note in data.notes if "left out" in note] == [
        'A file was left out: "a.csv" is given more than once and counts once.',
        f'A file was left out: "dataset:{path}" is given more than once and counts once.',
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is a PNG picture, not text; give a file of text instead"),
        (bytes(range(256)) * 20, "is not text"),
        (b"", "is empty"),
        (b"\n\n \n", "holds only blank lines"),
        (b"text,label\n", "no rows below its header"),
        (b"word\nother\nmore\n", "one column only"),
    ],
)
def test_a_file_without_examples_is_refused_by_its_name(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read_task(written(tmp_path, "data.csv", content))
    assert '"data.csv"' in str(caught.value)


def test_a_file_above_the_limits_is_refused(tmp_path):
    path = written(tmp_path, "a.csv", table())
    with pytest.raises(InputError, match=r'"a\.csv" is 0\.\d kB large, more than 0\.1 kB'):
        read_task(path, max_bytes=100)
    with pytest.raises(InputError, match="holds more than 10 examples"):
        read_task(path, max_examples=10)
    assert len(read_task(path, max_examples=20).examples) == 20
