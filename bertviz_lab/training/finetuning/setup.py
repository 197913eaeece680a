"""What all trials of a fine-tuning share: the examples as rows of token ids, the start, and the shape of the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import nn

from bertviz_lab.config import SHORTEST_SEQUENCE, BertConfig, FinetuneConfig
from bertviz_lab.config.finetune import METRIC_NAMES, RANDOM
from bertviz_lab.data.examples import LabelledText, Question, RelatedTexts, Task
from bertviz_lab.data.tasks.batches import Features, Limits, TaskBatches, encode_examples
from bertviz_lab.errors import InputError
from bertviz_lab.model import (
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)
from bertviz_lab.model.weights import load_state, state_for_huggingface
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint
from bertviz_lab.training.finetuning.embeddings import has_scores
from bertviz_lab.training.finetuning.lora import require_peft
from bertviz_lab.training.finetuning.predictions import TargetScaler, start_at_label_frequencies
from bertviz_lab.training.finetuning.scoring import majority_baselines, metric_of
from bertviz_lab.training.finetuning.task_data import TaskSplits, texts_of
from bertviz_lab.training.finetuning.trials import Trial
from bertviz_lab.training.loop.growth import extend_positions
from bertviz_lab.training.loop.hardware import Hardware, start_accelerator
from bertviz_lab.training.loop.memory import MemoryEstimate, StepShape, require_memory, training_memory

#: Rows scored at once: more than are trained on, since nothing is kept for a backward pass.
SCORED_AT_ONCE = 64
_KINDS: dict[Task, type[nn.Module]] = {
    "classification": BertForSequenceClassification,
    "multilabel": BertForSequenceClassification,
    "regression": BertForSequenceClassification,
    "tokens": BertForTokenClassification,
    "qa": BertForQuestionAnswering,
    "embeddings": BertModel,
}
_HEADS = ("classifier.", "qa_outputs.")


@dataclass(frozen=True)
class Setup:
    """What all trials of a run share."""

    config: FinetuneConfig
    folder: Path
    data: TaskSplits
    start: Checkpoint
    model_config: BertConfig
    metric: str  # by which models are compared
    baselines: dict[str, float]  # scores without a model
    train: Features
    held_out: Features
    trained_length: int  # tokens of a row at most
    target_scaler: TargetScaler | None  # of a regression, whose training targets are standardized
    notes: tuple[str, ...]

    @classmethod
    def prepared(cls, config: FinetuneConfig, data: TaskSplits, start: Checkpoint, folder: Path) -> "Setup":
        """Rows of token ids for the examples, and the shape of the model."""
        if config.lora:
            require_peft()
        positions, known = start.config.max_position_embeddings, start.trained_length
        length = config.length_for(data.task, positions, known)
        limits = Limits.fitting(length, config.stride, config.max_question_length)
        notes = [*data.notes]
        if length < config.length_for(data.task, 10**6):
            why = "reads at most" if length == positions else "was trained on up to"
            notes.append(f"{start.name} {why} {length} tokens: longer examples are cut to that.")
        if known and length > known:
            notes.append(f"{start.name} was trained on up to {known} tokens: this run extends that to {length}.")
        pairs = data.task == "qa" or any(isinstance(e, LabelledText) and e.text_b is not None for e in data.train)
        if pairs and not start.config.reads_pairs:
            raise InputError(f"{start.name} knows one segment only and cannot read pairs; choose another model.")
        baselines = majority_baselines(data.train, data.held_out, data.task, data.labels)
        metric = metric_of(data.task, data.labels, config.metric)
        if data.task == "embeddings":
            _require_whole_batches(config, data)
            metric = "spearman" if config.metric == "auto" and "spearman" in baselines else metric
        if metric not in baselines and metric != "loss":
            names = ", ".join(name for name in METRIC_NAMES if name in baselines or name in ("auto", "loss"))
            raise InputError(f"--metric {metric} is no score of {data.task}; choose one of {names}.")
        train = encode_examples(data.train, data.task, start.tokenizer, data.labels, limits, training=True)
        if not len(train):
            raise InputError(f"No answer fits into {length} tokens with its question; choose a larger --max-length.")
        scaler = None
        if data.task == "regression":
            targets = np.array([cast(LabelledText, example).label for example in data.train], dtype=np.float64)
            scaler = TargetScaler.fit(targets)
            train = replace(train, targets=scaler.standardize(targets))
        # Positions that no training row reaches are trained only if they were before.
        trained_length = min(length, max(known or 0, *map(len, train.ids), SHORTEST_SEQUENCE))
        limits = Limits.fitting(trained_length, config.stride, config.max_question_length)
        held_out = encode_examples(data.held_out, data.task, start.tokenizer, data.labels, limits)
        return cls(
            config=config,
            folder=folder,
            data=data,
            start=start,
            model_config=_model_config(config, data, start.config),
            metric=metric,
            baselines=baselines,
            train=train,
            held_out=held_out,
            trained_length=trained_length,
            target_scaler=scaler,
            notes=tuple(notes),
        )

    def batches(self, trial: Trial, weights: np.ndarray | None) -> TaskBatches:
        return TaskBatches(self.train, trial.batch_size, self.start.tokenizer.pad_id, trial.seed, weights)

    def require_memory(self, trials: Sequence[Trial], hardware: Hardware) -> None:
        """Raise `InputError` where a step of the largest trial does not fit into the memory that is free."""
        config, length = self.config, max(len(ids) for ids in self.train.ids)
        batch_size = self.train.texts * max(trial.batch_size for trial in trials)

        def shape(rows: int) -> StepShape:
            predicted = rows * (length if self.data.task in ("tokens", "qa") else 1)
            return StepShape(rows, length, predicted, predicted * self.model_config.num_labels)

        def needed(parts: int) -> MemoryEstimate:
            return training_memory(
                self.model_config,
                [shape(-(-batch_size // (parts * hardware.processes)))],
                shape(self.train.texts * SCORED_AT_ONCE),
                precision=hardware.precision,
                device=hardware.device.type,
                dropout=config.dropout,
                gradient_checkpointing=config.gradient_checkpointing,
                processes=hardware.processes,
            )

        advice = "choose a smaller --model, --max-length or --batch-size"
        require_memory(needed, hardware, batch_size, config.gradient_accumulation_steps, advice)

    def steps(self, trial: Trial) -> int:
        return trial.epochs * self.batches(trial, None).in_an_epoch


def start_of(config: FinetuneConfig, data: TaskSplits, folder: Path, is_main: bool) -> Checkpoint:
    """The model to start from; for random weights one whose weights nobody uses, and a vocabulary of the text."""
    if config.model != RANDOM:
        return load_checkpoint(config.model)
    if config.like:
        return replace(load_checkpoint(config.like), trained_length=None)  # of its weights nothing is used
    if not (folder / "tokenizer" / "tokenizer.json").is_file() and is_main:
        Tokenizer.train(texts_of(data.train), vocab_size=config.vocab_size).save(folder / "tokenizer")
    start_accelerator().wait_for_everyone()
    tokenizer = Tokenizer.load(folder / "tokenizer")
    shape = BertConfig.preset(config.preset, vocab_size=tokenizer.vocab_size)
    return Checkpoint(nn.Module(), tokenizer, shape, name="random weights")


def _model_config(config: FinetuneConfig, data: TaskSplits, start: BertConfig) -> BertConfig:
    unanswerable = any(not e.answers for e in data.train if isinstance(e, Question))
    count = {"regression": 1, "qa": 2, "embeddings": 2}.get(data.task, len(data.labels))
    return start.replace(
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
        classifier_dropout=None,
        num_labels=count,
        id2label={"regression": ("number",), "qa": (), "embeddings": ()}.get(data.task, data.labels),
        problem_type={"regression": "regression", "multilabel": "multi_label_classification"}.get(data.task),
        decision_thresholds=(),
        handle_impossible_answer=unanswerable if data.task == "qa" else None,
    )


def _require_whole_batches(config: FinetuneConfig, data: TaskSplits) -> None:
    """Raises `InputError` where in-batch negatives would be those of a part of the batch."""
    parts = config.gradient_accumulation_steps * start_accelerator().num_processes
    if parts > 1 and not has_scores(cast(Sequence[RelatedTexts], data.train)):
        raise InputError(
            "Pairs without scores are told apart from the rest of their batch, which must not be split: train in one "
            "process with --gradient-accumulation-steps 1."
        )


def build_model(run: Setup, trial: Trial) -> nn.Module:
    """A model with the task's head; the backbone is the start's, the head and random weights come from the seed."""
    torch.manual_seed(trial.seed)
    generator = torch.Generator().manual_seed(trial.seed)
    model = _KINDS[run.data.task](run.model_config, generator=generator)
    same_task = False
    if not trial.random and run.config.model != RANDOM:
        known = state_for_huggingface(run.start.model)
        before = run.start.config
        same_labels = (before.labels, before.problem_type) == (run.model_config.labels, run.model_config.problem_type)
        same_task = same_labels and isinstance(run.start.model, type(model))
        load_state(model, {name: t for name, t in known.items() if same_task or not name.startswith(_HEADS)})
        if run.start.trained_length:
            extend_positions(model, run.start.trained_length, run.trained_length)
    if run.data.task == "multilabel" and not same_task:
        start_at_label_frequencies(model.get_submodule("classifier"), run.train)  # type: ignore[arg-type]
    if run.target_scaler and same_task:  # the head that was loaded predicts the original unit
        run.target_scaler.standardize_head(model.get_submodule("classifier"))  # type: ignore[arg-type]
    return model.train()
