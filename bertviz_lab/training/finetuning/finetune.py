"""Fine-tuning from labelled files to a model and its scores: read, train one trial after another, keep the best."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.errors import InputError
from bertviz_lab.strict_json import nan_for_null
from bertviz_lab.training.checkpoints.atomic_io import atomic_file, write_json
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint, parameter_count
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint
from bertviz_lab.training.checkpoints.model_card import source_name
from bertviz_lab.training.finetuning.card import with_test_scores
from bertviz_lab.training.finetuning.predict import predict_with
from bertviz_lab.training.finetuning.scoring import score
from bertviz_lab.training.finetuning.setup import Setup, build_model, start_of
from bertviz_lab.training.finetuning.task_data import prepare_task_splits, read_task_splits
from bertviz_lab.training.finetuning.trial import TrialRun
from bertviz_lab.training.finetuning.trials import is_better, progress_of, seed_statistics, shifted, trials_of
from bertviz_lab.training.loop.hardware import broadcast_object, choose_hardware, start_accelerator
from bertviz_lab.training.loop.optim import default_learning_rate
from bertviz_lab.training.loop.sharding import is_sharded
from bertviz_lab.training.loop.trackers import track
from bertviz_lab.training.loop.training_state import read_training_state
from bertviz_lab.training.runs.events import (
    Event,
    FinalTestDone,
    Preparing,
    RunFinished,
    RunStarted,
    TrialDone,
    TrialStarted,
)
from bertviz_lab.training.runs.run_folder import require_no_other_files, with_chosen_precision, write_config


def finetune(
    config: FinetuneConfig,
    folder: str | Path,
    *,
    resume: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
    require_sure: bool = False,
) -> Iterator[Event]:
    """Run a fine-tuning in `folder`, or resume it with `resume`; the best of its trials becomes the run's model.

    Under `accelerate launch` or `torchrun` every process calls this; all see the same events, one writes.
    Raises `InputError` when the data, the model, the settings or the folder cannot be used, before anything is trained:
    files that do not belong to a run are not overwritten. With `require_sure` a reading of the examples that a person
    should confirm is such an error.
    """
    yield from track(_events(config, Path(folder), resume, should_stop, require_sure), config, Path(folder))


def _events(
    config: FinetuneConfig, folder: Path, resume: bool, should_stop: Callable[[], bool], require_sure: bool
) -> Iterator[Event]:
    accelerator = start_accelerator()
    if is_sharded(accelerator):
        raise InputError("Fine-tuning needs the whole model on each device: leave --use_fsdp out of the launcher.")
    store = CheckpointManager(folder / "checkpoints", config.keep_checkpoints)
    saved: SavedCheckpoint | None = None
    if accelerator.is_main_process:
        kept = folder / "examples" / "about.json"
        if not resume:
            require_no_other_files(folder)
            kept.unlink(missing_ok=True)  # or a later resume would find the examples of an earlier run
        folder.mkdir(parents=True, exist_ok=True)
        config = with_chosen_precision(config, folder) if resume else config
        write_config(folder, config)
        if not kept.is_file():
            yield Preparing("read", 0, 0, "Reading the examples")
            prepare_task_splits(config, folder, require_sure)
        saved = store.newest() if resume else None
    config, saved = broadcast_object(accelerator, (config, saved))
    data = read_task_splits(folder)
    yield Preparing("tokenize", 0, 0, "Tokenizing the examples")
    start = start_of(config, data, folder, accelerator.is_main_process)
    run = Setup.prepared(config, data, start, folder)
    state = read_training_state(saved.path) if saved else {}
    # A resumed run keeps its precision: in another it would not be the same run.
    precision = state.get("precision", config.precision)
    hardware = choose_hardware(precision, config.threads, accelerator)
    config = replace(config, precision=hardware.precision)
    if hardware.is_main:
        write_config(folder, config)
    run = replace(run, config=config)
    trials = trials_of(config, default_learning_rate(run.model_config, finetuning=True))
    run.require_memory(trials, hardware)
    done: list[dict[str, Any]] = nan_for_null(state.get("done", []))
    first, past = len(done), progress_of(done)
    planned = [run.steps(trial) for trial in trials]
    yield RunStarted(
        run=run.folder.name,
        step=past.step + state.get("progress", {}).get("step", 0),
        total_steps=past.step + sum(planned[first:]),
        time_budget=None,
        parameters=parameter_count(build_model(run, trials[0])),
        vocab_size=run.start.tokenizer.vocab_size,
        objective=run.data.task,
        precision=hardware.precision,
        device=str(hardware.device),
        threads=hardware.threads,
        baselines=run.baselines,
        notes=run.notes,
    )
    ending = RunFinished(past.step, past.seconds, "finished", "", "")
    for number in range(first, len(trials)):
        (stop,) = hardware.broadcast(number > first and should_stop())
        if stop:  # the run resumes from the checkpoint of the trial before
            ending = replace(ending, reason="stopped")
            break
        state, saved = (state, saved) if number == first else ({}, None)
        if not state.get("progress", {}).get("step"):
            yield TrialStarted(number, len(trials), trials[number].name, past.step, planned[number])
        trial_run = TrialRun(run, trials[number], hardware, store, past, done, saved, state)
        for event in trial_run.events(should_stop):
            event = shifted(event, past, later_steps=sum(planned[number + 1 :]))
            if isinstance(event, RunFinished):
                ending = event
            else:
                yield event
        if ending.reason == "stopped":
            break
        row = trial_run.result()
        done, past = [*done, row], progress_of([row])
        if hardware.is_main:
            if _best_of(done, run.metric) is row:
                trial_run.keep()
            _write_report(run, len(trials), done)
        yield TrialDone(number, trials[number].name, row["step"], row["best_step"], row["scores"])
    if run.data.test and ending.reason == "finished":
        scores = broadcast_object(
            hardware.accelerator, _score_test_set(run, len(trials), done) if hardware.is_main else {}
        )
        yield FinalTestDone(past.step, scores)
    path = run.folder / "model"
    yield replace(ending, path=str(path) if path.is_dir() else "")


def _best_of(done: Sequence[Mapping[str, Any]], metric: str) -> Mapping[str, Any]:
    """The first of the trials with the best score; one from random weights only where there are no others."""
    rows = [row for row in done if not row["random"]] or done
    best = rows[0]
    for row in rows[1:]:
        if is_better(row["scores"][metric], best["scores"][metric], metric):
            best = row
    return best


def _score_test_set(run: Setup, planned: int, done: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The scores of the run's model on the test set, written into its report and card: after every choice is made."""
    checkpoint = load_checkpoint(run.folder / "model")
    predictions, loss = predict_with(checkpoint, run.data.test, threads=run.config.threads)
    scores = {"loss": loss, **score(run.data.test, predictions, run.data.task, run.data.labels)}
    _write_report(run, planned, done, scores)
    card = with_test_scores(checkpoint.card, run.config.test, scores)
    with atomic_file(run.folder / "model" / "README.md") as fresh:
        fresh.write_text(card, encoding="utf-8")
    return scores


def _write_report(
    run: Setup, planned: int, done: Sequence[Mapping[str, Any]], test: Mapping[str, float] | None = None
) -> None:
    """`scores`, those of the trials and the baselines are of the validation set, by which all choices are made."""
    body = {
        "task": run.data.task,
        "labels": run.data.labels,
        "metric": run.metric,
        "model": source_name(run.config.model),
        "split": "validation",
        "scores": _best_of(done, run.metric)["scores"],
        "test": None if test is None else {"split": "test", "scores": test},
        "trials": done,
        "families": seed_statistics(done),
        "planned": planned,
        "guess": run.baselines,
        "examples": {"train": len(run.data.train), "held_out": len(run.data.held_out), "test": len(run.data.test)},
    }
    write_json(run.folder / "report.json", body)
