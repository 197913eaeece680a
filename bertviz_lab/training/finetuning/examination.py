"""Labelled files looked at before a fine-tuning: how they were read, and the report on their examples."""

from dataclasses import dataclass, replace

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.corpora.sources import MAX_BYTES
from bertviz_lab.data.examples import Example, FileInfo
from bertviz_lab.data.tasks.task_report import TaskReport, examine_task
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.finetuning.task_data import load_task_splits

_SHOWN = 8


@dataclass(frozen=True)
class Examination:
    """What is known of labelled files, however large they are.

    Attributes:
        file: how the first file was read.
        first: its first examples.
        report: on all examples, as the model would read them.
    """

    file: FileInfo
    first: tuple[Example, ...]
    report: TaskReport


def examine_labelled(
    config: FinetuneConfig,
    tokenizer: Tokenizer,
    positions: int,
    trained_length: int | None,
    max_bytes: float = MAX_BYTES,
) -> Examination:
    """Read the files of a fine-tuning and report on them.

    `positions` and `trained_length` are those of the model, whose tokenizer measures the examples. Raises `InputError`
    for data that cannot be learnt from.
    """
    data, splits = load_task_splits(config, max_bytes)
    length = config.length_for(data.task, positions, trained_length)
    train = replace(data, examples=splits.train, labels=splits.labels, notes=splits.notes)
    report = examine_task(train, splits.held_out, tokenizer, length)
    return Examination(data.files[0], data.examples[:_SHOWN], report)
