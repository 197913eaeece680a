"""Tables and lines of labelled texts: what is recognised, what is refused, and that no row is lost in silence."""

import csv
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.tasks.examples import TaskData
from bertviz_lab.data.tasks.reading.read_task import check_held_out, read_pair, read_task
from bertviz_lab.errors import InputError
from tests.data.support import written, zipped


def rows_of(data: TaskData) -> list[tuple]:
    return [(e.text_a, e.text_b, e.label) for e in data.examples]


def table(count: int = 20, header: str = "text,label\n", labels: tuple[str, ...] = ("neg", "pos")) -> str:
    return header + "".join(f"good film number {n},{labels[n % len(labels)]}\n" for n in range(count))


# What is recognised


def test_a_table_with_known_names_is_read_by_them(tmp_path):
    data = read_task(written(tmp_path, "a.csv", "idx,sentence,label\n1,fine film,pos\n2,bad film,neg\n3,ok,pos\n"))
    assert data.task == "classification"
    assert data.labels == ("neg", "pos")
    assert [(e.text_a, e.label, e.row) for e in data.examples] == [
        ("fine film", "pos", 2), ("bad film", "neg", 3), ("ok", "pos", 4),
    ]  # fmt: skip
    (info,) = data.files
    assert (info.format, info.delimiter, info.header) == ("table", ",", True)
    assert (info.text_a, info.text_b, info.label) == ("sentence", "", "label")
    assert info.rows[0] == ("1", "fine film", "pos")


@pytest.mark.parametrize(
    ("header", "pair"),
    [
        ("sentence1,sentence2,label", ("sentence1", "sentence2")),
        ("pairID,premise,hypothesis,gold_label", ("premise", "hypothesis")),
        ("id,qid1,qid2,question1,question2,is_duplicate", ("question1", "question2")),
        ("question,passage,label", ("question", "passage")),
    ],
)
def test_pairs_are_known_by_their_names(tmp_path, header, pair):
    names = header.split(",")
    lines = [
        ",".join(str(n % 2) if c == len(names) - 1 else f"{n} some text {c}" for c in range(len(names)))
        for n in range(9)
    ]
    data = read_task(written(tmp_path, "a.csv", "\n".join([header, *lines])))
    info = data.files[0]
    assert (info.text_a, info.text_b, info.label) == (*pair, names[-1])
    assert all(e.text_b for e in data.examples)


def test_without_names_texts_are_long_labels_few_and_ids_neither(tmp_path):
    lines = [f"{1000 + n},x,the whole story of number {n} is told,{'ab'[n % 2]}" for n in range(40)]
    data = read_task(written(tmp_path, "a.csv", "\n".join(lines)))
    assert (data.files[0].text_a, data.files[0].label, data.files[0].header) == ("3", "4", False)
    assert data.examples[0].row == 1


def test_two_long_columns_are_a_pair(tmp_path):
    lines = [f"the first text of {n} is this,and the second one of {n} that,{n / 7:.2f}" for n in range(40)]
    data = read_task(written(tmp_path, "a.csv", "\n".join(lines)))
    assert data.task == "regression"
    assert data.examples[7].text_b == "and the second one of 7 that"
    assert data.examples[7].label == 1.0


def test_a_column_of_row_names_may_have_no_name(tmp_path):
    rows = "".join(f"{n},a film of number {n},{'ab'[n % 2]}\n" for n in range(20))
    data = read_task(written(tmp_path, "a.csv", f"text,label\n{rows}"))
    assert data.files[0].columns == ("1", "text", "label")
    assert (data.examples[3].text_a, data.examples[3].label) == ("a film of number 3", "b")


@pytest.mark.parametrize(
    ("first", "has"),
    [
        ("Satz,Klasse", True),
        ("phrase,points", True),
        ("word,kind", True),
        ("a fine film that I saw,neg", False),
        ("good,neg", False),
    ],
)
def test_a_first_row_is_a_header_where_it_is_unlike_the_others(tmp_path, first, has):
    rows = "\n".join(f"a film that was number {n},{('neg', 'pos')[n % 2]}" for n in range(30))
    data = read_task(written(tmp_path, "a.csv", f"{first}\n{rows}\n"))
    assert data.files[0].header is has
    assert len(data.examples) == 30 + (not has)


def test_header_separator_columns_and_quoting_can_be_given(tmp_path):
    path = written(tmp_path, "a.txt", 'neg#"one#x y z\npos#two"#x y z\nneg#three#x y z\n')
    data = read_task(path, delimiter="#", quoting="no", header="no", text_a="2", label="1")
    assert rows_of(data) == [('"one', None, "neg"), ('two"', None, "pos"), ("three", None, "neg")]
    assert len(read_task(path, delimiter="#", quoting="no", header="yes", text_a="2", label="1").examples) == 2


def test_the_encoding_is_recognised_and_can_be_given(tmp_path):
    content = "text;label\n" + "".join(f"Das größte Stück {n};{('schön', 'häßlich')[n % 2]}\n" for n in range(9))
    path = written(tmp_path, "a.csv", content.encode("cp1252"))
    assert read_task(path).labels == ("häßlich", "schön")
    assert read_task(path, encoding="latin-1").labels == ("häßlich", "schön")
    with pytest.raises(InputError, match='no encoding "klingon"'):
        read_task(path, encoding="klingon")


def test_tabs_inside_quotes_are_text_even_when_quotes_come_late(tmp_path):
    plain = "".join(f"plain {n}\t{n % 2}\n" for n in range(2000))
    late = "".join(f'"he said ""a\tb"" {n}"\t{n % 2}\n' for n in range(30))
    data = read_task(written(tmp_path, "a.tsv", f"text\tlabel\n{plain}{late}"))
    assert data.examples[-1].text_a == 'he said "a\tb" 29'
    assert len(data.examples) == 2030
    assert data.dropped == ()


def test_stray_quotation_marks_are_ordinary_characters(tmp_path):
    lines = [f'ham\tHe said "hello {n}' if n % 3 else f'spam\t"quoted {n}" ok' for n in range(30)]
    data = read_task(written(tmp_path, "a.tsv", "\n".join(lines)))
    assert [f"{e.label}\t{e.text_a}" for e in data.examples] == lines


def test_lines_that_begin_with_a_label_are_read(tmp_path):
    trec = "".join(f"{n % 3} How far is number {n} from here ?\n" for n in range(30))
    data = read_task(written(tmp_path, "a.all", trec))
    assert data.files[0].format == "label-text"
    assert data.labels == ("0", "1", "2")
    assert data.examples[4].text_a == "How far is number 4 from here ?"


def test_fasttext_labels_lose_their_mark_and_several_are_counted(tmp_path):
    lines = "__label__a one more\n__label__b two\n__label__a __label__b both\n__label__a three\n__label__b four\n"
    data = read_task(written(tmp_path, "a.txt", lines))
    assert rows_of(data) == [("one more", None, "a"), ("two", None, "b"), ("three", None, "a"), ("four", None, "b")]
    assert [(d.count, d.where) for d in data.dropped] == [(1, ('"a.txt" line 3',))]


def test_prose_is_no_labelled_data(tmp_path):
    text = "It was late in the year.\nNobody had told them so, and they went on.\nThe road was closed.\n"
    with pytest.raises(InputError, match=r'"a\.txt" shows no labels'):
        read_task(written(tmp_path, "a.txt", text))


def test_a_zip_is_read_and_files_that_are_no_data_are_noted(tmp_path):
    data = read_task(zipped(tmp_path, {"a.csv": table(), "b.txt": "Just one line of prose.\n"}))
    assert len(data.examples) == 20
    assert any("b.txt" in note for note in data.notes)


# Labels


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
def test_numbers_are_classes_or_amounts(tmp_path, labels, task):
    assert read_task(written(tmp_path, "a.csv", table(400, labels=labels))).task == task


def test_classes_with_decimals_are_the_numbers_without(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table(10, labels=("1.0", "0.0")) + "nothing,\n"))
    assert data.labels == ("0", "1")
    assert [(d.reason, d.count) for d in data.dropped] == [('the label is missing (column "label")', 1)]


def test_numbers_sort_as_numbers(tmp_path):
    assert read_task(written(tmp_path, "a.csv", table(30, labels=("10", "9", "2")))).labels == ("2", "9", "10")


def test_the_task_can_be_chosen(tmp_path):
    path = written(tmp_path, "a.csv", table(20, labels=("1", "2", "3")))
    assert read_task(path, "regression").examples[1].label == 2.0
    with pytest.raises(InputError, match=r'"neg" in "b\.csv" row 2, column "label", is no number'):
        read_task(written(tmp_path, "b.csv", table()), "regression")
    with pytest.raises(InputError, match="which is classification or regression, not qa"):
        read_task(path, "qa")
    with pytest.raises(InputError, match="not tokens"):
        read_task(path, "tokens")
    with pytest.raises(InputError, match='no task "poetry"'):
        read_task(path, "poetry")


def test_one_class_is_refused(tmp_path):
    with pytest.raises(InputError, match=r'^All 20 examples have the label "pos" in column "label" of "a\.csv"'):
        read_task(written(tmp_path, "a.csv", table(labels=("pos",))))


def test_a_class_of_one_example_is_noted(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table() + "an odd one,rare\n"))
    assert data.notes == ('1 class has one example only: "rare".',)


def test_thousands_of_labels_are_no_labels(tmp_path):
    rows = "".join(f"{n},good film {n},user{n},{n % 2}\n" for n in range(5000))
    path = written(tmp_path, "a.csv", f"id,text,label,liked\n{rows}")
    with pytest.raises(InputError, match=r'5,000 different values .* name another: "id", "text", "label", "liked"'):
        read_task(path)
    assert read_task(path, label="liked").labels == ("0", "1")


def test_markup_in_a_label_is_text_and_harmless_in_messages(tmp_path):
    label = "<script>alert(1)</script>"
    assert label in read_task(written(tmp_path, "a.csv", table(labels=(label, "b")))).labels
    with pytest.raises(InputError) as caught:
        read_task(written(tmp_path, "a.csv", table(labels=(label,))))
    assert "<" not in str(caught.value)


# What is wrong with rows


def test_every_row_without_text_or_label_is_counted_with_its_place(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table() + ",pos\n   ,neg\nx y,\nx z,NaN\n"))
    assert len(data.examples) == 20
    assert [(d.reason, d.count, d.where) for d in data.dropped] == [
        ('the text is empty (column "text")', 2, ('"a.csv" row 22', '"a.csv" row 23')),
        ('the label is missing (column "label")', 2, ('"a.csv" row 24', '"a.csv" row 25')),
    ]


def test_a_number_that_is_none_is_counted(tmp_path):
    rows = "".join(f"good film {n},{n / 7:.3f}\n" for n in range(50))
    data = read_task(written(tmp_path, "a.csv", f"text,score\n{rows}bad,high\nworse,inf\n"))
    assert data.task == "regression"
    assert all(math.isfinite(e.label) for e in data.examples)
    assert [(d.reason, d.count) for d in data.dropped] == [('the label is no finite number (column "score")', 2)]


@pytest.mark.parametrize("order", ["text,label", "label,text"])
def test_separators_in_an_unquoted_text_are_put_back(tmp_path, order):
    def line(n: int) -> str:
        text, label = f"good film {n}{', really' if n % 9 == 0 else ''}", "ab"[n % 2]
        return f"{text},{label}" if order == "text,label" else f"{label},{text}"

    data = read_task(written(tmp_path, "a.csv", "\n".join([order, *map(line, range(100))])))
    assert data.examples[9].text_a == "good film 9, really"
    assert len(data.examples) == 100
    assert data.notes[0].startswith('12 rows of "a.csv" have more cells than the others')


def test_rows_that_are_too_short_are_counted(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table() + "no label here\n"))
    assert [(d.reason, d.where) for d in data.dropped] == [("it has 1 cell, and most rows have 2", ('"a.csv" row 22',))]


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path):
    path = written(tmp_path, "a.csv", table())
    with pytest.raises(InputError, match='no column "lable"; it has "text", "label"'):
        read_task(path, label="lable")
    with pytest.raises(InputError, match="different columns"):
        read_task(path, text_a="label", label="label")


def test_null_characters_are_taken_out_and_noted(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table().replace("good", "go\0od")))
    assert data.examples[0].text_a == "good film number 0"
    assert data.notes == ('20 null characters were taken out of "a.csv".',)


def test_damaged_characters_are_noted(tmp_path):
    content = table(400).encode() + "größe süß äußerst über,pos\n".encode() * 50 + b"sch\xf6n,neg\n"
    data = read_task(written(tmp_path, "a.csv", content))
    assert data.files[0].encoding == "utf-8"
    assert any(note.startswith("1 line of") and "read as utf-8" in note for note in data.notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is a PNG picture"),
        (bytes(range(256)) * 20, "is not text"),
        (b"", "is empty"),
        (b"\n\n \n", "holds only blank lines"),
        (b"text,label\n", "no rows below its header"),
        (b"word\nother\nmore\n", "one column only"),
    ],
)
def test_what_holds_no_examples_is_refused_by_name(tmp_path, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read_task(written(tmp_path, "data.csv", content))
    assert '"data.csv"' in str(caught.value)


def test_too_large_a_file_is_refused_in_a_sentence(tmp_path):
    path = written(tmp_path, "a.csv", table())
    with pytest.raises(InputError, match=r'"a\.csv" is 0\.\d kB large, more than 0\.1 kB'):
        read_task(path, max_bytes=100)
    with pytest.raises(InputError, match="holds more than 10 examples"):
        read_task(path, max_examples=10)
    assert len(read_task(path, max_examples=20).examples) == 20


def test_a_file_of_two_gigabytes_is_refused_at_once(tmp_path):
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(2_000_000_000)  # no block of it is on the disk
    with pytest.raises(InputError, match=r'"huge\.csv" is 2,000 MB large, more than 500 MB'):
        read_task(path)


ENDINGS = ("csv", "tsv", "txt", "jsonl", "json", "conll", "conllu", "parquet")
PIECES = st.sampled_from(
    ["text", "label", "a b", "O", "B-X", "1", "2.5", '"', ",", "\t", "\n", "\n\n", "#", "{", "}", "[", "]"]
)


@given(
    ending=st.sampled_from(ENDINGS),
    content=st.binary(max_size=200) | st.lists(PIECES | st.text(max_size=3), max_size=60).map(lambda p: "".join(p)),
    task=st.sampled_from(["auto", "classification", "regression", "tokens", "qa"]),
)
def test_any_content_gives_examples_or_a_sentence(tmp_path_factory, ending, content, task):
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


# Two files


def test_a_pair_of_files_has_one_task_and_one_label_set(tmp_path):
    train = written(tmp_path, "train.csv", table(labels=("1", "2", "3")))
    held = written(tmp_path, "held.csv", table(3, labels=("2", "2", "4")))
    first, second = read_pair(train, held)
    assert first.labels == second.labels == ("1", "2", "3", "4")
    assert any('"4" (1 time)' in note for note in second.notes)


def test_whether_labels_are_numbers_is_decided_over_both_files(tmp_path):
    train = written(tmp_path, "train.csv", table(labels=("1", "2", "3")))
    held = written(tmp_path, "held.csv", table(labels=("1.5", "2.5")))
    assert [data.task for data in read_pair(train, held)] == ["regression"] * 2


def test_the_columns_of_the_first_file_are_those_of_the_second(tmp_path):
    rows = [f"{n % 5},the long text of number {n} here,{'ab'[n % 2]}" for n in range(50)]
    first, second = read_pair(
        written(tmp_path, "train.csv", "\n".join(rows)), written(tmp_path, "held.csv", "\n".join(rows[:8:2]))
    )
    assert first.files[0].label == second.files[0].label == "3"
    assert {e.label for e in second.examples} == {"a"}


def test_labels_written_otherwise_in_the_second_file_are_refused(tmp_path):
    train = written(tmp_path, "train.csv", table(labels=("0", "1")))
    held = written(tmp_path, "held.csv", table(labels=("negative", "positive")))
    with pytest.raises(InputError, match='labels that none to train on has \\("negative", "positive"'):
        read_pair(train, held)


def test_two_files_of_different_tasks_are_refused(tmp_path):
    texts = read_task(written(tmp_path, "a.csv", table()))
    numbers = read_task(written(tmp_path, "b.csv", table(labels=("0.5", "1.5"))))
    with pytest.raises(InputError, match="for classification, those held out for regression"):
        check_held_out(texts, numbers)


# Round trip

LABELS = st.sampled_from(["good", "bad", "so-so"])
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\ufeff\ufffd", exclude_categories=("Cs", "Cc")), min_size=1
).filter(lambda text: text.strip())
ODD = st.sampled_from(['say "hi", you', "a\nb", 'c\td;e|f,"', '"', "two\r\nlines", " blanks "])
ROWS = st.lists(st.tuples(TEXTS | ODD, LABELS), min_size=4, max_size=30)


@given(
    rows=ROWS,
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    header=st.booleans(),
)
def test_what_csv_writes_is_read_back(tmp_path_factory, rows, delimiter, end, quoting, header):
    rows = [*rows, ("one more", "good"), ("and another", "bad")]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([["text", "label"]] * header + rows)
    path = written(tmp_path_factory.mktemp("round"), "a.csv", stream.getvalue())
    # So short a table may look like several: what is asked for here is exactness, not a guess.
    data = read_task(
        path, "classification", delimiter=delimiter, quoting="yes", encoding="utf-8",
        header="yes" if header else "no", text_a="1", text_b="none", label="2",
    )  # fmt: skip
    assert rows_of(data) == [(text, None, label) for text, label in rows]
    assert data.dropped == ()


@given(rows=ROWS, delimiter=st.sampled_from(",;\t|"))
def test_the_dialect_of_a_wholly_quoted_table_is_guessed(tmp_path_factory, rows, delimiter):
    rows = [*rows, ("one more", "good"), ("and another", "bad")]
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([["text", "label"], *rows])
    path = written(tmp_path_factory.mktemp("round"), "a.csv", stream.getvalue())
    data = read_task(path, encoding="utf-8")
    assert rows_of(data) == [(text, None, label) for text, label in rows]
