"""What the form of batch inference asks: predictions for a file of texts, or their ranking by similarity to a query."""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_lab.errors import InputError
from bertviz_lab.ui.forms import upload_size
from bertviz_lab.ui.lazy import Checkpoint, interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import MOST_CHARACTERS, ModelName, Text, Upload, questions

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.examples import Example, Task
    from bertviz_lab.training.finetuning.tasks.base import Prediction

_QUESTIONS = 20  # that a file may cost as much as
CHARACTERS_PER_TOKEN = 3
_SHOWN = 80  # characters of a text in a sentence
_AT_ONCE = 200  # texts between two reports of progress
_FILE_TYPES = [".txt", ".csv", ".tsv", ".xlsx", ".jsonl", ".json", ".parquet", ".conll", ".conllu", ".gz"]


def form(state: AppState) -> dict[str, Any]:
    """Return the label of the box for a file, and the endings that it takes."""
    label = f"One text per line, or a table, up to {upload_size(state.settings.limits)}"
    return {"upload": label, "accept": _FILE_TYPES}


def predict(state: AppState, model: ModelName, file: Upload | None, query: Text) -> dict[str, str] | None:
    """Return the `table` of predictions, or of the texts ranked by a query, its `name`, and a `sentence`.

    None without a file.
    """
    from bertviz_lab.training.finetuning.predict import csv_text

    if file is None:
        return None
    ranked = query.strip()
    rows, sentences = _search(state, model, file.path, query) if ranked else _predict(state, model, file.path)
    name = f"{file.path.stem}-{'search' if ranked else 'predicted'}.csv"
    return {"sentence": " ".join(filter(None, sentences)), "name": name, "table": csv_text(rows)}


def _search(state: AppState, model: str, path: Path, query: str) -> tuple[Iterable[list[Any]], list[str]]:
    """Return the texts of a file by the cosine of their embeddings and a query's, and sentences on the nearest."""
    from bertviz_lab.data.examples import LabelledText

    checkpoint, examples, notes = _inputs(state, model, path, "classification")
    texts = [f"{e.text_a} {e.text_b or ''}".strip() for e in examples if isinstance(e, LabelledText)]
    # The file may take as much as twenty questions, which has been checked.
    limits = replace(checkpoint.limits, operations=checkpoint.limits.operations * _QUESTIONS)
    roomy, hits = replace(checkpoint, limits=limits), []
    for start in range(0, len(texts), _AT_ONCE):
        report_progress(start / len(texts))
        part = texts[start : start + _AT_ONCE]
        hits += [
            replace(hit, index=start + hit.index) for hit in interpret.semantic_search(roomy, query, part, len(part))
        ]
    hits.sort(key=lambda hit: -hit.cosine)
    rows = [[place, examples[hit.index].row, round(hit.cosine, 4), hit.text] for place, hit in enumerate(hits, 1)]
    nearest = "; ".join(f"“{hit.text[:_SHOWN]}” ({hit.cosine:.2f})" for hit in hits[:3])
    done = f"{len(texts):,} texts ranked by {checkpoint.name}. Nearest: {nearest}."
    return [["rank", "row", "cosine", "text"], *rows], [done, *notes]


def _predict(state: AppState, model: str, path: Path) -> tuple[Iterable[list[Any]], list[str]]:
    from bertviz_lab.training.finetuning.predict import predict_with, task_of, task_with, truncation_warning

    name = model.strip() or state.models.default()
    try:
        task = task_of(state.models.open(name))
    except InputError as error:
        raise InputError(f"{error} Choose a model that was, or type a query.") from error
    if task == "embeddings":
        raise InputError(f"{name} gives vectors: type a query that the texts are to be compared with.")
    checkpoint, examples, notes = _inputs(state, name, path, task)
    predictions: list[Prediction] = []
    for start in range(0, len(examples), _AT_ONCE):
        report_progress(start / len(examples))
        predictions += predict_with(checkpoint, examples[start : start + _AT_ONCE], threads=state.settings.threads)[0]
    done = f"{len(examples):,} predictions by {checkpoint.name}."
    sentences = [done, truncation_warning(checkpoint, examples), *notes]
    return task_with(checkpoint).table(examples, predictions), sentences


def _inputs(
    state: AppState, model: str, path: Path, task: "Task"
) -> "tuple[Checkpoint, tuple[Example, ...], list[str]]":
    """Return the model, the texts of a file that it may be asked about, and sentences on how they were read."""
    from bertviz_lab.data.formats.reading import Reading
    from bertviz_lab.data.tasks.unlabeled_inputs import MAX_INPUTS

    checkpoint = state.models.open(model)
    read = state.files.inputs(path, task, min(state.settings.limits.predicted_texts, MAX_INPUTS), MOST_CHARACTERS)
    characters = [sum(len(text or "") for text in example.inputs) for example in read.examples]
    tokens = sum(min(checkpoint.max_length, 2 + count / CHARACTERS_PER_TOKEN) for count in characters)
    check_cost(checkpoint, "texts", len(read.examples), tokens, checkpoint.max_length)
    return checkpoint, read.examples, [next(Reading.of(read, labelled=False).summary()), *read.remarks]


def check_cost(checkpoint: Checkpoint, what: str, count: int, tokens: float, length: int) -> None:
    """Raise `InputError` where a file, read in passes of `length` tokens, takes more than twenty questions may."""
    from bertviz_lab.interpret.inputs import forward_operations

    allowed = _QUESTIONS * checkpoint.limits.operations * length / forward_operations(checkpoint.config, length)
    if tokens > allowed:
        raise InputError(
            f"These {count:,} {what} are too many for this page with this model; it takes about "
            f"{math.floor(count * allowed / tokens):,} of this length: send fewer, or choose a smaller model."
        )


QUESTIONS = questions(form, slow=[predict])
