"""Pretraining from a text to a model: read, learn a vocabulary, tokenize, train, save. A stream of events."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.data.batching import BatchStream, PretrainingBatch, PretrainingData, masking_rule
from bertviz_lab.data.tokenized import TokenizedCorpus, split_held_out
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.card import pretraining_card
from bertviz_lab.training.checkpoint import (
    Checkpoint,
    load_checkpoint,
    parameter_count,
    save_checkpoint,
    write_checkpoint,
)
from bertviz_lab.training.evaluate import accuracy, evaluate_pretraining, fixed_batches, run_batch
from bertviz_lab.training.events import EvalDone, Event, Preparing, RunFinished, RunStarted
from bertviz_lab.training.folders import settled, whole_folder
from bertviz_lab.training.hardware import Hardware, choose_hardware
from bertviz_lab.training.history import write_json
from bertviz_lab.training.loop import Plan, Progress, StepOutput, train
from bertviz_lab.training.optim import build_optimizers, learning_rate_for
from bertviz_lab.training.prepare import prepare
from bertviz_lab.training.resume import load_optimizers, save_optimizers


def pretrain(
    config: PretrainConfig, folder: Path, *, resume: bool = False, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Event]:
    """Run, or with `resume` go on with, a pretraining in `folder`.

    Raises `InputError` when the text or the settings cannot be used, before anything is trained.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", config.to_dict())
    last = settled(folder / "checkpoints" / "last")
    prepared = resume and (folder / "corpus" / "corpus.json").is_file()
    saved = _saved(last) if prepared else None
    if prepared and saved is None:
        yield Preparing("resume", 0, 0, "No checkpoint was saved yet; starting from the first step")
    if not prepared:
        yield from prepare(config, folder)
    tokenizer = Tokenizer.load(folder / "tokenizer")
    corpus = TokenizedCorpus.open(folder / "corpus")

    objective, notes = _objective(config, corpus)
    train_view, held_view = split_held_out(corpus, least=2 if objective == "mlm+nsp" else 1)
    training = PretrainingData(
        documents=train_view,
        tokenizer=tokenizer,
        rule=masking_rule(tokenizer, config.mask_probability, config.whole_word),
        seq_len=config.seq_len,
        batch_size=config.batch_size,
        short_seq_probability=config.short_seq_probability,
        pairs="nsp" if objective == "mlm+nsp" else "",
        seed=config.seed,
    )
    if np.array_equal(held_view.documents, train_view.documents):
        notes.append("There are too few documents to hold some out: the scores are on text that is also trained on.")
    # Scored by the paper's rule whatever the run trains with, so that the scores of all runs can be compared.
    held_out = replace(training, documents=held_view, rule=masking_rule(tokenizer), seed=config.seed + 1)

    model_config = config.model_config(tokenizer.vocab_size)
    # A run that goes on computes as it began: another number format would be another run.
    hardware = choose_hardware(saved["precision"] if saved else config.precision, model_config, config.threads)
    torch.manual_seed(config.seed)
    kind = BertForPreTraining if objective == "mlm+nsp" else BertForMaskedLM
    if saved:
        model = load_checkpoint(last).model.train()
    else:
        model = kind(model_config, generator=torch.Generator().manual_seed(config.seed))
    model.to(hardware.device)
    peak = config.learning_rate or learning_rate_for(model_config)
    optimizers = build_optimizers(model, config, peak)
    progress, stream = Progress(), BatchStream(training)
    if saved:
        progress = Progress(**saved["progress"])
        stream = BatchStream(training, saved["epoch"], saved["number"])
        load_optimizers(optimizers, last / "optimizer.safetensors")

    task = PretrainingTask(folder, model_config, tokenizer, stream, fixed_batches(held_out), optimizers, hardware)
    yield RunStarted(
        run=folder.name,
        step=progress.step,
        total_steps=config.steps,
        time_budget=config.time_budget_seconds,
        parameters=parameter_count(model),
        vocab_size=tokenizer.vocab_size,
        objective=objective,
        precision=hardware.precision,
        device=str(hardware.device),
        threads=hardware.threads,
        baselines=baselines(corpus.counts(tokenizer.vocab_size), tokenizer, objective),
        notes=tuple(notes),
    )
    plan = Plan(
        learning_rate=peak,
        warmup=config.warmup,
        steps=config.steps,
        seconds=config.time_budget_seconds,
        clip_norm=config.clip_norm,
        eval_every=config.eval_every,
        checkpoint_every=config.checkpoint_every,
    )
    scores: dict[str, float] = {}
    for event in train(model, task, stream, optimizers, plan, hardware, progress, should_stop):
        if isinstance(event, EvalDone):
            scores = dict(event.metrics)
        if isinstance(event, RunFinished):
            card = pretraining_card(config, model_config, tokenizer, corpus, progress, scores, hardware, objective)
            path = save_checkpoint(Checkpoint(model.cpu().eval(), tokenizer, model_config, card), folder / "model")
            write_json(folder / "report.json", {"scores": scores, **asdict(progress), "reason": event.reason})
            event = RunFinished(event.step, event.seconds, event.reason, str(path), event.message)
        yield event


@dataclass(frozen=True)
class PretrainingTask:
    """Masked language modelling, with or without next-sentence prediction, for the loop."""

    folder: Path
    model_config: BertConfig
    tokenizer: Tokenizer
    stream: BatchStream
    held_out: list[PretrainingBatch]
    optimizers: list[torch.optim.Optimizer]
    hardware: Hardware

    def step(self, model: nn.Module, batch: PretrainingBatch, measure: bool) -> StepOutput:
        batch = batch.to(self.hardware.device)
        out, mlm_logits, nsp_logits = run_batch(model, batch)
        assert out.loss is not None
        assert mlm_logits is not None
        metrics = {"mlm_loss": getattr(out, "mlm_loss", out.loss)}
        if nsp_logits is not None:
            metrics["nsp_loss"] = out.nsp_loss  # type: ignore[union-attr]
        if measure:
            metrics["mlm_accuracy"] = accuracy(mlm_logits, batch.labels)
            if nsp_logits is not None and batch.next_sentence_label is not None:
                metrics["nsp_accuracy"] = accuracy(nsp_logits, batch.next_sentence_label)
        return StepOutput(out.loss, metrics)

    def evaluate(self, model: nn.Module) -> dict[str, float]:
        return evaluate_pretraining(model, self.held_out, self.hardware)

    def save(self, model: nn.Module, progress: Progress) -> str:
        """The model as a Hugging Face folder, and beside it all that is needed to go on exactly here."""
        last = self.folder / "checkpoints" / "last"
        with whole_folder(last) as fresh:
            write_checkpoint(Checkpoint(model, self.tokenizer, self.model_config), fresh)
            save_optimizers(self.optimizers, fresh / "optimizer.safetensors")
            position = {"epoch": self.stream.epoch, "number": self.stream.number}
            body = {"progress": asdict(progress), **position, "precision": self.hardware.precision}
            write_json(fresh / "trainer.json", body)
        return str(last)


def _saved(last: Path) -> dict[str, Any] | None:
    """Where the run stood when it last saved itself, None if it never did."""
    path = last / "trainer.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def baselines(counts: np.ndarray, tokenizer: Tokenizer, objective: str) -> dict[str, float]:
    """What guessing scores, in nats: evenly over the vocabulary (ln V), or by word frequency (unigram entropy)."""
    counts = counts[counts > 0]
    share = counts / counts.sum()
    values = {
        "mlm_loss": math.log(tokenizer.vocab_size),
        "unigram_entropy": float(-(share * np.log(share)).sum()),
        "unigram_accuracy": float(share.max()),
    }
    return values | ({"nsp_loss": math.log(2), "nsp_accuracy": 0.5} if objective == "mlm+nsp" else {})


def _objective(config: PretrainConfig, corpus: TokenizedCorpus) -> tuple[str, list[str]]:
    """The objective this text allows, and what to tell the person about it."""
    if config.objective == "mlm":
        return "mlm", []
    if corpus.documents < 2:
        return "mlm", [
            "The text is a single document, so there is no other to draw a random sentence from: "
            "next-sentence prediction is left out and the model learns masked words only."
        ]
    if corpus.sentences == corpus.documents:
        return "mlm", [
            "Every document is a single sentence, so no sentence has a next one: "
            "next-sentence prediction is left out and the model learns masked words only."
        ]
    return "mlm+nsp", []
