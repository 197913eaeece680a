"""Fine-tuning from labeled files to a model and its scores: read, train one trial after another, keep the best."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.loaders import write_rows
from bertviz_lab.errors import InputError
from bertviz_lab.strict_json import nan_for_null
from bertviz_lab.training.checkpoints.atomic_io import atomic_file, write_json
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, parameter_count
from bertviz_lab.training.checkpoints.model_card import source_name
from bertviz_lab.training.finetuning.card import with_test_scores
from bertviz_lab.training.finetuning.predict import predict_with
from bertviz_lab.training.finetuning.setup import (
    Setup,
    progress_of,
    seed_statistics,
    settings_of,
    shifted,
    trials_of,
)
from bertviz_lab.training.finetuning.task_data import prepare_task_splits
from bertviz_lab.training.finetuning.trial import TrialRun
from bertviz_lab.training.loop.early_stopping import is_better
from bertviz_lab.training.loop.optim import default_learning_rate
from bertviz_lab.training.loop.sharding import is_sharded
from bertviz_lab.training.loop.training_run import TrainingRun
from bertviz_lab.training.runs.events import (
    Event,
    FinalTestDone,
    Preparing,
    RunFinished,
    RunStarted,
    TrialDone,
    TrialStarted,
)


def finetune(
    config: FinetuneConfig,
    folder: str | Path,
    *,
    texts: Sequence[str] | Sequence[tuple[str, str]] | None = None,
    labels: Sequence[Any] | None = None,
    resume: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
    require_sure: bool = False,
    notify: str = "",
) -> Iterator[Event]:
    """Run a fine-tuning in `folder`, or resume it with `resume`; the best of its trials becomes the run's model.

    The end is reported to the webhook `notify`, an address of ntfy, Slack or Discord or one that takes JSON; it is kept
    in no file of the run, since anyone who knows it can post there.

    The examples are those of `config.train`, or `texts` (or pairs of texts) with their `labels`, which the folder then
    keeps as a file.
    Under `accelerate launch` or `torchrun` every process calls this; all see the same events, one writes.
    Raises `InputError` when the data, the model, the settings or the folder cannot be used, before anything is trained:
    files that do not belong to a run are not overwritten. With `require_sure` a reading of the examples that a person
    should confirm is such an error.
    """
    run = _Finetuning(config, folder, resume, should_stop)
    run.texts, run.labels, run.require_sure = texts, labels, require_sure
    yield from run.reported_events(notify)


class _Finetuning(TrainingRun[FinetuneConfig]):
    """A run: read the examples, set up what all trials share, train one trial after another, score the test set."""

    texts: Sequence[Any] | None = None  # in place of the training files of the settings
    labels: Sequence[Any] | None = None
    require_sure = False

    def events(self) -> Iterator[Event]:
        """Run from the labeled files to the model."""
        if not self.config.train and (self.texts is None or self.labels is None):
            raise InputError('Name at least one labeled file, for example `train="reviews.csv"`.')
        if is_sharded(self.accelerator):
            raise InputError("Fine-tuning needs the whole model on each device: leave --use_fsdp out of the launcher.")
        if self.accelerator.is_main_process:
            yield from self._read_examples()
        self.share()
        yield Preparing("tokenize", 0, 0, "Tokenizing the examples")
        self._set_up()
        if self.config.teacher:
            yield Preparing("teach", 0, 0, "Reading the examples with the teacher")
            self.setup.ask_teacher()
        yield self._started()
        for number in range(self.first, len(self.trials)):
            yield from self._run_trial(number)
            if self.ending.reason == "stopped":
                break
        else:
            if self.setup.data.test:
                scores = self._score_test_set() if self.hardware.is_main else {}
                yield FinalTestDone(self.past.step, self.hardware.broadcast(scores))
        path = self.folder / "model"
        yield replace(self.ending, path=str(path) if path.is_dir() else "")

    def _read_examples(self) -> Iterator[Event]:
        kept = self.folder / "examples" / "about.json"
        self.open_folder(kept)
        if self.texts is not None:
            train = write_rows(self.folder / "texts.jsonl", self.texts, self.labels)
            pairs = "none" if isinstance(next(iter(self.texts), ""), str) else "text_b"
            self.change_settings(train=train, text_a="text_a", text_b=pairs, label="label")
        if not kept.is_file():
            yield Preparing("read", 0, 0, "Reading the examples")
            prepare_task_splits(self.config, self.folder, self.require_sure)
        self.saved = self.checkpoints.newest() if self.resume else None

    def _set_up(self) -> None:
        """Encode the examples, choose the hardware and plan the trials, of which some may be done."""
        self.choose_hardware()
        self.seeds = self.folder / "seeds"  # models of all seeds, until they are scored on the test set
        self.setup = Setup(self.config, self.folder, self.hardware)
        self.trials = trials_of(self.config, default_learning_rate(self.setup.model_config, finetuning=True))
        self.setup.require_memory(self.trials)
        self.planned = [self.setup.steps(trial) for trial in self.trials]
        self.done: list[dict[str, Any]] = nan_for_null(self.state.get("done", []))
        self.first, self.past = len(self.done), progress_of(self.done)
        self.ending = RunFinished(self.past.step, self.past.seconds, "finished", "", "")

    def _started(self) -> RunStarted:
        setup = self.setup
        return self.started(
            step=self.past.step + self.state.get("progress", {}).get("step", 0),
            total_steps=self.past.step + sum(self.planned[len(self.done) :]),
            time_budget=None,
            parameters=parameter_count(setup.build_model(self.trials[0])),
            vocab_size=setup.start.tokenizer.vocab_size,
            objective=setup.data.task,
            baselines=setup.baselines,
            notes=tuple(setup.notes),
            metric=setup.metric,
        )

    def _run_trial(self, number: int) -> Iterator[Event]:
        """Train one trial, unless the run is to stop before it; its events count from the start of the run."""
        trial, later_steps = self.trials[number], sum(self.planned[number + 1 :])
        stop = self.hardware.broadcast(number > self.first and self.should_stop())
        if stop:  # the run resumes from the checkpoint of the trial before
            self.ending = replace(self.ending, reason="stopped")
            return
        if not self.state.get("progress", {}).get("step"):
            yield TrialStarted(number, len(self.trials), trial.name, self.past.step, self.planned[number])
        run = TrialRun(self.setup, trial, self.checkpoints, self.past, self.done, self.saved, self.state)
        self.saved, self.state = None, {}  # those of the first trial
        for event in run.events(self.should_stop):
            event = shifted(event, self.past, later_steps)
            if isinstance(event, RunFinished):
                self.ending = event
            else:
                yield event
        if self.ending.reason == "stopped":
            return
        row = run.result()
        self.done, self.past = [*self.done, row], progress_of([row])
        if self.hardware.is_main:
            if self._best() is row:
                run.keep(self.folder / "model")
            if self.setup.data.test and self.config.seeds > 1:
                run.keep(self.seeds / str(number))
                for earlier, other in enumerate(self.done):  # of other settings, which the best one is not of
                    if settings_of(other) not in (settings_of(row), settings_of(self._best())):
                        shutil.rmtree(self.seeds / str(earlier), ignore_errors=True)
            self._write_report()
        yield TrialDone(number, trial.name, row["step"], row["best_step"], row["scores"])

    def _best(self) -> Mapping[str, Any]:
        """Return the first trial with the best score; one from random weights only where there are no others."""
        metric, rows = self.setup.metric, [row for row in self.done if not row["random"]] or self.done
        best = rows[0]
        for row in rows[1:]:
            if is_better(row["scores"][metric], best["scores"][metric], metric):
                best = row
        return best

    def _score_test_set(self) -> dict[str, float]:
        """Score the run's model, and its other seeds, on the test set for report and card: after every choice is made.

        The statistics over seeds include the run's model, which was chosen by its validation score.
        """
        test, best, rows = self.setup.data.test, self._best(), []
        for number, row in enumerate(self.done):
            folder = self.folder / "model" if row is best else self.seeds / str(number)
            if settings_of(row) == settings_of(best) and folder.is_dir():
                predictions, loss = predict_with(load_checkpoint(folder), test, threads=self.config.threads)
                rows.append({**row, "scores": {"loss": loss, **self.setup.task.scores(test, predictions)}})
        scores: dict[str, float] = next(row["scores"] for row in rows if row["seed"] == best["seed"])
        self._write_report({"split": "test", "scores": scores, "families": seed_statistics(rows)})
        shutil.rmtree(self.seeds, ignore_errors=True)
        path = self.folder / "model" / "README.md"
        card = with_test_scores(path.read_text(encoding="utf-8"), self.config.test, scores)
        with atomic_file(path) as fresh:
            fresh.write_text(card, encoding="utf-8")
        return scores

    def _write_report(self, test: Mapping[str, Any] | None = None) -> None:
        """Write the scores; but for `test`, they are of the validation set, by which all choices are made."""
        data = self.setup.data
        body = {
            "task": data.task,
            "labels": data.labels,
            "metric": self.setup.metric,
            "model": source_name(self.config.model),
            "split": "validation",
            "scores": self._best()["scores"],
            "test": test,
            "trials": self.done,
            "families": seed_statistics(self.done),
            "planned": len(self.trials),
            "guess": self.setup.baselines,
            "examples": {"train": len(data.train), "held_out": len(data.held_out), "test": len(data.test)},
        }
        write_json(self.folder / "report.json", body)
