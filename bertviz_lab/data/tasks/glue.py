"""GLUE (Wang et al. 2018): its tasks, and which files of a folder are those of a task.

A task is a folder whose name is the task's ("SST-2", "sst2_glue", "sst2"), with files of examples to train on and of
the published set that is scored. That holds for GLUE's own archive (train.tsv, dev.tsv), for the hub's Parquet copy
(train-00000-of-00001.parquet, validation-...) and for the tasks as their authors published them (in_domain_train.tsv,
msr_paraphrase_test.txt). The columns are found as those of any labelled file.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import Kinds, close_archives, find_sources
from bertviz_lab.data.examples import Task
from bertviz_lab.errors import InputError


@dataclass(frozen=True)
class GlueTask:
    """A task of GLUE."""

    name: str  # as folders and JSON have it
    title: str  # as the paper has it
    # the official ones; those of the examples held out of train choose the model, by the first
    metrics: tuple[str, ...]
    epochs: int  # passes over the examples unless others are asked for; the best model of them is scored
    # the published sets that are scored, each with the words that its files' names contain
    splits: Mapping[str, frozenset[str]]
    task: Task = "classification"  # what it is to the reader of labelled files


@dataclass(frozen=True)
class GlueFiles:
    """The files of a task: what is trained on, and each published set that is scored."""

    task: GlueTask
    train: tuple[Path, ...]
    published: Mapping[str, tuple[Path, ...]]

    @property
    def scored(self) -> tuple[Path, ...]:
        """The files of the first published set: of MNLI the matched one."""
        return next(iter(self.published.values()))


_DEV = {"dev": frozenset({"dev"})}
_MNLI = {name: frozenset({"dev", name}) for name in ("matched", "mismatched")}

GLUE = (
    GlueTask("cola", "CoLA", ("mcc",), 10, _DEV),
    GlueTask("sst2", "SST-2", ("accuracy",), 3, _DEV),
    # The corpus as Microsoft published it has no dev set, but its test set is labelled.
    GlueTask("mrpc", "MRPC", ("f1", "accuracy"), 5, _DEV | {"test": frozenset({"test"})}),
    GlueTask("stsb", "STS-B", ("spearman", "pearson"), 8, _DEV, "regression"),
    GlueTask("qqp", "QQP", ("f1", "accuracy"), 3, _DEV),
    GlueTask("mnli", "MNLI", ("accuracy",), 3, _MNLI),
    GlueTask("qnli", "QNLI", ("accuracy",), 3, _DEV),
    GlueTask("rte", "RTE", ("accuracy",), 8, _DEV),
    GlueTask("wnli", "WNLI", ("accuracy",), 5, _DEV),
)
_ENDINGS = (".tsv", ".csv", ".txt", ".jsonl", ".json", ".parquet")
_FILES = Kinds(dict.fromkeys(_ENDINGS, "labelled"), "files with pairs of sentences, or GLUE's tasks in folders")


def find_glue(folder: Path) -> tuple[list[GlueFiles], list[str]]:
    """Return the tasks whose files lie in a folder, in GLUE's order, and a sentence for each that lacks some.

    Raises `InputError` where there is no task.
    """
    if not folder.is_dir():
        raise InputError(f"{quoted(str(folder))} is no folder; name the one with GLUE's tasks, a folder for each.")
    folders = {_task_name(path): path for path in (folder, *sorted(folder.iterdir())) if path.is_dir()}
    complete, notes = [], []
    for task in GLUE:
        if task.name not in folders:
            continue
        train = _named(folders[task.name], frozenset({"train"}))
        named = {split: _named(folders[task.name], words) for split, words in task.splits.items()}
        published = {split: files for split, files in named.items() if files}
        if train and published:
            if "dev" in published:  # then a test set is the one whose labels GLUE keeps to itself
                published.pop("test", None)
            complete.append(GlueFiles(task, train, published))
        else:
            lacking = "examples to train on (train)" if not train else "published set to score (dev)"
            notes.append(f"{task.title} was left out: {quoted(folders[task.name].name)} has no {lacking}.")
    if not complete:
        names = ", ".join(task.title for task in GLUE)
        raise InputError(" ".join([f"{quoted(str(folder))} holds no complete task of GLUE ({names}).", *notes]))
    return complete, notes


def unpack_glue(archive: Path, folder: Path, max_bytes: float) -> bool:
    """Write the files of the tasks in a zip under `folder`, and nothing else of it; False where it has none.

    Raises `InputError` where it cannot be read, or unpacks to more than `max_bytes`.
    """
    sources = find_sources(archive, ReadingNotes(), max_bytes, _FILES)
    unpacked = False
    try:
        for source in sources:
            *_, parent, name = PurePosixPath("/", source.name).parts
            if source.archive and _task_name(Path(parent)) in {task.name for task in GLUE}:
                target = folder / _task_name(Path(parent)) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with source.open() as stream, target.open("wb") as file:
                    shutil.copyfileobj(stream, file)
                unpacked = True
    finally:
        close_archives(sources)
    return unpacked


def _task_name(folder: Path) -> str:
    """ "sst2" for "SST-2", "sst2_glue" and "glue-sst2"."""
    return re.sub(r"[^a-z0-9]", "", folder.name.lower()).replace("glue", "")


def _named(folder: Path, words: frozenset[str]) -> tuple[Path, ...]:
    """Return files with these words in their names; where names have no other words, only those files."""
    files = []
    for path in sorted(folder.iterdir()):
        parts = set(re.split(r"[^a-z]+", path.stem.lower().replace("validation", "dev"))) - {""}
        if path.is_file() and path.suffix.lower() in _ENDINGS and words <= parts and "ids" not in parts:
            files.append((path, parts))
    exact = [path for path, parts in files if parts - {"of"} == words]
    return tuple(exact or [path for path, _ in files])
