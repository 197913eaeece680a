"""What the form of batch inference asks: predictions for a file of texts, or their ranking by similarity to a query."""

import io
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_lab.errors import InputError
from bertviz_lab.ui.forms import fields
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.validation import MOST_CHARACTERS, checked
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.uploads import UploadedFile
from bertviz_lab.ui.view import ModelName, Text, Upload, View, question

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.examples import Example, Task
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
    from bertviz_lab.training.finetuning.predictions import Prediction

_QUESTIONS = 20  # that a file of texts may cost as much as
_CHARACTERS_PER_TOKEN = 3
_SHOWN = 80  # characters of a text in a sentence
_AT_ONCE = 200  # texts between two words on how many are done
_FILE_TYPES = [".txt", ".csv", ".tsv", ".jsonl", ".json", ".parquet", ".conll", ".conllu"]

_Answer = dict[str, str]  # a sentence, and a table with the name of its file


def form_of(state: AppState) -> dict[str, Any]:
    """Return the label of the box for a file, and the endings that it takes."""
    label = f"One text per line, or a table, up to {fields.upload_size(state.settings.limits)}"
    return {"upload": label, "accept": _FILE_TYPES}


def predict(state: AppState, model: ModelName, file: Upload | None, query: Text) -> _Answer:
    """Return the table of predictions, or of the texts ranked by their similarity to a query, and a sentence."""
    if file is None:
        raise InputError("Upload a file of texts first.")
    return (
        search_file(state, model, file, checked(query)) if checked(query).strip() else predict_file(state, model, file)
    )


def search_file(session: AppState, model: str, file: UploadedFile, query: str) -> _Answer:
    """Return the texts of a file by the cosine of their embeddings and a query's, and a sentence on the nearest."""
    from bertviz_lab.data.examples import LabelledText
    from bertviz_lab.interpret import semantic_search
    from bertviz_lab.training.finetuning.predict import write_csv

    checkpoint, examples, dropped = _inputs(session, model, file.path, "classification")
    texts = [f"{e.text_a} {e.text_b or ''}".strip() for e in examples if isinstance(e, LabelledText)]
    # The file may take as much as twenty questions, which has been checked.
    limits = replace(checkpoint.limits, operations=checkpoint.limits.operations * _QUESTIONS)
    roomy, hits = replace(checkpoint, limits=limits), []
    for start in range(0, len(texts), _AT_ONCE):
        report_progress(start / len(texts))
        part = texts[start : start + _AT_ONCE]
        hits += [replace(hit, index=start + hit.index) for hit in semantic_search(roomy, query, part, len(part))]
    hits.sort(key=lambda hit: -hit.cosine)
    rows = [[place, examples[hit.index].row, round(hit.cosine, 4), hit.text] for place, hit in enumerate(hits, 1)]
    table = io.StringIO()
    write_csv([["rank", "row", "cosine", "text"], *rows], table)
    nearest = "; ".join(f"“{hit.text[:_SHOWN]}” ({hit.cosine:.2f})" for hit in hits[:3])
    sentence = " ".join([f"{len(texts):,} texts ranked by {checkpoint.name}. Nearest: {nearest}.", *dropped])
    return {"sentence": sentence, "name": f"{file.path.stem}-search.csv", "table": table.getvalue()}


def predict_file(session: AppState, model: str, file: UploadedFile) -> _Answer:
    """Return the table of predictions for the texts of a file, and a sentence."""
    from bertviz_lab.training.finetuning.predict import (
        predict_with,
        prediction_table,
        task_of,
        truncation_warning,
        write_csv,
    )

    name = model.strip() or session.models.default()
    try:
        task = task_of(session.models.open(name))
    except InputError as error:
        raise InputError(f"{error} Choose a model that was, or type a query.") from error
    if task == "embeddings":
        raise InputError(f"{name} gives vectors: type a query that the texts are to be compared with.")
    checkpoint, examples, dropped = _inputs(session, name, file.path, task)
    predictions: list[Prediction] = []
    for start in range(0, len(examples), _AT_ONCE):
        report_progress(start / len(examples))
        predictions += predict_with(checkpoint, examples[start : start + _AT_ONCE], threads=session.settings.threads)[0]
    table = io.StringIO()
    write_csv(prediction_table(checkpoint, examples, predictions), table)
    sentences = [f"{len(examples):,} predictions by {checkpoint.name}.", truncation_warning(checkpoint, examples)]
    sentence = " ".join(part for part in (*sentences, *dropped) if part)
    return {"sentence": sentence, "name": f"{file.path.stem}-predicted.csv", "table": table.getvalue()}


def _inputs(
    session: AppState, model: str, path: Path, task: "Task"
) -> "tuple[Checkpoint, tuple[Example, ...], list[str]]":
    """The model, the texts of a file that it may be asked about, and sentences on the rows that were dropped."""
    from bertviz_lab.data.tasks.unlabeled_inputs import MAX_INPUTS

    checkpoint = session.models.open(model)
    read = session.files.inputs(path, task, min(session.settings.limits.predicted_texts, MAX_INPUTS), MOST_CHARACTERS)
    _check_cost(checkpoint, read.examples)
    dropped = [*read.notes, *(f"{d.count:,} dropped: {d.reason} ({', '.join(d.where[:3])})." for d in read.dropped)]
    return checkpoint, read.examples, dropped


def _check_cost(checkpoint: "Checkpoint", examples: "Sequence[Example]") -> None:
    """Raises `InputError` for more texts, by their length, than twenty questions may take together."""
    from bertviz_lab.data.examples import texts_of_example
    from bertviz_lab.interpret.inputs import forward_operations

    longest = checkpoint.max_length
    characters = [sum(len(text or "") for text in texts_of_example(example)) for example in examples]
    tokens = sum(min(longest, 2 + count / _CHARACTERS_PER_TOKEN) for count in characters)
    passes = tokens / longest
    allowed = _QUESTIONS * checkpoint.limits.operations / forward_operations(checkpoint.config, longest)
    if passes > allowed:
        share = math.floor(len(examples) * allowed / passes)
        raise InputError(
            f"These {len(examples):,} texts are too much for this page with this model; it takes about {share:,} of "
            "such a length: give a part of them, or choose a smaller model."
        )


BATCH = View(
    "batch",
    "Batch inference on a file",
    "Predict for each text of a file, or rank the texts by their similarity to a query.",
    None,
    {"form": question(form_of), "predict": question(predict, slow=True)},
)
