"""A model on GLUE: fine-tuned on each task that a folder has, and scored once on its published set.

Each task and seed is a fine-tuning run of its own, `OUT/TASK/seed-N`. Which of its models is scored is chosen on a
tenth of the training examples, and no choice is made by the published set. A run that was interrupted is resumed from
its last checkpoint, and one that has its `scores.json` is not repeated. `OUT/glue.json` has the results so far.
"""

import hashlib
import shutil
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.config.finetune import SUITE_SETTINGS
from bertviz_lab.data.formats.read import read_splits
from bertviz_lab.data.tasks.glue import GlueFiles, find_glue
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import read_object, write_json
from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder, load_checkpoint
from bertviz_lab.training.finetuning.finetune import finetune
from bertviz_lab.training.finetuning.predict import predict_with
from bertviz_lab.training.finetuning.tasks import task_for
from bertviz_lab.training.runs.events import Event, RunFinished
from bertviz_lab.training.runs.run_folder import read_config, record

#: What decides a run, so that one with something else is not resumed.
_DECISIVE = ("model", "task", "train", "metric", "seed", *SUITE_SETTINGS)


@dataclass(frozen=True)
class GlueRun:
    """A fine-tuning on one task with one seed."""

    files: GlueFiles
    config: FinetuneConfig
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.files.task.title}, seed {self.config.seed}"

    @property
    def scores(self) -> dict[str, Any]:
        """Of each published set its examples, scores and baselines; empty until the run is finished."""
        return read_object(self.folder / "scores.json")

    def events(self, should_stop: Callable[[], bool]) -> Iterator[Event]:
        """Train it, or resume it where it was interrupted, and score it; nothing where that has been done.

        Raises `InputError` where the folder has a run with other settings.
        """
        config, resume = self.config, (self.folder / "config.json").is_file()
        if resume:
            earlier = read_config(self.folder)
            if not isinstance(earlier, FinetuneConfig):
                raise InputError(f"{self.folder} holds a run of another kind; name another folder.")
            config = earlier.resumed_with(**{name: getattr(config, name) for name in _DECISIVE})
        if self.scores:
            return
        last: Event | None = None
        for last in record(finetune(config, self.folder, resume=resume, should_stop=should_stop), self.folder):
            yield last
        if isinstance(last, RunFinished) and last.reason == "finished":
            write_json(self.folder / "scores.json", self._score())
            shutil.rmtree(self.folder / "checkpoints", ignore_errors=True)  # nothing is left to resume

    def _score(self) -> dict[str, Any]:
        """Return the chosen model's scores on each published set, read as the training examples were."""
        task, metrics = self.files.task.task, self.files.task.metrics
        checkpoint, body = load_checkpoint(self.folder / "model"), {}
        for split, files in self.files.published.items():
            train, published = read_splits([self.files.train, files], task)
            predictions, _ = predict_with(checkpoint, published.examples, threads=self.config.threads)
            scores = task_for(task, checkpoint.config.labels).scores(published.examples, predictions)
            trained_on = min(len(train.examples), self.config.max_train_examples or len(train.examples))
            baselines = task_for(task, train.labels).baselines(train.examples, published.examples)
            body[split] = {
                "examples": {"train": trained_on, split: len(published.examples)},
                "scores": {metric: scores[metric] for metric in metrics},
                "baselines": {metric: baselines[metric] for metric in metrics},
            }
        return body


def plan_glue(
    model: str, data: Path, out: Path, seeds: Sequence[int], settings: Mapping[str, Any]
) -> tuple[list[GlueRun], list[str]]:
    """Return the runs that score a model on what a folder has of GLUE, and a sentence for each task that lacks files.

    `settings` are fields of `FinetuneConfig`, of `SUITE_SETTINGS`. Raises `InputError` where the folder has no task, or
    `out` has results of another model.
    """
    tasks, notes = find_glue(data.absolute())
    _claim(out, model)
    runs = []
    for files in tasks:
        for seed in seeds:
            config = glue_config(model, files, seed, settings)
            runs.append(GlueRun(files, config, out / files.task.name / f"seed-{seed}"))
    return runs, notes


def glue_config(model: str, files: GlueFiles, seed: int, settings: Mapping[str, Any]) -> FinetuneConfig:
    """Return the settings of the run on one task; what it is scored on is no part of them."""
    return FinetuneConfig(
        **{"epochs": files.task.epochs} | dict(settings),
        model=model,
        task=files.task.task,
        train=tuple(map(str, files.train)),
        metric=files.task.metrics[0],
        seed=seed,
        snapshot_room=0,
    )


def run_glue(
    runs: Sequence[GlueRun], out: Path, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[tuple[GlueRun, Event]]:
    """Finish the runs one after another, with the events of each; the results so far are kept in `out`."""
    for run in runs:
        if should_stop():
            return
        for event in run.events(should_stop):
            yield run, event
        write_json(out / "glue.json", glue_results(runs))


def glue_results(runs: Sequence[GlueRun]) -> dict[str, Any]:
    """Of each task and published set the scores of the seeds that are finished, their mean and standard deviation.

    `average` is over the tasks, of the mean of each over its sets and metrics, as GLUE's leaderboard has it.
    """
    tasks: dict[str, dict[str, Any]] = {}
    for run in runs:
        for split, result in run.scores.items():
            row = tasks.setdefault(run.files.task.name, {}).setdefault(
                split, result | {"seeds": [], "scores": {metric: [] for metric in result["scores"]}}
            )
            row["seeds"].append(run.config.seed)
            for metric, value in result["scores"].items():
                row["scores"][metric].append(value)
    for row in (row for splits in tasks.values() for row in splits.values()):
        row["mean"] = {metric: statistics.fmean(values) for metric, values in row["scores"].items()}
        if len(row["seeds"]) > 1:
            row["deviation"] = {metric: statistics.stdev(values) for metric, values in row["scores"].items()}
    means = [statistics.fmean(v for row in splits.values() for v in row["mean"].values()) for splits in tasks.values()]
    unfinished = [run.name for run in runs if not run.scores]
    return {"tasks": tasks, "average": statistics.fmean(means) if means else None, "unfinished": unfinished}


def _claim(out: Path, model: str) -> None:
    """Note whose results a folder has. Raises `InputError` where they are another model's, or it cannot be written."""
    digest = hashlib.sha256()
    for path in sorted(checkpoint_folder(model).iterdir()):
        if path.suffix in (".safetensors", ".bin") or path.name in ("config.json", "tokenizer.json", "vocab.txt"):
            digest.update(path.read_bytes())
    claim, file = {"model": model, "sha256": digest.hexdigest()}, out / "model.json"
    if file.is_file() and read_object(file) != claim:
        raise InputError(f"{out} holds the results of another model; name another folder.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_json(file, claim)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}.") from error
