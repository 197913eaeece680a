"""Try it, folded away: a file of texts in, a table of predictions out, or the texts by their similarity to a query."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import notice_payload
from bertviz_lab.ui.components.parts import notice
from bertviz_lab.ui.event_options import QUIET, TYPING
from bertviz_lab.ui.forms.training_view import upload_size
from bertviz_lab.ui.server.downloads import download_folder
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.uploads import uploaded_paths
from bertviz_lab.ui.server.validation import MOST_CHARACTERS, checked
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.examples import Example, Task
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
    from bertviz_lab.training.finetuning.predictions.prediction import Prediction

_QUESTIONS = 20  # that a file of texts may cost as much as
_CHARACTERS_PER_TOKEN = 3
_SHOWN = 80  # characters of a text in a sentence
_AT_ONCE = 200  # texts between two words on how many are done
_FILE_TYPES = [".txt", ".csv", ".tsv", ".jsonl", ".json", ".parquet", ".conll", ".conllu"]
_NO_TABLE = gr.update(visible=False)

_Answer = tuple[Path | None, str]  # a table, none while it is being made, and a sentence


def create_whole_file(session: AppState) -> None:
    """Draw the part and join it."""
    with gr.Accordion("Batch inference on a file", open=False, elem_id="try-file-part"):
        query = gr.Textbox(
            label="Query (optional)",
            info="Without one you get a prediction for each text; with one the texts ranked by the cosine of their "
            "sentence embeddings and the query's: semantic search.",
            max_lines=1,
            elem_id="try-file-query",
        )
        files = gr.File(
            label=f"One text per line, or a table, up to {upload_size(session.settings.limits)}",
            file_types=_FILE_TYPES,
            height=120,
            elem_id="try-file",
        )
        message = notice(elem_id="try-file-message")
        table = gr.DownloadButton("Download the predictions", visible=False, elem_id="try-file-table")
    predicting = gr.on(
        [files.upload, query.submit],
        partial(predict_file, session),
        [message, files, query],  # in place of the message goes the model of Explore
        [table, message],
        js="(_, files, query) => [window.Lab.page.input.model, files, query]",
        **TYPING | {"concurrency_limit": 1},
    )
    files.clear(lambda: (_NO_TABLE, ""), None, [table, message], cancels=[predicting], **QUIET)


def predict_file(session: AppState, model: str, file: str, query: str = "") -> Iterator[tuple[Any, str]]:
    """How many texts are done so far; then the table of predictions, or of the texts by their similarity to a query,
    and a sentence.
    """
    try:
        if not file:
            raise InputError("Upload a file of texts first.")
        answer = search_file if checked(query).strip() else _predict
        yield _NO_TABLE, notice_payload("Reading the texts …", "info")
        for table, sentence in answer(session, model, file, query.strip()):
            if table is None:
                yield _NO_TABLE, notice_payload(sentence, "info")
            else:
                yield gr.update(value=str(table), visible=True), notice_payload(sentence, "good")
    except Exception as error:
        yield _NO_TABLE, notice_payload(sentence_of(error, shared=session.settings.shared))


def search_file(session: AppState, model: str, file: str, query: str) -> Iterator[_Answer]:
    """The texts of a file by the cosine of their embeddings and that of a query, and a sentence on the nearest."""
    from bertviz_lab.data.examples import LabelledText
    from bertviz_lab.interpret import semantic_search
    from bertviz_lab.training.finetuning.predict import write_csv

    (path,) = uploaded_paths(file)
    checkpoint, examples, dropped = _inputs(session, model, path, "classification")
    texts = [f"{e.text_a} {e.text_b or ''}".strip() for e in examples if isinstance(e, LabelledText)]
    # The file may take as much as twenty questions, which has been checked.
    limits = replace(checkpoint.limits, operations=checkpoint.limits.operations * _QUESTIONS)
    roomy, hits = replace(checkpoint, limits=limits), []
    for start in range(0, len(texts), _AT_ONCE):
        yield None, f"Embedding: {start:,} of {len(texts):,} texts."
        part = texts[start : start + _AT_ONCE]
        hits += [replace(hit, index=start + hit.index) for hit in semantic_search(roomy, query, part, len(part))]
    hits.sort(key=lambda hit: -hit.cosine)
    table = download_folder() / f"{path.stem}-search.csv"
    rows = [[place, examples[hit.index].row, round(hit.cosine, 4), hit.text] for place, hit in enumerate(hits, 1)]
    with table.open("w", encoding="utf-8", newline="") as stream:
        write_csv([["rank", "row", "cosine", "text"], *rows], stream)
    nearest = "; ".join(f"“{hit.text[:_SHOWN]}” ({hit.cosine:.2f})" for hit in hits[:3])
    yield table, " ".join([f"{len(texts):,} texts ranked by {checkpoint.name}. Nearest: {nearest}.", *dropped])


def _predict(session: AppState, model: str, file: str, query: str) -> Iterator[_Answer]:
    """The table of predictions, and a sentence."""
    from bertviz_lab.training.finetuning.predict import (
        predict_with,
        prediction_table,
        task_of,
        truncation_warning,
        write_csv,
    )

    name = model.strip() or session.models.default()
    (path,) = uploaded_paths(file)
    try:
        task = task_of(session.models.open(name))
    except InputError as error:
        raise InputError(f"{error} Choose a model that was, or type a query.") from error
    if task == "embeddings":
        raise InputError(f"{name} gives vectors: type a query that the texts are to be compared with.")
    checkpoint, examples, dropped = _inputs(session, name, path, task)
    predictions: list[Prediction] = []
    for start in range(0, len(examples), _AT_ONCE):
        yield None, f"Predicting: {start:,} of {len(examples):,} texts."
        predictions += predict_with(checkpoint, examples[start : start + _AT_ONCE], threads=session.settings.threads)[0]
    table = download_folder() / f"{path.stem}-predicted.csv"
    with table.open("w", encoding="utf-8", newline="") as stream:
        write_csv(prediction_table(checkpoint, examples, predictions), stream)
    sentences = [f"{len(examples):,} predictions by {checkpoint.name}.", truncation_warning(checkpoint, examples)]
    yield table, " ".join([*sentences, *dropped])


def _inputs(
    session: AppState, model: str, path: Path, task: "Task"
) -> "tuple[Checkpoint, tuple[Example, ...], list[str]]":
    """The model, the texts of a file that it may be asked about, and sentences on the rows that were dropped."""
    from bertviz_lab.data.tasks.unlabelled_inputs import MAX_INPUTS

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
