"""The labeled examples of a fine-tuning: read and split once, then kept in the run's folder.

examples/train.jsonl, held_out.jsonl, test.jsonl   one example a line; held_out is the validation set
examples/about.json                                the task, the labels, and what a person should know; written last
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.corpora.reading_notes import pluralized
from bertviz_lab.data.corpora.sources import MAX_BYTES
from bertviz_lab.data.examples import Doubt, Example, FileInfo, Task, TaskData, read_examples, write_examples
from bertviz_lab.data.formats.read import read_splits
from bertviz_lab.data.formats.reading import Reading
from bertviz_lab.data.samples.task_samples import sample_path
from bertviz_lab.data.tasks.corrected_files import CorrectedFile, corrected_files
from bertviz_lab.data.tasks.corrections import CORRECTIONS_FILE, Correction, correct, newest, read_corrections
from bertviz_lab.data.tasks.split import split_examples
from bertviz_lab.data.tasks.task_report import TaskReport, examine_task
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.atomic_io import write_json

_SAMPLE = "sample:"


@dataclass(frozen=True)
class TaskSplits:
    """Examples to train on, to choose by (`held_out`, the validation set) and, where there are any, to test on."""

    task: Task
    labels: tuple[str, ...]
    train: tuple[Example, ...]
    held_out: tuple[Example, ...]
    notes: tuple[str, ...] = ()
    test: tuple[Example, ...] = ()


def load_task_splits(
    config: FinetuneConfig, max_bytes: float = MAX_BYTES, require_sure: bool = False
) -> tuple[TaskData, TaskSplits]:
    """Read the files of a fine-tuning and split off what is held out. Raises `InputError`.

    The data of the first files, with all that is known from reading them, and the examples as they are used. With
    `require_sure` a reading of any of the files that a person should confirm is an error.
    """
    splits = [config.train, *filter(None, (config.eval, config.test))]
    files = [[resolve_file(name) for name in names] for names in splits]
    reading = {**config.reading, "max_bytes": max_bytes}
    data, *others = read_splits(files, config.task, tested=bool(config.test), **reading)
    for each in (data, *others) if require_sure else ():
        Reading.of(each).require_sure()
    tested = others.pop() if config.test else None
    train: Sequence[Example]
    held: Sequence[Example]
    understood = Reading.of(data)
    if others:
        train, held = data.examples, others[0].examples
        notes = [*others[0].remarks]
    else:
        train, held = split_examples(data, config.eval_share, config.seed)
        notes = [f"{len(held):,} of {len(data.examples):,} examples are held out for validation."]
    if config.max_train_examples and config.max_train_examples < len(train):
        chosen = np.random.default_rng(config.seed).permutation(len(train))[: config.max_train_examples]
        notes.append(f"Of {len(train):,} examples {config.max_train_examples:,} are trained on, drawn at random.")
        train = [train[index] for index in sorted(chosen)]
    if config.corrections:
        train, changed = correct(train, read_corrections(Path(config.corrections)))
        notes.append(f"{pluralized(changed, 'training example<s> <was|were>')} corrected or left out.")
    if not train or not held:
        raise InputError("There are too few examples to train on some and score on others; give more.")
    notes = [*understood.summary(), *dict.fromkeys([*data.remarks, *understood.notes]), *notes]
    test = tested.examples if tested else ()
    notes += tested.remarks if tested else ()
    return data, TaskSplits(data.task, data.labels, tuple(train), tuple(held), tuple(notes), test)


def prepare_task_splits(config: FinetuneConfig, folder: Path, require_sure: bool = False) -> None:
    """Read, split and keep the examples under `folder`. Raises `InputError`."""
    data, splits = load_task_splits(config, require_sure=require_sure)
    target = folder / "examples"
    for earlier in (target, folder / "tokenizer"):  # a vocabulary of other examples
        shutil.rmtree(earlier, ignore_errors=True)
    target.mkdir(parents=True)
    for name in ("train", "held_out", "test"):
        write_examples(target / f"{name}.jsonl", getattr(splits, name))
    about = {"task": splits.task, "labels": splits.labels, "notes": splits.notes, "reading": Reading.of(data).to_dict()}
    write_json(target / "about.json", about)


def read_task_splits(folder: Path) -> TaskSplits:
    """Return the examples of a run. Raises `InputError` where there are none."""
    kept = folder / "examples"
    try:
        body: dict[str, Any] = json.loads((kept / "about.json").read_text(encoding="utf-8"))
        train, held_out = (read_examples(kept / f"{name}.jsonl") for name in ("train", "held_out"))
        test = read_examples(kept / "test.jsonl") if (kept / "test.jsonl").is_file() else ()
        return TaskSplits(body["task"], tuple(body["labels"]), train, held_out, tuple(body["notes"]), test)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"There are no examples in {folder.name}.") from error


def decided_labels(folder: Path, config: FinetuneConfig) -> tuple[Correction, ...]:
    """Return what was decided about the labels of a run's training files: before it, and in its label check."""
    before = read_corrections(Path(config.corrections)) if config.corrections else ()
    own = folder / CORRECTIONS_FILE
    return (*before, *(read_corrections(own) if own.is_file() else ()))


def corrected_train_files(folder: Path, config: FinetuneConfig, max_bytes: float = MAX_BYTES) -> list[CorrectedFile]:
    """Return the training files of a run with all decisions about their labels. Raises `InputError`."""
    files = [resolve_file(name) for name in config.train]
    decisions = newest(decided_labels(folder, config))
    return corrected_files(files, config.task, decisions, max_bytes=max_bytes, **config.reading)


def texts_of(examples: Sequence[Example]) -> Iterator[str]:
    """Yield all text in examples, to learn a vocabulary from; a passage that many questions share comes once."""
    yield from dict.fromkeys(text for example in examples for text in example.inputs if text)


def resolve_file(name: str) -> str:
    """`sample:NAME` as the file that comes with the lab; anything else as it is."""
    return str(sample_path(name.removeprefix(_SAMPLE))) if name.startswith(_SAMPLE) else name


_SHOWN = 8


@dataclass(frozen=True)
class Examination:
    """What is known of labeled files, however large they are."""

    file: FileInfo  # how the first file was read
    first: tuple[Example, ...]
    report: TaskReport  # on all examples, as the model would read them
    doubts: tuple[Doubt, ...] = ()  # what a person should confirm before training on them


def examine_labelled(
    config: FinetuneConfig, tokenizer: Tokenizer, positions: int, trained_length: int | None, max_bytes: float
) -> Examination:
    """Read the files of a fine-tuning and report on them.

    `positions` and `trained_length` are those of the model, whose tokenizer measures the examples. Raises `InputError`
    for data that cannot be learned from.
    """
    data, splits = load_task_splits(config, max_bytes)
    length = config.length_for(data.task, positions, trained_length)
    train = replace(data, examples=splits.train, labels=splits.labels, notes=splits.notes)
    report = examine_task(train, splits.held_out, tokenizer, length)
    return Examination(data.files[0], data.examples[:_SHOWN], report, Reading.of(data).doubts)
