"""What the form of a fine-tuning asks: its fields, what suits a data set, how its files were read, and the start."""

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertviz_lab.config import BertConfig, FinetuneConfig
from bertviz_lab.config.finetune import GRID_SETTINGS, GRIDS
from bertviz_lab.config.finetune import RANDOM as RANDOM_START
from bertviz_lab.config.options import in_page_words
from bertviz_lab.data.formats.raw import NO_TEXT
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES
from bertviz_lab.errors import InputError
from bertviz_lab.figures.payload import Payload, facts_payload
from bertviz_lab.figures.training.data import data_charts, preview_payload
from bertviz_lab.ui import forms
from bertviz_lab.ui.forms import Values
from bertviz_lab.ui.server.run_quota import limits_sentence
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.forecast import refuse_large
from bertviz_lab.ui.state.models import RANDOM
from bertviz_lab.ui.view import Uploads, Word, questions
from bertviz_lab.ui.views.pretrain.view import starts

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.training.finetuning.task_data import Examination

#: What decides how the examples are read and parted.
_READING = "task text_a text_b label delimiter quoting header encoding sheet eval_share max_train_examples seed".split()
#: All that a sample may decide.
_SUITED = sorted({name for sample in TASK_SAMPLES.values() for name in sample.settings})
_COLUMNS = ("text_a", "text_b", "label")
_MOST_CHOICES = 12  # columns offered beside a doubt; the parsing options have all of them
_OWN_FILE = (
    "A table (.csv, .tsv, .xlsx, .jsonl, .parquet) with a column of texts and one of labels, lines of a label and a "
    "text, words with their labels (CoNLL), or questions about passages (SQuAD .json)."
)


def form(state: AppState, visitor: Visitor) -> dict[str, Any]:
    """Return the fields with their defaults, the data sets on offer, and what the page allows."""
    sources, limits = forms.source_choices(TASK_SAMPLES, "My own file"), state.settings.limits
    defaults = suited(sources[0][0]) | {"model": state.models.default() or RANDOM}
    columns: dict[str, list[tuple[str, str]]] = {name: [("", "auto")] for name in _COLUMNS}
    return {
        "sources": sources,
        "own": forms.OWN,
        "upload": f"Training file: a table, CoNLL or SQuAD, up to {forms.upload_size(limits)}",
        "groups": forms.describe(FinetuneConfig, defaults, {"model": state.models.starts(visitor), **columns}),
        "suited": _SUITED,
        "columns": _COLUMNS,
        "reading": [*_READING, "model", "max_length"],
        "grids": {name: GRID_SETTINGS for name in GRIDS},
        "limits": limits_sentence(limits, f"{limits.run_examples:,} examples over all epochs"),
        "training": limits.training,
    }


def advise(state: AppState, source: Word, start: Word) -> dict[str, Any]:
    """Return a line about the data set, the settings that suit it, and the model to start from."""
    about = TASK_SAMPLES[source].description if source in TASK_SAMPLES else _OWN_FILE
    return {"about": about, "values": suited(source), "start": start_for(state, source, start)}


def check(state: AppState, source: Word, files: Uploads, scored: Uploads, values: Values) -> dict[str, Any]:
    """Return the first rows with the columns that were inferred, the data set in numbers and charts, and its columns.

    Where chosen columns cannot be used, `error` says so above the rows, whose names take the choice back.
    """
    data_set = forms.chosen_source("labeled", TASK_SAMPLES, source, files, scored)
    try:
        examined = _examined(state, config_from(state, data_set, values), values)
    except InputError as error:
        rows = _rows_to_choose_from(state, data_set, values)
        if rows is None:
            raise
        return {"preview": rows, "facts": facts_payload([], note=str(error), tone="error")}
    state.expect_run()
    info, report = examined.file, examined.report
    columns = [["", "auto"], *([column, column] for column in info.columns)]
    return {
        "preview": preview_payload(info, examined.first),
        "confirm": confirmations(examined),
        "facts": _numbers(report),
        "charts": data_charts(report),
        "columns": {name: [*columns, *([["none", "none"]] if name == "text_b" else [])] for name in _COLUMNS},
    }


def start(
    state: AppState, visitor: Visitor, source: Word, files: Uploads, scored: Uploads, values: Values, key: Word = ""
) -> str:
    """Start the run of the form and return its id; the same `key` starts one run (`RunQuota.start`)."""
    data_set = forms.chosen_source("labeled", TASK_SAMPLES, source, files, scored)
    config = config_from(state, data_set, values)
    state.quota.check(visitor, config, key=key)
    examined = _examined(state, config, values)  # refused here, not by a run that fails
    if questions := confirmations(examined):
        raise InputError(f"Confirm how the file is read before you train on it: {questions[0]['sentence']}")
    report = examined.report
    from bertviz_lab.training.finetuning.setup import trials_of  # imports torch, which the first page does without

    if config.model == RANDOM_START:
        refuse_large(BertConfig.preset(config.preset, vocab_size=config.vocab_size), state.settings.limits)
    state.quota.check_examples(sum(trial.epochs for trial in trials_of(config, 1.0)) * report.train_count)
    return state.quota.start(visitor, config, data_set.files, data_set.scored, key)


def confirmations(examined: "Examination") -> list[dict[str, Any]]:
    """Return what is not sure about a file: each option in doubt, why, and its values, the one that was read first."""
    info, questions = examined.file, dict[str, dict[str, Any]]()
    for doubt in examined.doubts:
        option = doubt.options[0]
        if option == "task":
            read, values = str(examined.report.task), _TASKS
        else:
            read = getattr(info, option) or NO_TEXT
            values = {column: column for column in (*info.columns[:_MOST_CHOICES], *[NO_TEXT] * (option == "text_b"))}
        choices = [[read, f"Yes: {values.get(read, read)}"], *([v, words] for v, words in values.items() if v != read)]
        sentence = in_page_words(FinetuneConfig, doubt.sentence)
        earlier = questions.get(option)
        sentence = f"{earlier['sentence']} {sentence}" if earlier else sentence
        questions[option] = {"option": option, "sentence": sentence, "choices": choices}
    return list(questions.values())


def suited(source: str) -> dict[str, Any]:
    """Return the settings that suit a source: the defaults, and a sample's own."""
    defaults = {name: getattr(FinetuneConfig, name) for name in _SUITED}
    return defaults | dict(TASK_SAMPLES[source].settings if source in TASK_SAMPLES else {})


def start_for(state: AppState, source: str, start: str) -> str:
    """Return the model to start from: the sample's own in place of the default, and back again."""
    default = state.models.default() or RANDOM
    wanted = TASK_SAMPLES[source].start if source in TASK_SAMPLES else ""
    if start == default and wanted in state.models.shipped():
        return wanted
    return default if start in {sample.start for sample in TASK_SAMPLES.values()} - {wanted} else start


@forms.words_of_page(FinetuneConfig)
def config_from(state: AppState, source: forms.Source, values: Mapping[str, Any]) -> FinetuneConfig:
    """Return the form as settings of a run. Raises `InputError`, in the words of the page."""
    options = forms.read(FinetuneConfig, values)
    if options.get("grid") in GRIDS:
        options = {name: value for name, value in options.items() if name not in GRID_SETTINGS}
    start = options.pop("model", "") or RANDOM
    return FinetuneConfig(
        train=source.samples or tuple(map(str, source.files)),
        eval=tuple(map(str, source.scored)),
        model=RANDOM_START if start == RANDOM else str(state.models.start_folder(start)),
        threads=state.settings.threads,
        **options,
    )


@forms.words_of_page(FinetuneConfig)
def _examined(state: AppState, config: FinetuneConfig, values: Values) -> "Examination":
    """Return what the examples are like as the chosen model reads them. Raises `InputError`, as `config_from`."""
    model = str(values.get("model") or RANDOM)
    # A vocabulary that is still to be learned cannot measure: the default model does.
    return state.labelled(config, "" if model == RANDOM else model)


def _rows_to_choose_from(state: AppState, data_set: forms.Source, values: Values) -> Payload | None:
    """Return the first rows under columns that cannot be used; None where the inferred ones cannot either."""
    chosen = {name: str(values[name]) for name in _COLUMNS if values.get(name)}
    if not chosen:
        return None
    try:
        values = values | dict.fromkeys(_COLUMNS, "")
        examined = _examined(state, config_from(state, data_set, values), values)
    except InputError:  # reported already
        return None
    inferred = {name: getattr(examined.file, name) for name in _COLUMNS}
    roles: dict[str, Any] = {
        name: "" if column in chosen.values() else column for name, column in inferred.items()
    } | chosen
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
    faults = {
        "Duplicates": report.duplicates,
        "Contradictory labels": report.contradictions,
        "Leaked into training": report.overlap,
        "Rows dropped": sum(dropped.count for dropped in report.dropped),
    }
    items += [(what, f"{count:,}") for what, count in faults.items() if count]
    # The table above has the first examples, and how they were read.
    notes = (re.sub("^Read as .*?: ", "", note) for note in report.notes if not note.startswith("Example: "))
    return facts_payload(items, note="\n".join(in_page_words(FinetuneConfig, note) for note in notes))


QUESTIONS = questions(form, starts, advise, slow=[check, start])
