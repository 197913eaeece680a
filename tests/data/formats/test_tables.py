"""Tables and label-text lines are read to the letter by the columns that are inferred or given, and no row is lost."""

import csv
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviz_lab.data.formats.raw import RawTable
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.errors import InputError
from tests.data.formats.support import rows_of, table
from tests.data.support import written


def test_header_delimiter_columns_and_quoting_can_be_given(tmp_path):
    path = written(tmp_path, "a.txt", 'neg#"one#x y z\npos#two"#x y z\nneg#three#x y z\n')
    data = read_task(path, delimiter="#", quoting="no", header="no", text_a="2", label="1")
    assert rows_of(data) == [('"one', None, "neg"), ('two"', None, "pos"), ("three", None, "neg")]
    assert len(read_task(path, delimiter="#", quoting="no", header="yes", text_a="2", label="1").examples) == 2


def test_stray_quotation_marks_are_characters_and_late_ones_enclose_tabs(tmp_path):
    plain = "".join(f"plain {n}\t{n % 2}\n" for n in range(2000))
    late = "".join(f'"he said ""a\tb"" {n}"\t{n % 2}\n' for n in range(30))
    data = read_task(written(tmp_path, "a.tsv", f"text\tlabel\n{plain}{late}"))
    assert data.examples[-1].text_a == 'he said "a\tb" 29'
    assert len(data.examples) == 2030
    assert data.dropped == ()
    lines = [f'ham\tHe said "hello {n}' if n % 3 else f'spam\t"quoted {n}" ok' for n in range(30)]
    data = read_task(written(tmp_path, "a.tsv", "\n".join(lines)))
    assert [f"{e.label}\t{e.text_a}" for e in data.examples] == lines


def test_lines_that_begin_with_a_label_are_read(tmp_path):
    trec = "".join(f"{n % 3} How far is number {n} from here ?\n" for n in range(30))
    data = read_task(written(tmp_path, "a.all", trec))
    assert data.files[0].format == "label-text"
    assert data.labels == ("0", "1", "2")
    assert data.examples[4].text_a == "How far is number 4 from here ?"


def test_fasttext_labels_lose_their_prefix_and_lines_with_several_labels_are_dropped(tmp_path):
    lines = "__label__a one more\n__label__b two\n__label__a __label__b both\n__label__a three\n__label__b four\n"
    data = read_task(written(tmp_path, "a.txt", lines), "classification")
    assert rows_of(data) == [("one more", None, "a"), ("two", None, "b"), ("three", None, "a"), ("four", None, "b")]
    assert [(d.count, d.where) for d in data.dropped] == [(1, ('"a.txt" line 3',))]


def test_rows_without_a_text_or_a_usable_label_are_dropped_with_their_location(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table() + ",pos\n   ,neg\nx y,\nx z,NaN\n"))
    assert len(data.examples) == 20
    assert [(d.reason, d.count, d.where) for d in data.dropped] == [
        ('the text is empty (column "text")', 2, ('"a.csv" row 22', '"a.csv" row 23')),
        ('the label is missing (column "label")', 2, ('"a.csv" row 24', '"a.csv" row 25')),
    ]
    rows = "".join(f"good film {n},{n / 7:.3f}\n" for n in range(50))
    data = read_task(written(tmp_path, "a.csv", f"text,score\n{rows}bad,high\nworse,inf\n"))
    assert data.task == "regression"
    assert all(math.isfinite(e.label) for e in data.examples)
    assert [(d.reason, d.count) for d in data.dropped] == [('the label is no finite number (column "score")', 2)]


@pytest.mark.parametrize("order", ["text,label", "label,text"])
def test_delimiters_in_an_unquoted_text_are_restored(tmp_path, order):
    def line(n: int) -> str:
        text, label = f"good film {n}{', really' if n % 9 == 0 else ''}", "ab"[n % 2]
        return f"{text},{label}" if order == "text,label" else f"{label},{text}"

    data = read_task(written(tmp_path, "a.csv", "\n".join([order, *map(line, range(100))])))
    assert data.examples[9].text_a == "good film 9, really"
    assert len(data.examples) == 100
    assert data.remarks[0].startswith('12 rows of "a.csv" have more cells than the others')


def test_surplus_cells_are_left_out_and_short_rows_dropped(tmp_path):
    data = read_task(written(tmp_path, "a.csv", table() + "good film,pos,,\n"))
    assert (data.examples[-1].text_a, data.examples[-1].label) == ("good film", "pos")
    assert data.remarks == (
        '1 row of "a.csv" has more cells than the others; those over were left out (first: "a.csv" row 22).',
    )
    data = read_task(written(tmp_path, "a.csv", table() + "no label here\n"))
    assert [(d.reason, d.where) for d in data.dropped] == [("it has 1 cell, and most rows have 2", ('"a.csv" row 22',))]


@pytest.mark.parametrize("task", ["classification", "multilabel"])
def test_a_short_row_is_accepted_where_it_has_a_label_that_other_rows_have(tmp_path, task):
    rows = "".join(f"good film {n},{'ab'[n % 2]},note {n}\n" for n in range(8))
    path = written(tmp_path, "a.csv", f"text,label,note\n{rows}short one,b\nodd one,c\n")
    data = read_task(path, task, text_a="text", text_b="none", label="label")
    assert [e.text_a for e in data.examples[8:]] == ["short one"]
    assert [(d.reason, d.where) for d in data.dropped] == [
        ("it has 2 cells, and most rows have 3", ('"a.csv" row 11',))
    ]


def test_a_table_of_more_than_a_thousand_columns_is_refused(tmp_path):
    row = ",".join("a" * 1_001) + "\n"
    with pytest.raises(InputError, match=r'"wide\.csv" row 1 has more than 1,000 cells'):
        read_task(written(tmp_path, "wide.csv", row * 5))


def test_a_survey_of_many_questions_is_turned_into_columns_a_few_times(tmp_path, monkeypatch):
    turned: list[RawTable] = []
    columns = RawTable.columns.fget
    monkeypatch.setattr(RawTable, "columns", property(lambda table: turned.append(table) or columns(table)))
    rows = "".join(f"the answer {n}," + ",".join(str((n + c) % 5) for c in range(99)) + "\n" for n in range(40))
    path = written(tmp_path, "a.csv", f"comment,{','.join(f'q{c}' for c in range(99))}\n{rows}")
    assert len(read_task(path).examples) == 40
    assert len(turned) < 9


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
    guess=st.booleans(),
)
def test_what_csv_writes_is_read_back(tmp_path_factory, rows, delimiter, end, quoting, header, guess):
    rows = [*rows, ("one more", "good"), ("and another", "bad")]
    options = {}
    if guess:  # the dialect of a fully quoted table with a header
        quoting, header = csv.QUOTE_ALL, True
    else:  # so short a table may look like several: what is asked for here is exactness
        options = {"delimiter": delimiter, "quoting": "yes", "header": "yes" if header else "no", "text_a": "1",
                   "text_b": "none", "label": "2", "task": "classification"}  # fmt: skip
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([["text", "label"]] * header + rows)
    path = written(tmp_path_factory.mktemp("round"), "a.csv", stream.getvalue())
    data = read_task(path, encoding="utf-8", **options)
    assert rows_of(data) == [(text, None, label) for text, label in rows]
    assert data.dropped == ()


def test_columns_with_common_names_are_used(tmp_path):
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
    ("header", "text", "label"),
    [
        ("ID,Target,Tweet,Stance", "Tweet", "Stance"),
        ("ID,overall,reviewText,summary", "reviewText", "overall"),
        ("ID,Rating,Review Text,Title", "Review Text", "Rating"),
        ("ID,label,full_text,description", "full_text", "label"),
    ],
)
def test_of_two_columns_with_common_names_the_likelier_is_used(header, text, label, tmp_path):
    rows = "".join(f"{n}x,{'ab'[n % 2]},a longer text of number {n},{'cde'[n % 3]}\n" for n in range(30))
    rows = rows if label == "Stance" else "".join(f"{n}x,{n % 2},the text of {n},the part {n}\n" for n in range(30))
    info = read_task(written(tmp_path, "a.csv", f"{header}\n{rows}")).files[0]
    assert (info.text_a, info.label) == (text, label)


def test_columns_are_inferred_by_length_and_values(tmp_path):
    lines = [f"{1000 + n},x,the whole story of number {n} is told,{'ab'[n % 2]}" for n in range(40)]
    data = read_task(written(tmp_path, "a.csv", "\n".join(lines)))
    assert (data.files[0].text_a, data.files[0].label, data.files[0].header) == ("3", "4", False)
    assert data.examples[0].row == 1
    lines = [f"the first text of {n} is this,and the second one of {n} that,{n / 7:.2f}" for n in range(40)]
    data = read_task(written(tmp_path, "a.csv", "\n".join(lines)))
    assert data.task == "regression"
    assert data.examples[7].text_b == "and the second one of 7 that"
    assert data.examples[7].label == 1.0
    rows = "".join(f"{n},a film of number {n},{'ab'[n % 2]}\n" for n in range(20))
    data = read_task(written(tmp_path, "a.csv", f"text,label\n{rows}"))
    assert data.files[0].columns == ("1", "text", "label")
    assert (data.examples[3].text_a, data.examples[3].label) == ("a film of number 3", "b")


@pytest.mark.parametrize(
    ("first", "has"),
    [*((names, True) for names in ("Satz,Klasse", "phrase,points", "word,kind")),
     ("a fine film that I saw,neg", False), ("good,neg", False)],
)  # fmt: skip
def test_a_first_row_unlike_the_others_is_a_header(tmp_path, first, has):
    rows = "\n".join(f"a film that was number {n},{('neg', 'pos')[n % 2]}" for n in range(30))
    data = read_task(written(tmp_path, "a.csv", f"{first}\n{rows}\n"))
    assert data.files[0].header is has
    assert len(data.examples) == 30 + (not has)


def test_a_missing_column_is_refused_with_the_columns_that_exist(tmp_path):
    path = written(tmp_path, "a.csv", table())
    with pytest.raises(InputError, match='no column "lable"; it has "text", "label"'):
        read_task(path, label="lable")
    with pytest.raises(InputError, match="different columns"):
        read_task(path, text_a="label", label="label")
