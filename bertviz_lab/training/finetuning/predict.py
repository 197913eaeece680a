"""Predictions of a fine-tuned model for many texts, its scores on labeled ones, and what a student follows of it."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from bertviz_lab.config import SHORTEST_SEQUENCE
from bertviz_lab.data.examples import Example, Label, LabelledText, Task, class_counts, holds_examples, read_examples
from bertviz_lab.data.formats.labels import check_known
from bertviz_lab.data.formats.read import read_task
from bertviz_lab.data.formats.reading import Reading
from bertviz_lab.data.loaders import check_labels
from bertviz_lab.data.tasks.batches import Features, Limits, TaskBatches, encode_examples
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.classification import ClassificationReport
from bertviz_lab.model import BertForSequenceClassification, BertModel
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint
from bertviz_lab.training.finetuning.task_data import resolve_file
from bertviz_lab.training.finetuning.tasks import TASKS, task_for
from bertviz_lab.training.finetuning.tasks.base import SCORED_AT_ONCE, FinetuningTask, Prediction
from bertviz_lab.training.finetuning.tasks.embeddings import read_retrieval_set, search_scores
from bertviz_lab.training.loop.hardware import Hardware, choose_hardware

#: Where a spreadsheet would read a formula: at the start of a cell, and after a semicolon, at which some split again.
_FORMULA = re.compile(r"^(?=[=+\-@\t\r＝＋－＠](?![\d.]*$))|(?<=[;\r\n])(?=[=＝])")


def task_of(checkpoint: Checkpoint) -> Task:
    """Return what a fine-tuned model does. Raises `InputError` for one that was not fine-tuned."""
    model, config = checkpoint.model, checkpoint.config
    if isinstance(model, BertForSequenceClassification):
        if config.problem_type == "multi_label_classification":
            return "multilabel"
        return "regression" if config.num_labels == 1 else "classification"
    for name in ("tokens", "qa"):
        if isinstance(model, TASKS[name].model_class):
            return name
    if isinstance(model, BertModel) and checkpoint.pooling:
        return "embeddings"
    raise InputError(f"{checkpoint.name} is a {checkpoint.architecture}, which has not been fine-tuned for a task.")


def task_with(checkpoint: Checkpoint) -> FinetuningTask[Any]:
    """Return the task of a fine-tuned model, with its labels and thresholds. Raises as `task_of`."""
    config = checkpoint.config
    return task_for(
        task_of(checkpoint),
        config.labels,
        thresholds=config.decision_thresholds,
        no_answer_threshold=config.no_answer_threshold,
        pooling=checkpoint.pooling,
    )


def prediction_task(checkpoint: Checkpoint) -> Task:
    """As `task_of`, of a model whose predictions make a table. Raises `InputError` for embeddings, too."""
    task = task_of(checkpoint)
    if task == "embeddings":
        raise InputError(f"{checkpoint.name} gives vectors, not labels: use the command encode.")
    return task


def predict_with(
    checkpoint: Checkpoint, examples: Sequence[Example], *, max_length: int | None = None, threads: int = 0
) -> tuple[list[Prediction], float]:
    """Return a prediction for each example, in 32 bits on the CPU or GPU, and the mean loss over those with labels.

    The loss is NaN where no label is one that the model knows. Raises `InputError` where the model has not been
    fine-tuned, or `max_length` leaves no room.
    """
    task, tokenizer = task_with(checkpoint), checkpoint.tokenizer
    limits = Limits(_row_length(checkpoint, max_length))
    features = encode_examples(examples, task.name, tokenizer, task.labels, limits)
    hardware = choose_hardware("fp32", threads)
    batches = TaskBatches(features, SCORED_AT_ONCE, tokenizer.pad_id, seed=0)
    return task.predict(hardware.borrow(checkpoint.model), examples, batches, hardware)


def _row_length(checkpoint: Checkpoint, max_length: int | None) -> int:
    """Return the most tokens of a row, by default the model's trained length. Raises `InputError` for too few."""
    length = max_length or checkpoint.max_length
    if length < SHORTEST_SEQUENCE:
        raise InputError(f"A length of {length} tokens is too short; choose at least {SHORTEST_SEQUENCE}.")
    return min(length, checkpoint.config.max_position_embeddings)


def teacher_outputs(
    name: str, examples: Sequence[Example], features: Features, task: FinetuningTask, limits: Limits, on: Hardware
) -> Tensor:
    """Return what a student follows of each of its `features`, (rows, ...), see `FinetuningTask.outputs_to_follow`.

    Of classes and labels these are logits, of answers where they begin and end, of embeddings vectors. The teacher
    `name` reads each of the `examples` once, before the training, with its own tokenizer: it may be of any size, family
    and vocabulary. Its rows are as long as `limits` and its positions allow; it computes in the run's precision.
    Raises `InputError` where it does another task than the student's or predicts other labels, or none can do it.
    """
    teacher = load_checkpoint(name)
    theirs = task_with(teacher)
    if theirs.name != task.name:
        raise InputError(
            f"The teacher {teacher.name} was fine-tuned for {theirs.name}; these examples are for {task.name}."
        )
    if task.labels and {*theirs.labels} != {*task.labels}:
        known, wanted = ", ".join(theirs.labels), ", ".join(task.labels)
        raise InputError(f"The teacher {teacher.name} predicts {known}; the labels of these examples are {wanted}.")
    limits = replace(limits, max_length=min(limits.max_length, teacher.config.max_position_embeddings))
    read = encode_examples(examples, task.name, teacher.tokenizer, theirs.labels, limits)
    batches = TaskBatches(read, SCORED_AT_ONCE, teacher.tokenizer.pad_id, seed=0)
    with on.autocast():
        outputs, _ = theirs.outputs(on.borrow(teacher.model), batches, on)
    return task.outputs_to_follow(theirs, outputs, read, features)


def truncation_warning(checkpoint: Checkpoint, examples: Sequence[Example], max_length: int | None = None) -> str:
    """Return a sentence where texts are longer than a model reads and lose their ends; "" where none is."""
    texts = [example for example in examples if isinstance(example, LabelledText)]
    limit = _row_length(checkpoint, max_length)
    encodings = (checkpoint.tokenizer.encode(text.text_a, text.text_b, max_length=limit) for text in texts)
    cut = [encoding.dropped for encoding in encodings if encoding.dropped]
    if not cut:
        return ""
    name, tokens = checkpoint.name or "This model", f"{sum(cut):,} {'token' if sum(cut) == 1 else 'tokens'}"
    return f"{name} reads up to {limit} tokens: {len(cut):,} of {len(texts):,} texts are longer and lose {tokens}."


def evaluate_task(
    checkpoint: Checkpoint,
    paths: Sequence[str | Path],
    task: str,
    *,
    max_length: int | None = None,
    threads: int = 0,
    on_note: Callable[[str], None] = lambda sentence: None,
    on_reading: Callable[[Reading], None] | None = None,
    **reading: Any,
) -> dict[str, float]:
    """Return scores of a fine-tuned model on labelled files, by the names of the task's scores, and `loss`.

    In 32 bits, with as many threads and tokens as in its run, the run's own scores come out to the last digit.
    A file may also be one of the examples that a run keeps, such as `examples/held_out.jsonl`. `on_note` is called with
    sentences on rows that were repaired or left out, and on labels that the model does not know; `on_reading`, where it
    is given, with the reading of the files before anything is computed. Raises `InputError`
    where the model or the files are of another task, or most of their labels are none of the model's.
    """
    known = task_with(checkpoint)
    if task != known.name and (task, known.name) != ("classification", "regression"):
        raise InputError(f"{checkpoint.name} was fine-tuned for {known.name}, not for {task}.")
    files = [resolve_file(str(path)) for path in paths]
    if known.name == "embeddings" and (search := read_retrieval_set(files)) is not None:
        return search_scores(checkpoint, search, max_length=_row_length(checkpoint, max_length), threads=threads)
    labels = checkpoint.config.labels
    examples: Sequence[Example]
    notes: tuple[str, ...] = ()
    if all(map(holds_examples, files)):
        examples = [example for file in files for example in read_examples(Path(file))]
        if not all(map(known.is_for, examples)):
            raise InputError(f"{files[0]} holds examples of another task than {known.name}.")
    else:
        data = read_task(files, known.name, labels, **reading)
        examples, notes = _named(data.examples, labels), data.remarks
        if on_reading:
            on_reading(Reading.of(data))
            notes = ()  # which the reading has
    cut = truncation_warning(checkpoint, examples, max_length)
    for note in filter(None, (*notes, *check_known(known.name, examples, labels), cut)):
        on_note(note)
    predictions, loss = predict_with(checkpoint, examples, max_length=max_length, threads=threads)
    return {"loss": loss, **known.scores(examples, predictions)}


def _named(examples: Sequence[Example], labels: Sequence[str]) -> Sequence[Example]:
    """Return classes that a file gives as 0, 1 ... under the names that the model has for them, as in GLUE's files."""
    named = {str(index): label for index, label in enumerate(labels)}
    used = class_counts(examples).keys()
    if not used or used & set(labels) or not used <= named.keys():
        return examples

    def rename(label: Label) -> Label:
        return tuple(named[each] for each in label) if isinstance(label, tuple) else named[str(label)]

    return [replace(e, label=rename(e.label)) if isinstance(e, LabelledText) else e for e in examples]


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return a table of texts that strangers may have written: a spreadsheet computes none of its cells.

    What begins like a formula gets an apostrophe before it; a number or a sign alone is left as it is.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in rows:
        writer.writerow([_FORMULA.sub("'", cell) if isinstance(cell, str) else cell for cell in row])
    return stream.getvalue()


def evaluate(
    checkpoint: Checkpoint | str,
    texts: Sequence[str] | Sequence[tuple[str, str]],
    labels: Sequence[int] | Sequence[str],
    *,
    max_length: int | None = None,
) -> ClassificationReport:
    """Return accuracy, F1, scores by class and the confusion matrix of a classifier on labeled texts.

    Args:
        checkpoint: a fine-tuned classifier, or what `load_checkpoint` opens.
        texts: texts, or pairs of texts.
        labels: the true class of each: its name, or its index in `checkpoint.config.labels`.
        max_length: tokens that a text is truncated to; by default as many as the model was trained on.

    Raises:
        InputError: the model is not a classifier.
        ValueError: there are no texts or not as many labels, or a label is not one of the model's.
    """
    if isinstance(checkpoint, str):
        checkpoint = load_checkpoint(checkpoint)
    check_labels(texts, labels)
    known = checkpoint.config.labels
    if (task := task_of(checkpoint)) != "classification":
        raise ValueError(f"evaluate scores classifiers; {checkpoint.name or 'this model'} was fine-tuned for {task}.")
    by_index = dict(enumerate(known))
    names = [by_index.get(int(n), n) if isinstance(n, (int, np.integer)) else n for n in labels]
    if unknown := sorted(set(names) - set(known), key=str):
        raise ValueError(f"The model has no label {unknown[0]!r}; its labels are {', '.join(known)}.")
    pairs = [(text, None) if isinstance(text, str) else tuple(text) for text in texts]
    examples = [LabelledText(a, b, name, row) for row, ((a, b), name) in enumerate(zip(pairs, names, strict=True), 1)]
    predictions, _ = predict_with(checkpoint, examples, max_length=max_length)
    report: ClassificationReport = task_with(checkpoint).report(examples, predictions)
    return report
