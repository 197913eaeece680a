"""The trials of a fine-tuning, and what they share: rows of token ids, the start, the shape of the model.

They run one after another: other seeds, the cells of a grid, the same from random weights.
"""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from bertviz_lab.config import SHORTEST_SEQUENCE, BertConfig, FinetuneConfig
from bertviz_lab.config.finetune import GRIDS, METRIC_NAMES, RANDOM, RATE_FACTORS
from bertviz_lab.data.examples import LabelledText, Question, RelatedTexts
from bertviz_lab.data.tasks.batches import Limits, TaskBatches, encode_examples, scored_at_once
from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import load_state, read_tensors, state_for_huggingface, write_tensors
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.atomic_io import atomic_file
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint
from bertviz_lab.training.finetuning.lora import require_peft
from bertviz_lab.training.finetuning.predict import teacher_outputs
from bertviz_lab.training.finetuning.task_data import TaskSplits, read_task_splits, texts_of
from bertviz_lab.training.finetuning.tasks import task_for
from bertviz_lab.training.finetuning.tasks.base import SCORED_AT_ONCE
from bertviz_lab.training.finetuning.tasks.regression import Regression, TargetScaler, numbers_of
from bertviz_lab.training.loop.growth import extend_positions
from bertviz_lab.training.loop.hardware import Hardware
from bertviz_lab.training.loop.loop import Progress
from bertviz_lab.training.loop.memory import MemoryEstimate, StepShape, require_memory, training_memory
from bertviz_lab.training.runs.events import Event, StepDone


@dataclass(frozen=True)
class Trial:
    """One training from the start to its best model."""

    name: str  # what tells it from the others, for people; "" where it is the only one
    seed: int
    learning_rate: float
    batch_size: int
    epochs: int
    random: bool = False  # from random weights, to compare with


def trials_of(config: FinetuneConfig, learning_rate: float) -> tuple[Trial, ...]:
    """Return all trials of a run in their order; `learning_rate` is what the model's size suggests."""
    rate = config.learning_rate or learning_rate
    factors = RATE_FACTORS if config.grid == "rates" else (1.0,)
    as_set = tuple(factor * rate for factor in factors), (config.batch_size,), (config.epochs,)
    rates, sizes, epochs = GRIDS.get(config.grid, as_set)
    seeds = range(config.seed, config.seed + config.seeds)
    trials = []
    for cell, seed in itertools.product(itertools.product(rates, sizes, epochs), seeds):
        parts = [f"rate {cell[0]:.2g}, {cell[1]} a step, {cell[2]} epochs"] if config.grid != "none" else []
        parts += [f"seed {seed}"] if config.seeds > 1 else []
        trials.append(Trial(", ".join(parts), seed, *cell))
    if config.random_baseline and config.model != RANDOM:
        trials.append(Trial("random weights", config.seed, rate, config.batch_size, config.epochs, random=True))
    return tuple(trials)


def settings_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what two trials have in common that differ in their seed alone."""
    return tuple(row[name] for name in ("learning_rate", "batch_size", "epochs", "random"))


def seed_statistics(done: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean and standard deviation of each score over trials that differ in their seed alone."""

    def deviation(values: Sequence[float]) -> float:  # NaN where a value is infinite
        return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan

    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in done:
        groups.setdefault(settings_of(row), []).append(row)
    return [
        {
            "name": rows[0]["name"].removesuffix(f"seed {rows[0]['seed']}").rstrip(", "),
            "count": len(rows),
            "mean": {name: statistics.fmean(row["scores"][name] for row in rows) for name in rows[0]["scores"]},
            "deviation": {name: deviation([row["scores"][name] for row in rows]) for name in rows[0]["scores"]},
        }
        for rows in groups.values()
        if len(rows) > 1
    ]


def progress_of(done: Sequence[Mapping[str, Any]]) -> Progress:
    """Steps, seconds and tokens up to the end of the trials that are done; a run counts them over all its trials."""
    return Progress(*(done[-1][name] for name in ("step", "seconds", "tokens"))) if done else Progress()


def shifted(event: Event, past: Progress, later_steps: int) -> Event:
    """Return an event of a trial as one of the run, after the `past` trials and before those of `later_steps`."""
    changes = {name: getattr(event, name) + value for name, value in asdict(past).items() if hasattr(event, name)}
    if isinstance(event, StepDone):
        changes["eta_seconds"] = event.eta_seconds + later_steps * event.seconds / max(1, event.step)
    return replace(event, **changes)


_HEADS = ("classifier.", "qa_outputs.")


class Setup:
    """What all trials of a run share: the task, rows of token ids, and the shape of the model."""

    teacher: Tensor | None = None  # what is followed of it, (rows, ...)

    def __init__(self, config: FinetuneConfig, folder: Path, hardware: Hardware) -> None:
        """Read the examples that the run's folder has, and the model to start from. Raises `InputError`."""
        if config.lora:
            require_peft()
        data = read_task_splits(folder)
        start = start_of(config, data, folder, hardware)
        self.config, self.folder, self.hardware, self.data, self.start = config, folder, hardware, data, start
        self.task = task = task_for(data.task, data.labels)
        positions, known = start.config.max_position_embeddings, start.trained_length
        length = config.length_for(data.task, positions, known)
        limits = Limits(length, config.stride, config.max_question_length)
        self.notes = [*data.notes]
        if length < config.length_for(data.task, 10**6):
            why = "reads at most" if length == positions else "was trained on up to"
            self.notes.append(f"{start.name} {why} {length} tokens: longer examples are cut to that.")
        if known and length > known:
            self.notes.append(f"{start.name} was trained on up to {known} tokens: this run extends that to {length}.")
        pairs = any(
            isinstance(e, Question) or (isinstance(e, LabelledText) and e.text_b is not None) for e in data.train
        )
        if pairs and not start.config.reads_pairs:
            raise InputError(f"{start.name} knows one segment only and cannot read pairs; choose another model.")
        parts = config.gradient_accumulation_steps * hardware.processes
        related = [e for e in data.train if isinstance(e, RelatedTexts)]
        if parts > 1 and related and (config.teacher or any(e.score is None for e in related)):
            raise InputError(
                "Pairs without scores, or with a teacher, are compared with the rest of their batch, which must not be "
                "split: train in one process with `gradient_accumulation_steps=1`."
            )
        for name, part in (("training", data.train), ("validation", data.held_out)):
            if config.no_answer_recall and not any(isinstance(e, Question) and not e.answers for e in part):
                raise InputError(f"`no_answer_recall` needs questions without an answer, and the {name} set has none.")
        self.baselines = task.baselines(data.train, data.held_out)  # scores without a model
        self.metric = config.metric
        if config.metric == "auto":
            self.metric = task.selection_metric(data.train, self.baselines)
        if self.metric not in self.baselines and self.metric != "loss":
            names = ", ".join(name for name in METRIC_NAMES if name in self.baselines or name in ("auto", "loss"))
            raise InputError(f'`metric="{self.metric}"` is no score of {data.task}; choose one of {names}.')
        train = encode_examples(data.train, data.task, start.tokenizer, data.labels, limits, training=True)
        if not len(train):
            raise InputError(f"No answer fits into {length} tokens with its question; choose a larger `max_length`.")
        self.target_scaler = None  # of a regression, whose training targets are standardized
        if isinstance(task, Regression):
            targets = numbers_of(cast(Sequence[LabelledText], data.train))
            self.target_scaler = TargetScaler.fit(targets)
            train = replace(train, targets=self.target_scaler.standardize(targets))
        self.train = train
        # Positions that no training row reaches are trained only if they were before.
        self.trained_length = min(length, max(known or 0, *map(len, train.ids), SHORTEST_SEQUENCE))
        self.limits = Limits(self.trained_length, config.stride, config.max_question_length)
        self.held_out = encode_examples(data.held_out, data.task, start.tokenizer, data.labels, self.limits)
        shape = start.config
        if config.dropout is not None:
            shape = shape.replace(hidden_dropout_prob=config.dropout, attention_probs_dropout_prob=config.dropout)
        shape = shape.replace(
            classifier_dropout=None,
            problem_type=None,
            decision_thresholds=(),
            handle_impossible_answer=None,
            null_score_diff_threshold=None,
        )
        self.model_config: BertConfig = shape.replace(**task.model_settings(data.train))

    def ask_teacher(self) -> None:
        """Keep what the teacher makes of the training examples, on disk for a run that goes on after an interruption.

        Raises `InputError` where it cannot teach them.
        """
        kept = self.folder / "examples" / "teacher.safetensors"
        if kept.is_file():
            self.teacher = read_tensors([kept])["outputs"]
            return
        about = (self.data.train, self.train, self.task, self.limits, self.hardware)
        self.teacher = teacher_outputs(self.config.teacher, *about)
        if self.hardware.is_main:
            with atomic_file(kept) as fresh:
                write_tensors({"outputs": self.teacher.contiguous()}, fresh)

    def batches(self, trial: Trial, weights: np.ndarray | None = None) -> TaskBatches:
        return TaskBatches(self.train, trial.batch_size, self.start.tokenizer.pad_id, trial.seed, weights)

    def require_memory(self, trials: Sequence[Trial]) -> None:
        """Raise `InputError` where a step of the largest trial does not fit into the memory that is free."""
        batch_size = self.train.texts * max(trial.batch_size for trial in trials)
        needed, parts = partial(self.memory, batch_size), self.config.gradient_accumulation_steps
        advice = "choose a smaller `model`, `max_length` or `batch_size`"
        require_memory(needed, self.hardware, batch_size, parts, advice)

    def memory(self, batch_size: int, parts: int) -> MemoryEstimate:
        """Return the peak memory of each process of a trial whose step has `batch_size` rows, in so many parts."""
        length, hardware = self.train.longest, self.hardware

        def shape(rows: int) -> StepShape:
            predicted = rows * (length if self.task.reads_tokens else 1)
            return StepShape(rows, length, predicted, predicted * self.model_config.num_labels)

        return training_memory(
            self.model_config,
            [shape(-(-batch_size // (parts * hardware.processes)))],
            shape(self.train.texts * scored_at_once(self.train, SCORED_AT_ONCE, length)),
            precision=hardware.precision,
            device=hardware.device.type,
            dropout=self.model_config.hidden_dropout_prob,
            gradient_checkpointing=self.config.gradient_checkpointing,
            processes=hardware.processes,
            widths_vary=True,
        )

    def steps(self, trial: Trial) -> int:
        return trial.epochs * self.batches(trial).in_an_epoch

    def build_model(self, trial: Trial) -> nn.Module:
        """Return a model with the task's head; the rest is the start's, or random by the seed."""
        torch.manual_seed(trial.seed)
        model = self.task.model_class(self.model_config, generator=torch.Generator().manual_seed(trial.seed))
        same_task = False
        if not trial.random and self.config.model != RANDOM:
            known, before, after = state_for_huggingface(self.start.model), self.start.config, self.model_config
            same_labels = (before.labels, before.problem_type) == (after.labels, after.problem_type)
            same_task = same_labels and isinstance(self.start.model, type(model))
            load_state(model, {name: t for name, t in known.items() if same_task or not name.startswith(_HEADS)})
            if self.start.trained_length:
                extend_positions(model, self.start.trained_length, self.trained_length)
        if not same_task:
            self.task.start_head(model, self.train)
        elif self.target_scaler:  # the head that was loaded predicts the original unit
            self.target_scaler.standardize_head(model.get_submodule("classifier"))  # type: ignore[arg-type]
        return model.train()


def start_of(config: FinetuneConfig, data: TaskSplits, folder: Path, hardware: Hardware) -> Checkpoint:
    """Return the model to start from; for random weights one whose weights are unused, with the text's vocabulary."""
    if config.model != RANDOM:
        return load_checkpoint(config.model, quiet=True)  # it gets another head
    if config.like:
        return replace(load_checkpoint(config.like, quiet=True), trained_length=None)  # of its weights nothing is used
    if not (folder / "tokenizer" / "tokenizer.json").is_file() and hardware.is_main:
        Tokenizer.train(texts_of(data.train), vocab_size=config.vocab_size).save(folder / "tokenizer")
    hardware.accelerator.wait_for_everyone()
    tokenizer = Tokenizer.load(folder / "tokenizer")
    shape = BertConfig.preset(config.preset, vocab_size=tokenizer.vocab_size)
    return Checkpoint(nn.Module(), tokenizer, shape, name="random weights")
