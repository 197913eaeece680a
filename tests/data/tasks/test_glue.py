"""GLUE's tasks are recognised in every layout in which it is passed on, and read with no option given."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviz_lab import InputError
from bertviz_lab.data.examples import LabelledText
from bertviz_lab.data.formats.read import read_splits
from bertviz_lab.data.tasks.glue import GLUE, find_glue, unpack_glue
from tests.data.tasks.glue_files import HUB, label_of, rows, write_archive, write_as_published, write_hub_copy

SPLITS = {task.name: ["matched", "mismatched"] if task.name == "mnli" else ["dev"] for task in GLUE}
PUBLISHED = {"cola": ["dev"], "sst2": ["dev"], "mrpc": ["test"], "stsb": ["dev"]}
LAYOUTS: list[tuple[Callable[[Path], None], dict[str, list[str]]]] = [
    (write_archive, SPLITS),
    (write_hub_copy, SPLITS),
    (write_as_published, PUBLISHED),
]


@pytest.mark.parametrize(("write", "splits"), LAYOUTS, ids=lambda value: getattr(value, "__name__", ""))
def test_every_task_is_read_as_it_was_written(tmp_path: Path, write: Callable[[Path], None], splits) -> None:
    write(tmp_path)
    tasks, notes = find_glue(tmp_path)
    assert {files.task.name: list(files.published) for files in tasks} == splits
    assert not notes
    for files in tasks:
        task, names = files.task, HUB[files.task.name][1]
        for published in files.published.values():
            for data, written in zip(read_splits([files.train, published], task.task), _rows(task.title), strict=True):
                assert not data.dropped, (task.name, data.dropped)
                for example, row in zip(data.examples, written, strict=True):
                    assert isinstance(example, LabelledText)
                    assert [example.text_a, *filter(None, [example.text_b])] == list(row.texts), task.name
                    if task.task == "regression":
                        assert example.label == pytest.approx(row.label)
                    else:
                        assert example.label in (label_of(task.title, row), names[int(row.label)]), task.name


def _rows(task: str):
    return rows(task, 24), rows(task, 8, 24)


def test_f1_is_that_of_paraphrases_in_every_layout(tmp_path: Path) -> None:
    """Of the second class, which is 1, or the one that the hub's copy numbers so."""
    for write, positive in ((write_archive, "1"), (write_hub_copy, "equivalent"), (write_as_published, "1")):
        write(tmp_path / write.__name__)
        (mrpc,) = (files for files in find_glue(tmp_path / write.__name__)[0] if files.task.name == "mrpc")
        train, _ = read_splits([mrpc.train, *mrpc.published.values()])
        assert train.labels[1] == positive


def test_the_folder_of_one_task_is_enough(tmp_path: Path) -> None:
    write_archive(tmp_path)
    (files,), _ = find_glue(tmp_path / "SST-2")
    assert files.task.title == "SST-2"
    assert [path.name for path in files.train] == ["train.tsv"]


def test_a_task_that_lacks_files_is_left_out_with_a_note(tmp_path: Path) -> None:
    write_archive(tmp_path)
    (tmp_path / "RTE" / "dev.tsv").unlink()
    (tmp_path / "CoLA" / "train.tsv").unlink()
    tasks, notes = find_glue(tmp_path)
    assert len(tasks) == 7
    assert [note.split(":")[0] for note in notes] == ["CoLA was left out", "RTE was left out"]
    assert "has no examples to train on (train)" in notes[0]
    assert "has no published set to score (dev)" in notes[1]


def test_of_a_zip_the_files_of_tasks_are_unpacked_and_nothing_else(tmp_path: Path) -> None:
    write_archive(tmp_path / "GLUE")
    (tmp_path / "GLUE" / "secret.txt").write_text("of no task", encoding="utf-8")
    archive = tmp_path / "glue.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (tmp_path / "GLUE").rglob("*.t*"):
            file.write(path, path.relative_to(tmp_path))
        file.writestr("../../RTE/escaped.tsv", "a\tb\n")
    assert unpack_glue(archive, tmp_path / "out", 10**7)
    unpacked = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.*")}
    assert "sst2/dev.tsv" in unpacked
    assert all(name.split("/")[0] in SPLITS for name in unpacked)
    assert not list(tmp_path.parent.rglob("escaped.tsv"))[1:], "it is in the task's folder and nowhere else"
    tasks, _ = find_glue(tmp_path / "out")
    assert [files.task.name for files in tasks] == list(SPLITS)
    with pytest.raises(InputError, match="unpacks to"):
        unpack_glue(archive, tmp_path / "more", 1000)
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("data/agreement.jsonl", "{}")
    assert not unpack_glue(archive, tmp_path / "none", 10**7)
    assert not (tmp_path / "none").exists()


def test_a_folder_without_a_task_is_refused_with_the_tasks_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no complete task of GLUE \(CoLA, SST-2"):
        find_glue(tmp_path)
    with pytest.raises(InputError, match="is no folder"):
        find_glue(tmp_path / "absent")
