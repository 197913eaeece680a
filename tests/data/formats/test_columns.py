"""The header of a table and its columns of texts and labels are inferred, or given."""

import pytest

from bertviz_lab.data.formats.read import read_task
from bertviz_lab.errors import InputError
from tests.data.formats.support import table
from tests.data.support import written


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
    [
        ("Satz,Klasse", True),
        ("phrase,points", True),
        ("word,kind", True),
        ("a fine film that I saw,neg", False),
        ("good,neg", False),
    ],
)
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
