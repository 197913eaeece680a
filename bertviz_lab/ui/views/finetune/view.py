"""What the form of a fine-tuning asks: its fields, what suits a data set, how its files were read, and the start."""

import dataclasses
from typing import Any

from bertviz_lab.config import BertConfig, FinetuneConfig
from bertviz_lab.config.finetune import GRID_SETTINGS, GRIDS
from bertviz_lab.config.finetune import RANDOM as RANDOM_START
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.figures.training.data import data_charts, preview_payload
from bertviz_lab.ui.forms import fields, task_form
from bertviz_lab.ui.forms.fields import Values
from bertviz_lab.ui.forms.texts import OWN
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.server.run_quota import limits_sentence
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.forecast import refuse_large
from bertviz_lab.ui.state.models import RANDOM
from bertviz_lab.ui.view import Uploads, View, Word, question
from bertviz_lab.ui.views.pretrain.view import starts

_COLUMNS = ("text_a", "text_b", "label")


def form_of(state: AppState, visitor: Visitor) -> dict[str, Any]:
    """Return the fields with their defaults, the data sets on offer, and what the page allows."""
    choices, limits = task_form.choices(), state.settings.limits
    models = state.models.starts(visitor)
    defaults = task_form.suited(choices[0][1]) | {"model": state.models.default() or RANDOM}
    columns: dict[str, list[tuple[str, str]]] = {name: [("auto", "")] for name in _COLUMNS}
    return {
        "sources": [[value, label] for label, value in choices],
        "own": OWN,
        "upload": f"Training file: a table, CoNLL or SQuAD, up to {fields.upload_size(limits)}",
        "groups": fields.describe(FinetuneConfig, defaults, {"model": models, **columns}),
        "suited": task_form.SUITED,
        "columns": _COLUMNS,
        "reading": [*task_form.READING, "model", "max_length"],
        "grids": {name: GRID_SETTINGS for name in GRIDS},
        "limits": limits_sentence(limits, f"{limits.run_examples:,} examples over all epochs"),
        "training": limits.training,
    }


def advise(state: AppState, source: Word, start: Word) -> dict[str, Any]:
    """Return a line about the data set, the settings that suit it, and the model to start from."""
    return {
        "about": task_form.about(source),
        "values": task_form.suited(source),
        "start": task_form.start_for(state, source, start),
    }


def check(state: AppState, source: Word, files: Uploads, scored: Uploads, values: Values) -> dict[str, Any]:
    """Return the first rows with the columns that were inferred, the data set in numbers and charts, and its columns.

    Where chosen columns cannot be used, `error` says so above the rows, whose names take the choice back.
    """
    data_set = task_form.chosen(source, files, scored)
    try:
        examined = _examined(state, data_set, values)
    except InputError as error:
        rows = _rows_to_choose_from(state, data_set, values)
        if rows is None:
            raise
        return {"preview": rows, "facts": facts_payload([], note=str(error), tone="error")}
    info, report = examined.file, examined.report
    columns = [["", "auto"], *([column, column] for column in info.columns)]
    return {
        "preview": preview_payload(info, examined.first),
        "facts": _numbers(report),
        "charts": data_charts(report),
        "columns": {name: [*columns, *([["none", "none"]] if name == "text_b" else [])] for name in _COLUMNS},
    }


def start(
    state: AppState, visitor: Visitor, source: Word, files: Uploads, scored: Uploads, values: Values, key: Word = ""
) -> str:
    """Start the run that the form describes and return its id; the same `key` starts one run (`RunQuota.start`).

    Raises `InputError` for a form that cannot be used.
    """
    data_set = task_form.chosen(source, files, scored)
    config = task_form.config_from(state, data_set, values)
    state.quota.check(visitor, config, key=key)
    # Refused here, not by a run that fails.
    report = task_form.examine(state, config, str(values.get("model") or RANDOM)).report
    from bertviz_lab.training.finetuning.trials import trials_of  # imports torch, which the first page does without

    if config.model == RANDOM_START:
        refuse_large(BertConfig.preset(config.preset, vocab_size=config.vocab_size), state.settings.limits)
    state.quota.check_examples(sum(trial.epochs for trial in trials_of(config, 1.0)) * report.train_count)
    run_id = state.quota.start(visitor, config, data_set.files, data_set.scored, key)
    log_event("run started", run=run_id)
    return run_id


def _examined(state: AppState, data_set: task_form.LabelledSource, values: Values) -> Any:
    config = task_form.config_from(state, data_set, values)
    return task_form.examine(state, config, str(values.get("model") or RANDOM))


def _rows_to_choose_from(state: AppState, data_set: task_form.LabelledSource, values: Values) -> Payload | None:
    """Return the first rows under columns that cannot be used; None where the inferred ones cannot either."""
    chosen = {name: str(values[name]) for name in _COLUMNS if values.get(name)}
    if not chosen:
        return None
    try:
        examined = _examined(state, data_set, values | dict.fromkeys(_COLUMNS, ""))
    except InputError:  # reported already
        return None
    inferred = {name: getattr(examined.file, name) for name in _COLUMNS}
    roles = {name: "" if column in chosen.values() else column for name, column in inferred.items()} | chosen
    return preview_payload(dataclasses.replace(examined.file, **roles), examined.first)


_TASKS = {
    "classification": "Sequence classification: a label per text",
    "multilabel": "Multi-label classification: any number of labels per text",
    "regression": "Regression: a number per text",
    "tokens": "Token classification (NER): a label per word",
    "qa": "Extractive question answering",
    "embeddings": "Sentence embeddings: a vector per text",
}


def _numbers(report: Any) -> str:
    """Data set statistics, and what should be known about them."""
    items = [
        ("Task", _TASKS[report.task]),
        ("Training examples", f"{report.train_count:,}"),
        ("Held-out examples", f"{report.held_count:,}"),
    ]
    if report.task in ("classification", "multilabel", "tokens"):
        items.append(("Labels", f"{len(report.classes):,}"))
    items.append(("Tokens, median", f"{report.lengths.median:.0f}"))
    if report.lengths.cut:
        items.append(("Truncated or split", f"{report.lengths.cut:,}"))
    for what, count in (
        ("Duplicates", report.duplicates),
        ("Contradictory labels", report.contradictions),
        ("Leaked into training", report.overlap),
        ("Rows dropped", sum(dropped.count for dropped in report.dropped)),
    ):
        if count:
            items.append((what, f"{count:,}"))
    return facts_payload(items, note=" ".join(report.notes))


FINETUNE = View(
    "finetune",
    "Fine-tune",
    "Train a pretrained encoder on labeled examples of a task.",
    "train",
    {
        "form": question(form_of),
        "starts": question(starts),
        "advise": question(advise),
        "check": question(check, slow=True),
        "start": question(start, slow=True),
    },
)
