"""What the page keeps between two clicks: open models, runs, and computations that pictures ask more about."""

import contextlib
import hashlib
import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.config import FinetuneConfig, PretrainConfig, RunConfig
from bertviz_lab.confined import Workers
from bertviz_lab.data.corpora.health_report import HealthReport
from bertviz_lab.errors import InputError
from bertviz_lab.jobs import Runs, WorkerProcesses
from bertviz_lab.training.runs.run_folder import SHIPPED_LOG, read_log
from bertviz_lab.training.runs.summary import RunSummary
from bertviz_lab.ui.operations.monitoring import Monitor
from bertviz_lab.ui.server.run_quota import RunQuota
from bertviz_lab.ui.server.scheduler import VisitorScheduler
from bertviz_lab.ui.server.uploads import UploadStore
from bertviz_lab.ui.server.visitors import NOBODY, Visitor
from bertviz_lab.ui.settings import Settings
from bertviz_lab.ui.state.corpora import Corpora
from bertviz_lab.ui.state.examples import Examples, examples_for, task_examples
from bertviz_lab.ui.state.file_reading import PRELOAD, FileReader
from bertviz_lab.ui.state.forecast import Forecaster
from bertviz_lab.ui.state.lru_cache import LruCache
from bertviz_lab.ui.state.models import Models
from bertviz_lab.ui.state.published_pages import PublishedPages
from bertviz_lab.ui.state.snapshots import SnapshotStore
from bertviz_lab.ui.workshop.room import Room

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import AttentionScores
    from bertviz_lab.training.finetuning.task_data import Examination

_KEPT_BYTES = 400_000_000  # of attention weights and what they come from
_KEPT_ANSWERS = 48

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class CachedTrace:
    """Attention that a picture asks more about."""

    values: NDArray[np.float32]  # (layers, heads, tokens, tokens): what is painted
    scores: "AttentionScores | None" = None  # what weights come from; a difference has none
    note: str = ""  # about the scores of this model
    is_signed: bool = False  # whether the values are from -1 to 1, not from 0 to 1

    @property
    def bytes(self) -> int:
        return self.values.nbytes + (self.scores.nbytes if self.scores is not None else 0)


class AppState:
    """Everything that the tabs share. One for all visitors: nothing in it belongs to one of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.monitor = Monitor()
        self.runs = Runs(
            settings.runs_dir,
            most_running=settings.max_runs,
            processes=WorkerProcesses(
                cached=not settings.shared,
                memory_bytes=settings.limits.run_bytes,
                most_seconds=1.25 * settings.limits.run_seconds,  # a text is read before the first step
            ),
        )
        self.runs.start_queue()
        self.scheduler = VisitorScheduler(settings.limits)
        self.workers = Workers(PRELOAD, self.scheduler.file_worker)
        self.uploads = UploadStore(settings.limits)
        self.files = FileReader(settings.limits, self.workers)
        self.models = Models(settings, self.runs, self.workers)
        self.pages = PublishedPages(self.models)
        self.room = Room(settings.limits.visitors) if settings.workshop else None
        self.forecaster = Forecaster(settings.limits)
        self.quota = RunQuota(self.models, settings.limits)
        self.snapshots = SnapshotStore(self.models)
        self.corpora = Corpora(self.models, self.files)
        self._traces = LruCache(_KEPT_BYTES, weigh=lambda trace: trace.bytes)
        self._answers = LruCache(_KEPT_ANSWERS)
        self._summaries: dict[str, tuple[RunSummary, int]] = {}  # with the place in the log that it was read up to

    def warm_up(self) -> None:
        """Import torch and what analyses models, and open the default one: the first visitor need not wait for it."""
        self.workers.warm_up()
        with contextlib.suppress(InputError):  # no model yet: the page says so
            self.models.open()
        importlib.import_module("bertviz_lab.interpret")

    def expect_run(self) -> None:
        """Start the process of the next run, where runs may be started: a visitor reads what one would be made of."""
        if self.settings.limits.training:
            self.runs.warm_up()

    # ---- attention that was computed, for further layers, and queries and keys

    def keep_trace(self, model: str, texts: Sequence[str], trace: CachedTrace) -> str:
        """Remember a computation for a while; return the key to ask for it, the same for the same question."""
        body = json.dumps([self.models.version(model), trace.values.shape, *texts])
        key = hashlib.sha256(body.encode()).hexdigest()[:32]
        self._traces.put(key, trace)
        return key

    def trace(self, key: str) -> CachedTrace | None:
        return cast(CachedTrace | None, self._traces.peek(key))

    def remembered(self, question: tuple[Any, ...], make: Callable[[], ResultT]) -> ResultT:
        """Return an answer that takes long, made once while it is among the last few questions."""
        return self._answers.get(question, make)

    # ---- texts

    def examine(self, paths: Sequence[str | Path], *, model: str = "", **options: Any) -> HealthReport:
        """Return a health report, with `model` as its vocabulary splits the text. Raises `InputError`."""
        version, tokenizer = "", None
        if model:
            version, tokenizer = self.models.version(model), self.models.open(model).tokenizer
        key = ("health", *map(str, paths), version, *sorted(options.items()))
        return self.remembered(key, lambda: self.files.corpus_report(paths, tokenizer, **options))

    def labelled(self, config: FinetuneConfig, model: str) -> "Examination":
        """Return what the files of a fine-tuning hold, as a model reads them. Raises `InputError`."""
        checkpoint = self.models.open(model)
        positions, trained = checkpoint.config.max_position_embeddings, checkpoint.trained_length
        names = ("task", "train", "eval", "eval_share", "max_train_examples", "seed", "max_length", *config.reading)
        key = ("labelled", self.models.version(model), *(getattr(config, name) for name in names))
        return self.remembered(key, lambda: self.files.labelled(config, checkpoint.tokenizer, positions, trained))

    def examples(self, model: str, visitor: Visitor = NOBODY) -> Examples:
        """Return sentences to try on a model: from its own training text where that is here and the visitor's."""
        name = model.strip() or self.models.default()
        own = self.models.owns(visitor, name)

        def make() -> Examples:
            tokenizer = self.models.open(name).tokenizer
            config = self.runs.config(name) if own else None
            examples = None
            if isinstance(config, PretrainConfig):
                examples = self.files.corpus_examples(config.corpus, tokenizer, config.documents)
            return (examples or examples_for(tokenizer)).with_mask(tokenizer.special.mask)

        return self.remembered(("examples", name, own), make)

    def task_examples(self, model: str, visitor: Visitor = NOBODY) -> list[tuple[str, str]]:
        """Return texts, or pairs, to try a fine-tuned model on: held out by its run, or of a sample of its task."""
        name = model.strip() or self.models.default()
        folder = self.runs.folder(name) if self.models.owns(visitor, name) else None
        key = ("task examples", self.models.version(name), folder)
        return self.remembered(key, lambda: task_examples(self.models.open(name), folder))

    # ---- runs

    def log_of(self, name: str) -> list[dict[str, Any]]:
        """Return all events of a run, or of a shipped model. Raises `InputError` for an unknown run."""
        if name in self.models.shipped():
            return read_log(self.settings.checkpoints / name, name=SHIPPED_LOG)[0]
        return self.runs.events(name)[0]

    def summary(self, name: str) -> RunSummary:
        """Return the results of a run, or of a shipped model, in one line. Raises `InputError` for an unknown run."""
        known, start = self._summaries.get(name, (RunSummary(), 0))
        if name not in self.models.shipped():
            rows, end = self.runs.events(name, start)
        else:
            rows, end = [] if start else self.log_of(name), 1  # it is complete
        self._summaries[name] = (known.after(rows), end)
        return self._summaries[name][0]

    def is_kind(self, run_id: str | None, kind: type[RunConfig]) -> bool:
        """Return whether a name is that of a run of a kind, pretraining or fine-tuning."""
        try:
            return isinstance(self.runs.config(run_id or ""), kind)
        except InputError:
            return False
