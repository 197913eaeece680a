"""Labels are classes or regression targets, and columns that are neither are refused."""

import pytest

from bertviz_lab.data.formats.read import read_task
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


def test_markup_in_a_label_is_text_and_harmless_in_messages(tmp_path):
    label = "<script>alert(1)</script>"
    assert label in read_task(written(tmp_path, "a.csv", table(labels=(label, "b")))).labels
    with pytest.raises(InputError) as caught:
        read_task(written(tmp_path, "a.csv", table(labels=(label,))))
    assert "<" not in str(caught.value)
