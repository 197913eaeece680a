"""One trial of a fine-tuning: from the start to its best model."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

import torch

from bertviz_lab.data.batches import BatchStream
from bertviz_lab.data.prefetch import Prefetcher
from bertviz_lab.data.tasks.batches import TaskBatches
from bertviz_lab.training.checkpoints.atomic_io import remove_partial_writes
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, save_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint
from bertviz_lab.training.checkpoints.model_card import finetuning_card
from bertviz_lab.training.checkpoints.optimizer_state import load_optimizers
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.finetuning.early_stopping import EarlyStopping
from bertviz_lab.training.finetuning.objective import FinetuningTask, load_trained
from bertviz_lab.training.finetuning.scoring import class_weights, write_predictions
from bertviz_lab.training.finetuning.setup import Setup, build_model
from bertviz_lab.training.finetuning.trials import PastTrials, Trial
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.loop import LoopConfig, Progress, train
from bertviz_lab.training.loop.optim import build_finetuning_optimizer
from bertviz_lab.training.runs.events import Event

#: Rows scored at once: more than are trained on, since nothing is kept for a backward pass.
_SCORED_AT_ONCE = 64


class TrialRun:
    """One trial of a run."""

    def __init__(
        self,
        setup: Setup,
        trial: Trial,
        hardware: Hardware,
        store: CheckpointManager,
        clock: PastTrials,
        run_state: Mapping[str, Any],
    ):
        if hardware.scaler:  # a trial does not depend on those before it
            hardware = replace(hardware, scaler=torch.amp.GradScaler(hardware.device.type))
        self.setup, self.trial, self.hardware = setup, trial, hardware
        self._store, self._clock, self._run_state = store, clock, run_state
        self.progress = Progress()

    def events(
        self, saved: SavedCheckpoint | None, state: Mapping[str, Any], should_stop: Callable[[], bool]
    ) -> Iterator[Event]:
        """Train from the start, or from where `state` says, to the end."""
        run, trial, config, hardware = self.setup, self.trial, self.setup.config, self.hardware
        resumed = saved is not None and "progress" in state
        bare = build_model(run, trial)
        if resumed and saved is not None:
            load_trained(bare, saved.path)
        optimizer = build_finetuning_optimizer(bare, config, trial.learning_rate)
        model = hardware.prepare(bare)
        weights = class_weights(run.train, len(run.data.labels)) if self._weighted else None
        batches = run.batches(trial, weights)
        self.progress = Progress(**state.get("progress", {}))
        place = state.get("position", {"epoch": 0, "number": 0})
        early_stopping = EarlyStopping(run.metric, config.patience)
        if resumed and saved is not None:
            load_optimizers([optimizer], saved.path / "optimizer.safetensors")
            early_stopping = EarlyStopping.load(saved.path, state["best"], run.metric, config.patience)
            if hardware.scaler:
                hardware.scaler.load_state_dict(state["scale"])
        if hardware.rank:  # dropout differs between processes
            torch.manual_seed(trial.seed + hardware.rank + 1_000_003 * self.progress.step)
        self.task = FinetuningTask(
            model=bare,
            model_config=run.model_config,
            tokenizer=run.start.tokenizer,
            task=run.data.task,
            labels=run.data.labels,
            stream=Prefetcher(BatchStream(batches, place["epoch"], place["number"])),
            batches_per_epoch=batches.in_an_epoch,
            held_out=TaskBatches(run.held_out, _SCORED_AT_ONCE, run.start.tokenizer.pad_id, 0),
            held_examples=run.data.held_out,
            optimizers=[optimizer],
            hardware=hardware,
            checkpoints=self._store,
            snapshots=SnapshotWriter(run.folder / "snapshots", config.snapshot_room * 1_000_000),
            early_stopping=early_stopping,
            trained_length=run.trained_length,
            earlier_steps=self._clock.step,
            run_state=self._run_state,
            class_weights=None if weights is None else torch.from_numpy(weights).to(hardware.device),
            target_scaler=run.target_scaler,
        )
        plan = LoopConfig(
            learning_rate=trial.learning_rate,
            warmup=config.warmup,
            steps=run.steps(trial),
            seconds=None,
            max_grad_norm=config.max_grad_norm,
            gradient_accumulation_steps=config.gradient_accumulation_steps,
            eval_steps=max(1, -(-batches.in_an_epoch // config.evals_per_epoch)),
            checkpoint_every=config.checkpoint_every,
            stop_on_loss_spike=run.target_scaler is None,
        )
        checkpoint = str(saved.path) if resumed and saved else ""
        stream = self.task.stream
        with closing(stream):
            yield from train(
                model, self.task, stream, [optimizer], plan, hardware, self.progress, should_stop, checkpoint
            )

    @property
    def _weighted(self) -> bool:
        return self.setup.config.class_weights == "balanced" and bool(self.setup.data.labels)

    def result(self) -> dict[str, Any]:
        """What the trial came to, for the report."""
        best, clock = self.task.early_stopping, self._clock
        return asdict(self.trial) | {
            "step": clock.step + self.progress.step,
            "seconds": clock.seconds + self.progress.seconds,
            "tokens": clock.tokens + self.progress.tokens,
            "best_step": clock.step + best.step,
            "scores": best.scores,
        }

    def keep(self) -> None:
        """The trial's best model becomes that of the run, with its predictions for the validation set."""
        run, task = self.setup, self.task
        task.early_stopping.load_best(task.model)
        predictions, _ = task.predict(task.model)
        write_predictions(run.folder / "predictions.jsonl", run.data.held_out, predictions)
        card = finetuning_card(
            run.config,
            run.model_config,
            run.start,
            run.data,
            self.trial,
            task.early_stopping.scores,
            run.metric,
            run.trained_length,
        )
        remove_partial_writes(run.folder / "model")
        checkpoint = Checkpoint(
            task.model.eval(), run.start.tokenizer, run.model_config, card, trained_length=run.trained_length
        )
        save_checkpoint(checkpoint, run.folder / "model")
