"""The corpus that is read from the user's own Python."""

import re
from pathlib import Path

import pytest

from bertviz_lab.data.documents import Document
from bertviz_lab.data.samples.docstrings import documents, prose
from bertviz_lab.errors import InputError


@pytest.fixture(scope="module")
def read() -> list[Document]:
    return list(documents())


@pytest.mark.slow
def test_every_sentence_is_clean(read: list[Document]) -> None:
    for document in read:
        assert len(document.sentences) >= 2
        for sentence in document.sentences:
            assert sentence == sentence.strip() != ""
            assert not re.search(r"\s\s|\n|^>>>|`|^:\w+:|::$", sentence), sentence


def test_tests_and_packages_are_left_out_and_reading_repeats_itself(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "test/m.py", "site-packages/m.py", "kept/m.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, "This is a sentence of prose. This is another sentence of prose.")
    assert [document.name for document in documents(tmp_path)] == ["a.py", "b.py", "kept/m.py"]
    assert list(documents(tmp_path)) == list(documents(tmp_path))


def test_nothing_is_executed_and_a_broken_file_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "run.py", "A module that must not run. It would raise an error.", 'raise SystemExit("was run")')
    write(tmp_path / "old.py", "An old escape like \\d warns when parsed. Nobody needs to hear of it.")
    (tmp_path / "bad.py").write_text("def broken(:\n", encoding="utf-8")
    (tmp_path / "null.py").write_bytes(b"x = 1\0\n")
    assert [document.name for document in documents(tmp_path)] == ["old.py", "run.py"]


@pytest.mark.parametrize("folder", ["", "missing"])
def test_a_library_without_documentation_is_an_input_error(tmp_path: Path, folder: str) -> None:
    (tmp_path / "bare.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="no Python source files with documentation"):
        list(documents(tmp_path / folder if folder else tmp_path))


def test_only_prose_is_left_of_a_docstring() -> None:
    docstring = """Return the *mean* of ``data``, see :func:`median` and :class:`~fractions.Fraction`.

    f(data, weights=None) -> float

    >>> mean([1, 2, 3])
    2

    Example::

        mean([1.0, 2.0])

    The second paragraph runs over
    two lines and names `Fraction <fractions.html>`_.

    :param data: numbers
    - The first item of a list.
    - The second item of it.

    ========  =======
    a table   a cell
    """
    assert list(prose(docstring))[:1] == ["Return the mean of data, see median and fractions.Fraction."]
    text = " | ".join(prose(docstring))
    assert "The second paragraph runs over two lines and names Fraction." in text
    assert "The first item of a list. | The second item of it." in text
    for left_out in (">>>", "mean([", ":param", "====", "`"):
        assert left_out not in text


def write(path: Path, text: str, code: str = "") -> None:
    path.write_text(f'"""{text}"""\n{code}\n', encoding="utf-8")
