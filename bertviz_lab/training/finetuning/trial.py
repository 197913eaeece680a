"""One trial of a fine-tuning, from the start to its best model: what the training loop asks of a task."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from bertviz_lab.data.batches import BatchStream, Prefetcher
from bertviz_lab.data.tasks.batches import TaskBatch, TaskBatches
from bertviz_lab.model import BertModel
from bertviz_lab.model.encoder import set_gradient_checkpointing
from bertviz_lab.model.weights import load_state, read_tensors, state_for_huggingface, write_tensors
from bertviz_lab.training.checkpoints.atomic_io import clean_up
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint, save_checkpoint, write_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.finetuning.card import finetuning_card
from bertviz_lab.training.finetuning.example_dynamics import DYNAMICS_FILE, ExampleDynamics
from bertviz_lab.training.finetuning.lora import add_adapters, load_adapters, merged, save_adapters
from bertviz_lab.training.finetuning.setup import Setup, Trial
from bertviz_lab.training.finetuning.tasks.base import SCORED_AT_ONCE, FinetuningTask, Prediction, write_predictions
from bertviz_lab.training.finetuning.tasks.regression import head_state
from bertviz_lab.training.loop.early_stopping import EarlyStopping
from bertviz_lab.training.loop.evaluation import count_correct
from bertviz_lab.training.loop.loop import LoopConfig, Progress, StepOutput, Task, train
from bertviz_lab.training.loop.optim import build_finetuning_optimizer
from bertviz_lab.training.loop.training_run import load_training_state, optimizer_tensors, save_training_state
from bertviz_lab.training.runs.events import Event

_STANDARDIZED_HEAD = "standardized_head.safetensors"


class TrialRun(Task[TaskBatch]):
    """One trial of a run. Files are named after steps counted over all trials; `past` is how far those before came.

    It starts from the run's model, or resumes from `saved`, whose state is `state`. `done` are the results of the
    trials before, which every checkpoint holds.
    """

    def __init__(
        self,
        setup: Setup,
        trial: Trial,
        checkpoints: CheckpointManager,
        past: Progress,
        done: list[dict[str, Any]],
        saved: SavedCheckpoint | None,
        state: Mapping[str, Any],
    ):
        config, shared = setup.config, setup.hardware
        # A trial does not depend on those before it.
        scaler = torch.amp.GradScaler(shared.device.type, enabled=shared.scaler.is_enabled())
        hardware = replace(shared, scaler=scaler)
        self.setup, self.trial, self.hardware, self.checkpoints = setup, trial, hardware, checkpoints
        self.past, self.done, self.saved = past, done, saved
        self.progress = Progress(**state.get("progress", {}))
        self.early_stopping = EarlyStopping(setup.metric, config.patience)
        self.snapshots = SnapshotWriter(setup.folder / "snapshots", config.snapshot_room * 1_000_000)
        self.model = setup.build_model(trial)  # not wrapped for several processes
        if config.lora and not trial.random:
            add_adapters(self.model, config.lora)
        if saved:
            self._load_weights(saved.path)
        self.optimizer = build_finetuning_optimizer(self.model, config, trial.learning_rate)
        set_gradient_checkpointing(self.model, config.gradient_checkpointing)
        if isinstance(self.model, BertModel):  # its vectors are pooled otherwise: DDP would wait for these gradients
            for name, parameter in self.model.named_parameters():
                parameter.requires_grad_(parameter.requires_grad and not name.startswith("pooler"))
        self._wrapped = hardware.prepare(self.model)
        weighted = config.class_weights == "balanced" and bool(setup.data.labels)
        weights = setup.task.class_weights(setup.train) if weighted else None
        self.class_weights = None if weights is None else torch.from_numpy(weights).to(hardware.device)
        # The loss of several labels is a mean over texts and labels, whatever the weights.
        self.batches = setup.batches(trial, weights if setup.task.one_label else None)
        self.held_out = TaskBatches(setup.held_out, SCORED_AT_ONCE, setup.start.tokenizer.pad_id, 0)
        if hardware.rank:  # dropout differs between processes
            torch.manual_seed(trial.seed + hardware.rank)
        if saved:
            load_training_state(saved.path, [self.optimizer], hardware, trial.seed)
            self.early_stopping.restore(saved.path, state["best"])
        self.dynamics = self._dynamics()
        position = state.get("position", {"epoch": 0, "number": 0})
        self.stream = Prefetcher(BatchStream(self.batches, position["epoch"], position["number"]))

    def events(self, should_stop: Callable[[], bool]) -> Iterator[Event]:
        """Train to the end of the trial, its steps counted from 0."""
        config, per_epoch = self.setup.config, self.batches.in_an_epoch
        plan = LoopConfig.of(
            config,
            learning_rate=self.trial.learning_rate,
            steps=self.setup.steps(self.trial),
            seconds=None,
            eval_steps=max(1, -(-per_epoch // config.evals_per_epoch)),
            stop_on_loss_spike=self.setup.target_scaler is None,
            rate_is_adjustable="learning_rate" in config.adjustable,
        )
        parts = (self._wrapped, self, self.stream, [self.optimizer], plan, self.hardware, self.progress)
        with closing(self.stream):
            yield from train(*parts, should_stop, str(self.saved.path) if self.saved else "")

    def training_step(self, model: nn.Module, batch: TaskBatch, measure: bool) -> StepOutput:
        """Return the mean loss over the step's labels: here, this part's share of it."""
        task, batch = self.setup.task, batch.to(self.hardware.device)
        logits = task.logits(model, batch)
        loss = task.loss(logits, batch, self.class_weights, training=True)
        if self.setup.teacher is not None:
            theirs = self.setup.teacher[batch.rows.cpu()].to(self.hardware.device)
            loss = (loss + task.teacher_loss(logits, theirs, batch)) / 2
        if self.dynamics:
            self.dynamics.record(self.stream.epoch, batch.rows, logits[0], batch.targets)
        metrics: dict[str, Tensor] = {}
        if measure and task.one_label:
            metrics["accuracy"] = count_correct(logits[0], batch.targets) / max(1, batch.count)
        return StepOutput(loss, metrics)

    def evaluate(self, model: nn.Module, final: bool = False) -> dict[str, float]:
        """Return scores on all held-out examples, `final` or not; the best model so far is kept."""
        stream = self.stream
        with self._original_unit():
            model = merged(self.model)  # scored as it is saved
            task, predictions, loss = self._predict(model)
            scores = {"loss": loss, **task.scores(self.setup.data.held_out, predictions)}
            step = stream.epoch * self.batches.in_an_epoch + stream.number
            self.early_stopping.update(scores, step, model)
        return scores

    def should_stop_early(self) -> bool:
        return self.early_stopping.should_stop

    def save(self, progress: Progress, scores: Mapping[str, float]) -> str:
        """Write the model as a Hugging Face folder, with all that an exact resume needs."""

        def write(fresh: Path) -> None:
            with self._original_unit():
                write_checkpoint(self._checkpoint(merged(self.model)), fresh)
            if self._has_adapters:
                save_adapters(self.model, fresh)
            if self.setup.target_scaler:  # exactly as it is trained, which rescaling twice would not give back
                write_tensors(head_state(self._head), fresh / _STANDARDIZED_HEAD)
            if self.dynamics:
                self.dynamics.save(fresh / DYNAMICS_FILE)
            position = {"epoch": self.stream.epoch, "number": self.stream.number}
            of_trial = {"position": position, "best": self.early_stopping.save(fresh), "done": self.done}
            save_training_state(fresh, progress, optimizer_tensors([self.optimizer]), self.hardware, **of_trial)

        step = self.past.step + progress.step
        # Before its first step a trial has nothing to save: the run resumes from the end of the trial before it.
        if self.hardware.is_main and (progress.step or not self.past.step):
            self.checkpoints.save(step, write)
        self.hardware.accelerator.wait_for_everyone()
        return str(self.checkpoints.path_of(step))

    def snapshot(self, progress: Progress) -> str:
        if self.past.step:  # snapshots are kept of the first trial only
            return ""
        length, is_main = self.setup.trained_length, self.hardware.is_main
        with self._original_unit():
            return self.snapshots.save(merged(self.model), progress.step, trained_length=length, write=is_main)

    def result(self) -> dict[str, Any]:
        """Return the trial's settings and scores; steps, seconds and tokens include the trials before it."""
        past, progress, best = self.past, self.progress, self.early_stopping
        return asdict(self.trial) | {
            "step": past.step + progress.step,
            "seconds": past.seconds + progress.seconds,
            "tokens": past.tokens + progress.tokens,
            "best_step": past.step + best.step,
            "scores": best.scores,
        }

    def keep(self, folder: Path) -> None:
        """Save the trial's best model in `folder`, and of the run's model what its panels show."""
        setup, best = self.setup, self.early_stopping
        model = merged(self.model)
        load_state(model, best.weights)
        task, predictions, _ = self._predict(model)
        if folder == setup.folder / "model":
            write_predictions(setup.folder / "predictions.jsonl", setup.data.held_out, predictions)
            if self.dynamics:
                self.dynamics.save(setup.folder / DYNAMICS_FILE)
        checkpoint = self._checkpoint(model.eval())
        checkpoint = replace(checkpoint, config=checkpoint.config.replace(**task.model_settings(setup.data.train)))
        card = finetuning_card(setup, self.trial, checkpoint, best.scores)
        clean_up(folder.parent, folder.name)
        save_checkpoint(replace(checkpoint, card=card), folder)

    def _predict(self, model: nn.Module) -> tuple[FinetuningTask[Any], list[Prediction], float]:
        """Return the task with the thresholds that suit the held-out examples, their predictions and mean loss."""
        setup, examples = self.setup, self.setup.data.held_out
        task = replace(setup.task, no_answer_threshold=setup.model_config.no_answer_threshold)
        predictions, loss = task.predict(model, examples, self.held_out, self.hardware)
        task = task.tune(examples, predictions, setup.config)
        return task, task.decide(predictions), loss

    def _dynamics(self) -> ExampleDynamics | None:
        """Return what records the predictions of the training examples, where their labels can be checked by them."""
        shape = self.trial.epochs, len(self.setup.train), len(self.setup.data.labels)
        if self.setup.task.unchecked or self.hardware.processes > 1 or not ExampleDynamics.fits(*shape):
            return None
        dynamics = ExampleDynamics(*shape, self.hardware.device)
        if self.saved:
            if not (self.saved.path / DYNAMICS_FILE).is_file():
                return None  # an earlier version saved this checkpoint
            dynamics.load(self.saved.path / DYNAMICS_FILE)
        return dynamics

    @property
    def _has_adapters(self) -> bool:
        return bool(self.setup.config.lora) and not self.trial.random

    def _checkpoint(self, model: nn.Module) -> Checkpoint:
        setup = self.setup
        return Checkpoint(
            model,
            setup.start.tokenizer,
            setup.model_config,
            trained_length=setup.trained_length,
            pooling=setup.task.pooling,
        )

    @property
    def _head(self) -> nn.Linear:
        return cast(nn.Linear, self.model.get_submodule("classifier"))

    def _original_unit(self) -> AbstractContextManager[None]:
        """Inside, the model is as it is scored and saved: a regression predicts the unit of its labels."""
        scaler = self.setup.target_scaler
        return scaler.original_unit(self._head) if scaler else nullcontext()

    def _load_weights(self, folder: Path) -> None:
        """The weights of a checkpoint, as they were trained."""
        if self._has_adapters:
            load_adapters(self.model, folder)
            return
        load_state(self.model, state_for_huggingface(load_checkpoint(folder).model))
        if (folder / _STANDARDIZED_HEAD).is_file():
            self._head.load_state_dict(read_tensors([folder / _STANDARDIZED_HEAD]))
