"""The samples that ship, and the corpus that is read from the user's own Python."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertviz_lab.config.finetune import FinetuneConfig
from bertviz_lab.data.examples import LabelledText, LabelledWords, Question, RelatedTexts
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.samples.docstrings import documents, prose
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES, sample_path
from bertviz_lab.errors import InputError


def passages() -> list[dict[str, Any]]:
    body = json.loads(sample_path("questions").read_text(encoding="ascii"))
    assert body["version"] == "v2.0"
    return [passage for article in body["data"] for passage in article["paragraphs"]]


def test_each_sample_has_a_file_a_title_a_description_and_settings_of_finetune_config() -> None:
    names = "sentiment topics guest-book paraphrases entities town-questions same-event questions"
    assert " ".join(TASK_SAMPLES) == names
    for name, sample in TASK_SAMPLES.items():
        assert sample.name == name
        assert sample_path(name).is_file()
        assert sample.description.endswith(".")
        config = FinetuneConfig(train=(f"sample:{name}",), task=sample.task, **sample.settings)
        assert config.epochs == sample.settings["epochs"]
    assert len({sample.title for sample in TASK_SAMPLES.values()}) == len(TASK_SAMPLES)


def test_an_unknown_sample_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(InputError, match='"reviews"; choose one of sentiment, topics'):
        sample_path("reviews")


def test_about_a_quarter_of_the_questions_cannot_be_answered() -> None:
    questions = [question for passage in passages() for question in passage["qas"]]
    assert len({question["id"] for question in questions}) == len(questions) >= 300
    for question in questions:
        assert question["question"].endswith("?")
        assert question["is_impossible"] == (not question["answers"])
    assert 0.2 < sum(question["is_impossible"] for question in questions) / len(questions) < 0.3


@pytest.mark.parametrize("name", TASK_SAMPLES)
def test_every_example_is_read_with_task_and_columns_inferred(name: str) -> None:
    data = read_task([sample_path(name)])
    assert data.task == TASK_SAMPLES[name].task
    assert data.dropped == ()
    kinds = {"tokens": LabelledWords, "qa": Question, "embeddings": RelatedTexts}
    for example in data.examples:
        assert isinstance(example, kinds.get(data.task, LabelledText))
        assert not isinstance(example, LabelledText) or (example.text_b is not None) == (name == "paraphrases")
    assert TASK_SAMPLES[name].description.startswith(f"{len(data.examples):,} ")


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
