"""Files of visitors, parsed only in confined processes, never in the page's own.

What comes back is bounded: reports, previews, a few thousand texts. Samples that come with the lab are read here.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.limits import Limits
from bertviz_lab.confined import Confinement, Workers
from bertviz_lab.data.corpora.health import examine_files, suited_settings
from bertviz_lab.data.corpora.health_report import HealthReport
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.samples.corpus_texts import corpus_texts
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.ui.state.examples import Examples, examples_from

if TYPE_CHECKING:  # what brings torch, or what the first page does without
    from bertviz_lab.data.examples import Task, TaskData
    from bertviz_lab.data.probes import MinimalPair
    from bertviz_lab.data.tasks.corrected_files import CorrectedFile
    from bertviz_lab.training.finetuning.task_data import Examination

AnswerT = TypeVar("AnswerT")

#: What a waiting process has imported already: all that reading needs, and nothing that brings torch.
PRELOAD = ("bertviz_lab.ui.state.file_reading", "bertviz_lab.training.finetuning.task_data", "pyarrow.parquet")

_REPORT_BYTES, _INPUTS_BYTES = 4 << 20, 64 << 20  # of what comes back


class FileReader:
    """Reads files within the limits of a page; safe to use from many threads."""

    def __init__(self, limits: Limits, workers: Workers) -> None:
        self._workers = workers
        self._limits = Confinement(limits.worker_bytes, limits.worker_seconds, answer_bytes=_REPORT_BYTES)
        self._roomy = replace(self._limits, answer_bytes=_INPUTS_BYTES)
        self._most_labelled = limits.labelled_bytes

    def corpus_report(self, paths: Sequence[str | Path], tokenizer: Tokenizer | None, **options: Any) -> HealthReport:
        """Return the health report of a text. Raises `InputError` for a text that is none, or beyond the limits."""
        return self._read(partial(examine_files, list(paths), tokenizer=tokenizer, **options), paths)

    def suited_settings(self, paths: Sequence[Path]) -> dict[str, str | bool]:
        """Return the settings that suit the writing system of a text. Raises `InputError`, as `corpus_report`."""
        return self._read(partial(suited_settings, list(paths)), paths)

    def corpus_examples(self, corpus: Sequence[str], tokenizer: Tokenizer, documents: str) -> Examples | None:
        """Return sentences of a text to try a model on; as `examples_from`."""
        return self._read(partial(examples_from, tuple(corpus), tokenizer, documents), corpus)

    def corpus_texts(self, path: Path, most: int) -> list[str]:
        """Return the first texts of a file, as `data.samples.corpus_texts` has them. Raises `InputError`."""
        return self._workers.run(partial(_texts_in, path, most), self._roomy)

    def labelled(
        self, config: FinetuneConfig, tokenizer: Tokenizer, positions: int, trained_length: int | None
    ) -> "Examination":
        """Return what labelled files hold, as a model would read them. Raises `InputError`, as `examine_labelled`."""
        from bertviz_lab.training.finetuning.task_data import examine_labelled

        work = partial(examine_labelled, config, tokenizer, positions, trained_length, self._most_labelled)
        return self._read(work, (*config.train, *config.eval))

    def corrected(self, folder: Path, config: FinetuneConfig) -> "list[CorrectedFile]":
        """Return the training files of a run with corrected labels. Raises `InputError`, as `corrected_train_files`."""
        from bertviz_lab.training.finetuning.task_data import corrected_train_files

        work = partial(corrected_train_files, folder, config, self._most_labelled)
        return self._workers.run(work, replace(self._roomy, file_bytes=int(self._most_labelled)))

    def inputs(self, path: Path, task: "Task", max_inputs: int, max_characters: int) -> "TaskData":
        """Return the texts in a file to predict on. Raises `InputError`, as `read_inputs`."""
        from bertviz_lab.data.tasks.unlabeled_inputs import read_inputs

        work = partial(read_inputs, path, task, max_inputs=max_inputs, max_characters=max_characters)
        return self._workers.run(work, self._roomy)

    def minimal_pairs(self, paths: Sequence[Path]) -> "tuple[MinimalPair, ...]":
        """Return the pairs in files of BLiMP's format. Raises `InputError`, as `read_minimal_pairs`."""
        from bertviz_lab.data.probes import read_minimal_pairs

        return self._workers.run(partial(read_minimal_pairs, list(paths), self._most_labelled), self._roomy)

    def unpack_glue(self, archive: Path, folder: Path) -> bool:
        """Unpack a zip into `folder`; return whether it holds GLUE's tasks. Raises `InputError`, as `unpack_glue`."""
        from bertviz_lab.data.tasks.glue import unpack_glue

        work = partial(unpack_glue, archive, folder, self._most_labelled)
        return self._workers.run(work, replace(self._limits, file_bytes=int(self._most_labelled)))

    def _read(self, work: "partial[AnswerT]", paths: Sequence[str | Path]) -> AnswerT:
        if all(str(path).startswith(("sample:", "dataset:")) for path in paths):
            return work()
        subject = ("This file" if len(paths) == 1 else "One of these files", "read")
        return self._workers.run(work, replace(self._limits, subject=subject))


def _texts_in(path: Path, most: int) -> list[str]:
    return corpus_texts(read_documents([path]), most)
