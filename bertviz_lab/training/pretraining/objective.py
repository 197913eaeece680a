"""What pretraining asks of a model: masked words, pairs of segments, replaced tokens, at the start each next word."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData
from bertviz_lab.model.losses import cross_entropy
from bertviz_lab.model.weights import load_state
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, write_checkpoint
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.loop.early_stopping import EarlyStopping
from bertviz_lab.training.loop.evaluation import count_correct
from bertviz_lab.training.loop.growth import ProgressiveStacking
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.loop import Progress, StepOutput
from bertviz_lab.training.loop.sharding import whole_model
from bertviz_lab.training.loop.training_run import optimizer_tensors, save_training_state
from bertviz_lab.training.pretraining.curriculum import Curriculum
from bertviz_lab.training.pretraining.distillation import Distillation
from bertviz_lab.training.pretraining.evaluate import FULL_EVAL, QUICK_EVAL, eval_batches, evaluate_pretraining, predict
from bertviz_lab.training.pretraining.probe_scorer import ProbeScorer, probe_accuracy
from bertviz_lab.training.pretraining.replaced_tokens import GENERATOR, GeneratorAndDiscriminator, replaced_token_step
from bertviz_lab.training.pretraining.word_scores import bits_per_character
from bertviz_lab.training.runs.events import ProbesDone


@dataclass(frozen=True)
class PretrainingTask:
    """Masked language modeling with or without a question about the pair, or replaced tokens, for the loop."""

    model: nn.Module  # as it is saved: not wrapped for several processes
    model_config: BertConfig
    tokenizer: Tokenizer
    curriculum: Curriculum
    progress: Progress
    held_out: PretrainingData
    optimizers: list[torch.optim.Optimizer]
    hardware: Hardware
    checkpoints: CheckpointManager
    snapshots: SnapshotWriter
    stacking: ProgressiveStacking  # layers that join while it trains
    early_stopping: EarlyStopping  # by the quick evaluations, once the model is trained as it will stay
    probe_scorer: ProbeScorer | None = None  # about what the model can do already
    distillation: Distillation | None = None  # from a teacher
    passages: Sequence[str] = ()  # of which a final evaluation tells the bits per character
    start_length: int = 0  # trained length of the model that the run continues from

    @property
    def trained_length(self) -> int:
        return max(self.start_length, self.curriculum.trained_length)

    @property
    def kept_model(self) -> nn.Module:
        """The model that the run is for: of generator and discriminator the latter."""
        return self.model.discriminator if isinstance(self.model, GeneratorAndDiscriminator) else self.model

    def checkpoint(self) -> Checkpoint:
        """Return the model as it stands, as the main process saves it. Every process calls this."""
        model = whole_model(self.kept_model, self.hardware.is_main)
        return Checkpoint(model, self.tokenizer, self.model_config, trained_length=self.trained_length)

    def generator_checkpoint(self) -> Checkpoint | None:
        """Return the generator of replaced-token detection as it stands, which a run needs to resume."""
        if not isinstance(self.model, GeneratorAndDiscriminator):
            return None
        generator = self.model.generator
        return Checkpoint(generator, self.tokenizer, generator.config, trained_length=self.trained_length)

    def training_step(self, model: nn.Module, batch: PretrainingBatch, measure: bool) -> StepOutput:
        """Return the sum of the losses, each the mean over the whole step's labels: here, this part's share of it."""
        self.stacking.update()
        batch = batch.to(self.hardware.device)
        if isinstance(self.model, GeneratorAndDiscriminator):
            return replaced_token_step(model, batch, measure)
        taught: dict[str, Tensor] = {}
        if self.distillation is None:
            token_logits, pair_logits = predict(model, batch)
        else:
            token_logits, pair_logits, taught = self.distillation.step(model, batch)
        assert token_logits is not None
        token_loss = cross_entropy(token_logits, batch.labels, max(1, batch.label_count))
        kind = "causal" if batch.causal else "mlm"
        loss, metrics = token_loss, {f"{kind}_loss": token_loss}
        if self.distillation is not None:
            weights = self.distillation.weights
            loss = weights["mlm_loss"] * token_loss + sum(weights[name] * taught[name] for name in taught)
            metrics |= taught
        # In the causal-LM warm-up the few masked steps are always measured: the next report may miss them all.
        measure = measure or (self.curriculum.is_causal and not batch.causal)
        if measure:
            metrics[f"{kind}_accuracy"] = count_correct(token_logits, batch.labels) / max(1, batch.label_count)
        if pair_logits is not None and batch.next_sentence_label is not None and batch.pair_count:
            pair_loss = cross_entropy(pair_logits, batch.next_sentence_label, batch.pair_count)
            loss, metrics["nsp_loss"] = loss + pair_loss, pair_loss
            if measure:
                metrics["nsp_accuracy"] = count_correct(pair_logits, batch.next_sentence_label) / batch.pair_count
        elif pair_logits is not None:  # every parameter has a gradient, which several processes count on
            loss = loss + 0.0 * pair_logits.sum()
        return StepOutput(loss, metrics)

    @cached_property
    def _quick_eval(self) -> list[PretrainingBatch]:
        return list(eval_batches(self.held_out, QUICK_EVAL))

    def evaluate(self, model: nn.Module, final: bool = False) -> dict[str, float]:
        """Return scores on held-out text: a little of it in training, as much as a decision needs at the end.

        Early stopping keeps the best of the former.
        """
        scores = self._scores(model, final)
        if self.early_stopping.patience and not final and self.is_settled:
            self.early_stopping.update(scores, self.progress.step, self.kept_model)
        return scores

    @property
    def is_settled(self) -> bool:
        """Whether all layers train, on what the run ends with: before that, losses fall and rise by plan."""
        return self.curriculum.is_last and not self.stacking.is_growing

    def keep_best(self, model: nn.Module) -> tuple[int, dict[str, float]]:
        """Give the model the best weights that early stopping has seen, and return their step and their scores."""
        if self.progress.step != self.early_stopping.last_step or not self.early_stopping.scores:
            self.early_stopping.update(self._scores(model, final=False), self.progress.step, self.kept_model)
        load_state(self.kept_model, self.early_stopping.weights)
        return self.early_stopping.step, self._scores(model, final=True)

    def _scores(self, model: nn.Module, final: bool) -> dict[str, float]:
        self.curriculum.look_ahead()
        batches = eval_batches(self.held_out, FULL_EVAL) if final else self._quick_eval
        scores = evaluate_pretraining(model, batches, self.hardware)
        if final and self.passages and not self.hardware.is_sharded:
            scores["bits_per_character"] = bits_per_character(self.model, self.tokenizer, self.passages)
        return scores

    def save(self, progress: Progress, scores: Mapping[str, float]) -> str:
        """Write the model as a Hugging Face folder, with all that an exact resume needs."""

        def write(fresh: Path) -> None:
            write_checkpoint(checkpoint, fresh)
            if generator := self.generator_checkpoint():
                (fresh / GENERATOR).mkdir()
                write_checkpoint(generator, fresh / GENERATOR)
            of_task: dict[str, Any] = {"position": asdict(self.curriculum.position)}
            if self.early_stopping.patience:
                of_task["best"] = self.early_stopping.save(fresh)
            save_training_state(fresh, progress, tensors, self.hardware, **of_task)

        self.curriculum.look_ahead()
        if self.hardware.is_main or self.hardware.is_sharded:
            checkpoint, tensors = self.checkpoint(), optimizer_tensors(self.optimizers)
        if self.hardware.is_main:
            self.checkpoints.save(progress.step, write, scores.get("mlm_loss"))
        self.hardware.accelerator.wait_for_everyone()
        return str(self.checkpoints.path_of(progress.step))

    def snapshot(self, progress: Progress) -> str:
        self.curriculum.look_ahead()
        is_main = self.hardware.is_main
        model, length = whole_model(self.kept_model, is_main), self.trained_length
        return self.snapshots.save(model, progress.step, trained_length=length, write=is_main)

    def probe(self, progress: Progress) -> ProbesDone | None:
        if self.probe_scorer is None:
            return None
        self.curriculum.look_ahead()
        # One process asks; the others would find the same.
        model = whole_model(self.model, self.hardware.is_main)
        right = probe_accuracy(self.probe_scorer.score(model)) if self.hardware.is_main else {}
        right, name = self.hardware.broadcast(right), self.probe_scorer.probes.name
        return ProbesDone(progress.step, progress.seconds, progress.tokens, name, right)

    def should_stop_early(self) -> bool:
        return self.early_stopping.should_stop
