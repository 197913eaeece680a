"""Encodings are detected, damage is noted, and files that hold no task data are refused."""

import pytest

from bertviz_lab.data.formats.raw import ReadOptions
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.errors import InputError
from tests.data.formats.support import table
from tests.data.support import written, zipped


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
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "is a PNG picture"),
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
