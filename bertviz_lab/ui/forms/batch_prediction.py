"""Try it, folded away: a file of texts in, a table of predictions out."""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from bertviz_lab.errors import InputError
from bertviz_lab.ui.components.notice import notice, notice_payload
from bertviz_lab.ui.event_options import QUIET
from bertviz_lab.ui.forms.training_view import upload_size
from bertviz_lab.ui.server.downloads import download_folder
from bertviz_lab.ui.server.error_handling import sentence_of
from bertviz_lab.ui.server.uploads import uploaded_paths
from bertviz_lab.ui.server.validation import MOST_CHARACTERS
from bertviz_lab.ui.state.app_state import AppState

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.tasks.examples import Example
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

_QUESTIONS = 20  # that a file of texts may cost as much as
_CHARACTERS_PER_TOKEN = 3
_FILE_TYPES = [".txt", ".csv", ".tsv", ".jsonl", ".json", ".parquet", ".conll", ".conllu"]


def create_whole_file(session: AppState) -> None:
    """Draw the part and join it."""
    with gr.Accordion("Batch inference on a file", open=False, elem_id="try-file-part"):
        gr.HTML(
            "<p>Upload a file with one text per line, or a table; you get back a table with the prediction for each."
            "</p>"
        )
        files = gr.File(
            label=f"Your texts, up to {upload_size(session.settings.limits)}",
            file_types=_FILE_TYPES,
            height=120,
            elem_id="try-file",
        )
        message = notice(elem_id="try-file-message")
        table = gr.DownloadButton("Download the predictions", visible=False, elem_id="try-file-table")
    files.upload(
        partial(predict_file, session),
        [message, files],  # in place of the message goes the model of Explore
        [table, message],
        js="(_, files) => [window.Lab.page.input.model, files]",
        **QUIET | {"concurrency_limit": 1},
    )
    files.clear(lambda: (gr.update(visible=False), ""), None, [table, message], **QUIET)


def predict_file(session: AppState, model: str, file: str) -> tuple[Any, str]:
    """The table of predictions for the download button, and a sentence."""
    from bertviz_lab.data.tasks.unlabelled_inputs import MAX_INPUTS
    from bertviz_lab.training.finetuning.predict import (
        predict_with,
        prediction_table,
        task_of,
        truncation_warning,
        write_csv,
    )

    try:
        name = session.models.tuned(model)
        if not name:
            raise InputError("Choose a model that was fine-tuned first.")
        (path,) = uploaded_paths(file)
        checkpoint = session.models.open(name)
        max_inputs = min(session.settings.limits.predicted_texts, MAX_INPUTS)
        read = session.files.inputs(path, task_of(checkpoint), max_inputs, MOST_CHARACTERS)
        examples = read.examples
        _check_cost(checkpoint, examples)
        predictions, _ = predict_with(checkpoint, examples, threads=session.settings.threads)
        table = download_folder() / f"{path.stem}-predicted.csv"
        with table.open("w", encoding="utf-8", newline="") as stream:
            write_csv(prediction_table(checkpoint, examples, predictions), stream)
    except Exception as error:
        return gr.update(visible=False), notice_payload(sentence_of(error, shared=session.settings.shared))
    sentences = [f"{len(examples):,} predictions by {checkpoint.name}."]
    sentences += [truncation_warning(checkpoint, examples)]
    sentences += [f"{d.count:,} dropped: {d.reason} ({', '.join(d.where[:3])})." for d in read.dropped]
    return gr.update(value=str(table), visible=True), notice_payload(" ".join(sentences), "good")


def _check_cost(checkpoint: "Checkpoint", examples: "Sequence[Example]") -> None:
    """Raises `InputError` for more texts, by their length, than twenty questions may take together."""
    from bertviz_lab.data.tasks.examples import texts_of_example
    from bertviz_lab.interpret.cost import forward_operations

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
