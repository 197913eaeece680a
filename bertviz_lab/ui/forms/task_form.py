"""The labelled examples that a person fine-tunes on: a sample, or files of their own, and how these are to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import GRID_SETTINGS, GRIDS
from bertviz_lab.config.finetune import RANDOM as RANDOM_START
from bertviz_lab.config.options import in_page_words
from bertviz_lab.data.samples.task_samples import TASK_SAMPLES
from bertviz_lab.errors import InputError
from bertviz_lab.ui.forms import fields
from bertviz_lab.ui.forms.texts import OWN
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.state.models import RANDOM
from bertviz_lab.ui.state.uploads import UploadedFile

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.training.finetuning.task_data import Examination

#: What decides how the examples are read and parted.
READING = ("task text_a text_b label delimiter quoting header encoding eval_share max_train_examples seed").split()
#: All that a sample may decide.
SUITED = tuple(sorted({name for sample in TASK_SAMPLES.values() for name in sample.settings}))


@dataclass(frozen=True)
class LabelledSource:
    """A sample by its name, or files: to train on, and to score on."""

    title: str
    names: tuple[str, ...]
    files: tuple[Path, ...]
    scored: tuple[Path, ...]


def choices() -> list[tuple[str, str]]:
    """(label, value) of the examples on offer."""
    return [(sample.title, name) for name, sample in TASK_SAMPLES.items()] + [("My own file", OWN)]


def about(source: str) -> str:
    """Describe a sample in a sentence or two."""
    if source in TASK_SAMPLES:
        return TASK_SAMPLES[source].description
    return (
        "A table (.csv, .tsv, .jsonl, .parquet) with a column of texts and one of labels, lines of a label and a text, "
        "words with their labels (CoNLL), or questions about passages (SQuAD .json)."
    )


def suited(source: str) -> dict[str, Any]:
    """Return the settings that suit a source: the defaults, and a sample's own."""
    defaults = {name: getattr(FinetuneConfig, name) for name in SUITED}
    return defaults | dict(TASK_SAMPLES[source].settings if source in TASK_SAMPLES else {})


def start_for(session: AppState, source: str, start: str) -> str:
    """Return the model to start from: the sample's own in place of the default, and back again."""
    default = session.models.default() or RANDOM
    wanted = TASK_SAMPLES[source].start if source in TASK_SAMPLES else ""
    if start == default and wanted in session.models.shipped():
        return wanted
    return default if start in {sample.start for sample in TASK_SAMPLES.values()} - {wanted} else start


def chosen(source: str, files: Sequence[UploadedFile], scored: Sequence[UploadedFile]) -> LabelledSource:
    """Return the examples that the form names. Raises `InputError` while there are none."""
    if source in TASK_SAMPLES:
        return LabelledSource(TASK_SAMPLES[source].title, (f"sample:{source}",), (), ())
    train, held = tuple(file.path for file in files), tuple(file.path for file in scored)
    if not train:
        raise InputError("Drop a labeled file into the box, or choose one of the samples.")
    more = f" and {len(train) - 1} more" if len(train) > 1 else ""
    return LabelledSource(f"{train[0].name}{more}", (), train, held)


def config_from(session: AppState, source: LabelledSource, values: Mapping[str, Any]) -> FinetuneConfig:
    """Return the form as settings of a run. Raises `InputError`, in the words of the page."""
    try:
        options = fields.read(FinetuneConfig, values)
        if options.get("grid") in GRIDS:
            options = {name: value for name, value in options.items() if name not in GRID_SETTINGS}
        start = options.pop("model", "") or RANDOM
        folder = RANDOM_START if start == RANDOM else str(session.models.start_folder(start))
        return FinetuneConfig(
            train=source.names or tuple(map(str, source.files)),
            eval=tuple(map(str, source.scored)),
            model=folder,
            threads=session.settings.threads,
            **options,
        )
    except InputError as error:
        raise InputError(in_page_words(FinetuneConfig, str(error))) from error


def examine(session: AppState, config: FinetuneConfig, start: str) -> "Examination":
    """Return what the examples are like as the chosen model reads them.

    Raises `InputError`, in the words of the page.
    """
    try:
        # A vocabulary that is still to be learned cannot measure: the default model does.
        return session.labelled(config, "" if start == RANDOM else start)
    except InputError as error:
        raise InputError(in_page_words(FinetuneConfig, str(error))) from error
