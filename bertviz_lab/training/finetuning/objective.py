"""The fine-tuning objective for the training loop: loss, validation, early stopping, checkpoints of one trial."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.data.prefetch import Prefetcher
from bertviz_lab.data.tasks.batches import TaskBatch, TaskBatches
from bertviz_lab.data.tasks.examples import Example, Task
from bertviz_lab.model.weights import load_state, read_tensors, state_for_huggingface, write_tensors
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint, write_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager
from bertviz_lab.training.checkpoints.optimizer_state import save_optimizers
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.finetuning.early_stopping import EarlyStopping
from bertviz_lab.training.finetuning.regression_targets import TargetScaler, head_state, load_head_state
from bertviz_lab.training.finetuning.scoring import Prediction, predict_examples, score, task_logits, task_loss
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.loop import Progress, StepOutput
from bertviz_lab.training.pretraining.evaluate import right

_STANDARDIZED_HEAD = "standardized_head.safetensors"


@dataclass(frozen=True)
class FinetuningTask:
    """One trial, for the loop. Files are named after steps counted over all trials of a run."""

    model: nn.Module  # as it is saved: not wrapped for several processes
    model_config: BertConfig
    tokenizer: Tokenizer
    task: Task
    labels: tuple[str, ...]
    stream: Prefetcher[TaskBatch]
    batches_per_epoch: int
    held_out: TaskBatches
    held_examples: Sequence[Example]
    optimizers: list[torch.optim.Optimizer]
    hardware: Hardware
    checkpoints: CheckpointManager
    snapshots: SnapshotWriter
    early_stopping: EarlyStopping
    trained_length: int  # tokens of the longest inputs that it is trained on
    earlier_steps: int  # of the trials before this one
    run_state: Mapping[str, Any]  # what a checkpoint has to know of the trials before
    class_weights: Tensor | None = None
    target_scaler: TargetScaler | None = None  # the model is trained on standardized targets

    @contextmanager
    def original_unit(self) -> Iterator[None]:
        """Inside, the model is as it is scored and saved: a regression predicts the unit of its labels."""
        if self.target_scaler is None:
            yield
            return
        with self.target_scaler.original_unit(self._head):
            yield

    @property
    def _head(self) -> nn.Linear:
        return cast(nn.Linear, self.model.get_submodule("classifier"))

    def training_step(self, model: nn.Module, batch: TaskBatch, measure: bool) -> StepOutput:
        """The mean loss over the step's labels: here, this part's share of it."""
        batch = batch.to(self.hardware.device)
        logits = task_logits(model, batch, self.task)
        loss = task_loss(logits, batch, self.task, self.class_weights, huber=True)
        metrics: dict[str, Tensor] = {}
        if measure and self.task in ("classification", "tokens"):
            metrics["accuracy"] = right(logits[0], batch.targets) / max(1, batch.count)
        return StepOutput(loss, metrics)

    def predict(self, model: nn.Module) -> tuple[list[Prediction], float]:
        """The held-out examples' predictions and their mean loss."""
        return predict_examples(
            model,
            self.held_examples,
            self.held_out,
            self.task,
            self.labels,
            self.hardware,
            may_refuse=self.model_config.handle_impossible_answer is not False,
        )

    def evaluate(self, model: nn.Module, final: bool = False) -> dict[str, float]:
        """Scores on all held-out examples, `final` or not; the best model so far is kept."""
        with self.original_unit():
            predictions, loss = self.predict(model)
            scores = {"loss": loss, **score(self.held_examples, predictions, self.task, self.labels)}
            self.early_stopping.update(scores, self._steps_taken(), self.model)
        return scores

    def _steps_taken(self) -> int:
        return self.stream.epoch * self.batches_per_epoch + self.stream.number

    def should_stop_early(self) -> bool:
        return self.early_stopping.should_stop

    def save(self, model: nn.Module, progress: Progress, scores: Mapping[str, float]) -> str:
        """The model as a Hugging Face folder, and beside it all that an exact resume needs."""

        def write(fresh: Path) -> None:
            read = Checkpoint(self.model, self.tokenizer, self.model_config, trained_length=self.trained_length)
            with self.original_unit():
                write_checkpoint(read, fresh)
            if self.target_scaler:  # exactly as it is trained, which rescaling twice would not give back
                write_tensors(head_state(self._head), fresh / _STANDARDIZED_HEAD)
            save_optimizers(self.optimizers, fresh / "optimizer.safetensors")
            scale = self.hardware.scaler.state_dict() if self.hardware.scaler else None
            best = self.early_stopping.save(fresh)
            position = {"epoch": self.stream.epoch, "number": self.stream.number}
            body = {"progress": asdict(progress), "position": position, "best": best, "scale": scale}
            write_json(fresh / "trainer.json", {**self.run_state, **body, "precision": self.hardware.precision})

        step = self.earlier_steps + progress.step
        path = self.checkpoints.folder / f"step-{step:08d}"
        # Before its first step a trial has nothing to save: the run resumes from the end of the trial before it.
        if self.hardware.is_main and (progress.step or not self.earlier_steps):
            path = self.checkpoints.save(step, write)
        self.hardware.barrier()
        return str(path)

    def snapshot(self, progress: Progress) -> str:
        if self.earlier_steps:  # snapshots are kept of the first trial only
            return ""
        with self.original_unit():
            return self.snapshots.save(
                self.model, progress.step, trained_length=self.trained_length, write=self.hardware.is_main
            )

    def probe(self, progress: Progress) -> None:
        """A model that learns a task is not asked about its language."""


def load_trained(model: nn.Module, folder: Path) -> None:
    """Put the weights of a checkpoint into a model, as they were trained."""
    load_state(model, state_for_huggingface(load_checkpoint(folder).model))
    if (folder / _STANDARDIZED_HEAD).is_file():
        head = cast(nn.Linear, model.get_submodule("classifier"))
        load_head_state(head, read_tensors([folder / _STANDARDIZED_HEAD]))
