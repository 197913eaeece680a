"""Pretraining from a text to a model: read, learn a vocabulary, tokenize, train, save. A stream of events."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.data.pretraining.batches import PretrainingData, masking_rule
from bertviz_lab.data.pretraining.split import split_corpus
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.data.probes import probes_for
from bertviz_lab.errors import InputError
from bertviz_lab.model import BertForMaskedLM, BertForPreTraining
from bertviz_lab.model.weights import load_state, state_for_huggingface
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.atomic_io import remove_partial_writes
from bertviz_lab.training.checkpoints.checkpoint import (
    Checkpoint,
    checkpoint_folder,
    load_checkpoint,
    parameter_count,
    save_checkpoint,
)
from bertviz_lab.training.checkpoints.checkpoint_manager import CheckpointManager, SavedCheckpoint
from bertviz_lab.training.checkpoints.model_card import pretraining_card, source_name
from bertviz_lab.training.checkpoints.optimizer_state import load_optimizers
from bertviz_lab.training.checkpoints.snapshots import SnapshotWriter
from bertviz_lab.training.loop.hardware import broadcast_object, choose_hardware, start_accelerator
from bertviz_lab.training.loop.loop import LoopConfig, Progress, train
from bertviz_lab.training.loop.memory import require_memory
from bertviz_lab.training.loop.optim import ablate_embeddings, build_optimizers
from bertviz_lab.training.loop.schedule import default_learning_rate
from bertviz_lab.training.pretraining.curriculum import Curriculum, Position, stages
from bertviz_lab.training.pretraining.evaluate import SCORED_AT_ONCE, fixed_batches
from bertviz_lab.training.pretraining.objective import PretrainingTask
from bertviz_lab.training.pretraining.prepare import prepare
from bertviz_lab.training.pretraining.probing import Questions
from bertviz_lab.training.runs.events import EvalDone, Event, Preparing, RunFinished, RunStarted
from bertviz_lab.training.runs.run_folder import write_json

#: Google's code writes the text out this many times, each time cut and masked differently, and then repeats these.
_DUPE_FACTOR = 10
#: A model that knows a language already is led on more gently: this share of the peak learning rate.
CONTINUED = 0.4


def pretrain(
    config: PretrainConfig, folder: Path, *, resume: bool = False, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Event]:
    """Run, or with `resume` go on with, a pretraining in `folder`.

    Under `accelerate launch` or `torchrun` every process calls this; all see the same events, one writes.
    Raises `InputError` when the text or the settings cannot be used, before anything is trained.
    """
    accelerator = start_accelerator()
    store = CheckpointManager(folder / "checkpoints", config.keep_checkpoints)
    saved: SavedCheckpoint | None = None
    if accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "config.json", config.to_dict())
        prepared = resume and (folder / "corpus" / "corpus.json").is_file()
        if prepared:
            saved = store.newest()
            yield from _said_of(saved)
        else:
            brought = str(checkpoint_folder(config.init_from)) if config.init_from else config.tokenizer
            yield from prepare(replace(config, init_from="", tokenizer=brought), folder)
    saved = broadcast_object(accelerator, saved)
    tokenizer = Tokenizer.load(folder / "tokenizer")
    corpus = TokenizedCorpus.open(folder / "corpus")
    objective, notes = _objective(config, corpus)
    training, held_out, overlapping = _data(config, objective, tokenizer, corpus)
    if overlapping:
        notes.append("The text is too short to hold some of it out: the scores are on text that is also trained on.")

    start = load_checkpoint(saved.path if saved else config.init_from) if saved or config.init_from else None
    model_config = _model_config(config, objective, tokenizer, start)
    if start and config.init_from:
        notes.append(
            f"Goes on from {source_name(config.init_from)}, with its tokenizer: the first score is what it knew before."
        )
    # A run that goes on computes as it began: another number format would be another run.
    position = _read_position(saved)
    hardware = choose_hardware(position.get("precision", config.precision), model_config, config.threads, accelerator)
    require_memory(model_config, config, hardware)
    torch.manual_seed(config.seed + hardware.rank)
    bare = _model(objective, model_config, config.seed, start)
    ablate_embeddings(bare, positions=not config.position_embeddings, segments=not config.segment_embeddings)
    model = hardware.prepare(bare)
    peak = config.learning_rate or default_learning_rate(model_config) * (CONTINUED if config.init_from else 1.0)
    optimizers = build_optimizers(bare, config, peak)
    progress = Progress(**position.get("progress", {}))
    if saved:
        load_optimizers(optimizers, saved.path / "optimizer.safetensors")
        if hardware.rank:  # the random stream that was saved is the main process's
            torch.manual_seed(config.seed + hardware.rank + 1_000_003 * progress.step)
        if hardware.scaler:
            hardware.scaler.load_state_dict(position["scale"])

    plan = LoopConfig(
        learning_rate=peak,
        warmup=config.warmup,
        steps=config.steps,
        seconds=config.time_budget_seconds,
        max_grad_norm=config.max_grad_norm,
        gradient_accumulation_steps=config.gradient_accumulation_steps,
        eval_every=config.eval_every,
        checkpoint_every=config.checkpoint_every,
    )
    place = Position(**position.get("position", {}))
    curriculum = Curriculum(stages(config, training), lambda: plan.fraction_done(progress), place)
    batches = fixed_batches(held_out)
    snapshots = SnapshotWriter(folder / "snapshots", config.snapshot_room * 1_000_000)
    probes = probes_for(config.corpus, tokenizer) if config.probes else None
    questions = Questions(probes, tokenizer, model_config.max_position_embeddings) if probes else None
    task = PretrainingTask(
        bare, model_config, tokenizer, curriculum, batches, optimizers, hardware, store, snapshots, questions
    )
    yield RunStarted(
        run=folder.name,
        step=progress.step,
        total_steps=config.steps,
        time_budget=config.time_budget_seconds,
        parameters=parameter_count(bare),
        vocab_size=tokenizer.vocab_size,
        objective=objective,
        precision=hardware.precision,
        device=str(hardware.device),
        threads=hardware.threads,
        baselines=baselines(corpus.counts(tokenizer.vocab_size), tokenizer, objective),
        notes=tuple(notes),
    )
    if config.init_from and not saved:  # what the model knew before, to compare with at the end
        yield EvalDone(0, 0.0, 0, task.evaluate(model))
    scores: dict[str, float] = {}
    resumed_from = str(saved.path) if saved else ""
    for event in train(model, task, curriculum, optimizers, plan, hardware, progress, should_stop, resumed_from):
        if isinstance(event, EvalDone):
            scores = dict(event.metrics)
        if isinstance(event, RunFinished):
            card = pretraining_card(config, model_config, tokenizer, corpus, progress, scores, hardware, objective)
            if hardware.is_main:
                remove_partial_writes(folder / "model")
                save_checkpoint(Checkpoint(bare.cpu().eval(), tokenizer, model_config, card), folder / "model")
                write_json(folder / "report.json", {"scores": scores, **asdict(progress), "reason": event.reason})
            event = replace(event, path=str(folder / "model"))
        yield event


def _said_of(saved: SavedCheckpoint | None) -> Iterator[Preparing]:
    """What a person should know of the checkpoint that a run goes on from."""
    if saved is None:
        yield Preparing("resume", 0, 0, "No checkpoint was saved yet; starting from the first step")
    elif saved.damaged:
        yield Preparing("resume", 0, 0, f"Passed over {'; '.join(saved.damaged)}. Going on from step {saved.step}")


def _data(
    config: PretrainConfig, objective: str, tokenizer: Tokenizer, corpus: TokenizedCorpus
) -> tuple[PretrainingData, PretrainingData, bool]:
    """What is trained on, what is held out, and whether the text was too short to hold anything out."""
    pairs = objective.removeprefix("mlm").removeprefix("+")
    train_view, held_view = split_corpus(corpus, min_documents=2 if pairs == "nsp" else 1)
    training = PretrainingData(
        documents=train_view,
        tokenizer=tokenizer,
        rule=masking_rule(
            tokenizer,
            config.mask_probability,
            config.whole_word,
            config.span_masking,
            mask_share=config.mask_shares[0],
            random_share=config.mask_shares[1],
        ),
        seq_len=config.seq_len,
        batch_size=config.batch_size,
        short_seq_probability=config.short_seq_probability,
        pairs=pairs,
        seed=config.seed,
        repeat_after=_DUPE_FACTOR if config.masking == "static" else None,
    )
    # Scored by the paper's rule whatever the run trains with, so that the scores of all runs can be compared.
    held_out = replace(
        training,
        documents=held_view,
        rule=masking_rule(tokenizer),
        batch_size=SCORED_AT_ONCE,
        seed=config.seed + 1,
        repeat_after=None,
    )
    return training, held_out, np.array_equal(held_view.spans, train_view.spans)


def _model_config(config: PretrainConfig, objective: str, tokenizer: Tokenizer, start: Checkpoint | None) -> BertConfig:
    """The shape of the model: the preset's, or that of the model the run starts from."""
    if start is None:
        return config.model_config(tokenizer.vocab_size)
    if config.seq_len > start.config.max_position_embeddings:
        raise InputError(
            f"{start.name} reads at most {start.config.max_position_embeddings} tokens; lower --seq-len to that."
        )
    if objective != "mlm" and start.config.type_vocab_size < 2:
        raise InputError(f"{start.name} knows one segment only; choose the objective mlm.")
    return start.config.replace(
        hidden_dropout_prob=config.dropout,
        attention_probs_dropout_prob=config.dropout,
        is_decoder=start.config.is_decoder or not config.bidirectional,  # what reads forwards only goes on doing so
    )


def _model(
    objective: str, config: BertConfig, seed: int, start: Checkpoint | None
) -> BertForPreTraining | BertForMaskedLM:
    """A model with the heads of the objective; what `start` has of it is taken over, the rest begins at random."""
    kind = BertForMaskedLM if objective == "mlm" else BertForPreTraining
    model = kind(config, generator=torch.Generator().manual_seed(seed))
    if start is not None:
        load_state(model, state_for_huggingface(start.model))
    return model.train()


def _read_position(saved: SavedCheckpoint | None) -> dict[str, Any]:
    """Where the run stood when it saved itself; nothing for a run that begins."""
    if saved is None:
        return {}
    body = json.loads((saved.path / "trainer.json").read_text(encoding="utf-8"))
    if "epoch" in body:  # written before runs had parts
        body["position"] = {"stage": 0, "epoch": body["epoch"], "number": body["number"]}
    return body


def baselines(counts: np.ndarray, tokenizer: Tokenizer, objective: str) -> dict[str, float]:
    """What guessing scores, in nats: evenly over the vocabulary (ln V), or by word frequency (unigram entropy)."""
    counts = counts[counts > 0]
    share = counts / counts.sum()
    values = {
        "mlm_loss": math.log(tokenizer.vocab_size),
        "unigram_entropy": float(-(share * np.log(share)).sum()),
        "unigram_accuracy": float(share.max()),
    }
    return values | ({"nsp_loss": math.log(2), "nsp_accuracy": 0.5} if objective != "mlm" else {})


def _objective(config: PretrainConfig, corpus: TokenizedCorpus) -> tuple[str, list[str]]:
    """The objective this text allows, and what to tell the person about it."""
    if config.objective == "mlm":
        return "mlm", []
    if corpus.documents < 2 and config.objective == "mlm+nsp":
        return "mlm", [
            "The text is a single document, so there is no other to draw a random sentence from: "
            "next-sentence prediction is left out and the model learns masked words only."
        ]
    if corpus.sentences == corpus.documents:
        return "mlm", [
            "Every document is a single sentence, so no sentence has a next one: "
            "sentence pairs are left out and the model learns masked words only."
        ]
    return config.objective, []
