"""The contenders of a comparison, each in its own process, which trains in its turn and sleeps otherwise.

A process has its settings from its first breath: how it waits for its threads, what it does with freed memory. In one
process the lab's would help the others, and theirs hold the lab back.
"""

import itertools
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

import numpy as np
import torch

from benchmarks.corpus import find_text, learnt_tokenizer, tokenized
from benchmarks.flops import synchronize
from benchmarks.hf_reference import Reference
from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.data.batches import BatchStream
from bertviz_lab.data.loaders import masked_inputs
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData, masking_rule
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.loop.hardware import Hardware, choose_hardware, tune_malloc
from bertviz_lab.training.loop.optim import build_optimizers, clip_and_step

SEQ_LEN = 128
# A default run, with the 15% masked of the other side.
SETTINGS = PretrainConfig(corpus=("any",), mask_probability=0.15)
_READY = 64  # batches that transformers goes through again and again


@dataclass(frozen=True)
class Case:
    """One size of model, and how many times faster the lab means to be than each of the two."""

    preset: str
    vocab_size: int
    batch_size: int
    goal_fp32: float | None = None
    goal_bf16: float | None = None

    @property
    def name(self) -> str:
        return f"{self.preset}-{self.vocab_size}"

    def config(self, dropout: float) -> BertConfig:
        return BertConfig.preset(
            self.preset,
            vocab_size=self.vocab_size,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )


@dataclass(frozen=True)
class Side:
    """Who trains, and how: the lab in its own number format, or transformers in a given one."""

    trainer: str  # lab or hf
    dropout: float = 0.0
    bf16: bool = False  # of hf
    optimizer: str = SETTINGS.optimizer  # of the lab; hf has AdamW
    causal: bool = False  # a causal-LM warm-up
    keeps_memory: bool = False  # hf with the lab's word to the C library to keep what tensors free


SIDES = {
    "lab": Side("lab"),
    "hf fp32": Side("hf", dropout=0.1),
    "hf bf16": Side("hf", dropout=0.1, bf16=True),
    "lab adamw": Side("lab", optimizer="adamw"),
    "lab adamw dropout": Side("lab", optimizer="adamw", dropout=0.1),
    "lab causal warm-up": Side("lab", causal=True),
    "hf fp32 no dropout": Side("hf"),
    "hf bf16 no dropout": Side("hf", bf16=True),
    "hf fp32 keeps memory": Side("hf", dropout=0.1, keeps_memory=True),
    "hf bf16 keeps memory": Side("hf", dropout=0.1, bf16=True, keeps_memory=True),
}


class Lab:
    """The lab's training as a default run does it, one whole step at a time."""

    def __init__(self, config: BertConfig, hardware: Hardware, settings: PretrainConfig = SETTINGS):
        self.hardware = hardware
        self.model = BertForPreTraining(config, generator=torch.Generator().manual_seed(0)).to(hardware.device).train()
        self.optimizers = build_optimizers(self.model, settings, 1e-4)

    def step(self, batch: PretrainingBatch) -> None:
        batch = batch.to(self.hardware.device)
        with self.hardware.autocast():
            out = self.model(
                batch.input_ids,
                batch.attention_mask,
                batch.token_type_ids,
                labels=batch.labels,
                next_sentence_label=batch.next_sentence_label,
                masked_positions=batch.masked_positions,
                causal=batch.causal,
            )
        assert out.loss is not None
        self.hardware.backward(out.loss)
        clip_and_step(self.model, self.optimizers, SETTINGS.max_grad_norm, self.hardware.scaler)


def batches(case: Case, seq_len: int = SEQ_LEN, causal: bool = False) -> BatchStream:
    """Training batches as a default run draws them from the text, or those of a causal-LM warm-up."""
    text = find_text()
    tokenizer = learnt_tokenizer(text.train, case.vocab_size)
    corpus = tokenized(text.train, tokenizer)
    return BatchStream(
        PretrainingData(
            documents=corpus.select(np.arange(corpus.documents)),
            tokenizer=tokenizer,
            rule=masking_rule(tokenizer),
            seq_len=seq_len,
            batch_size=case.batch_size,
            short_seq_probability=SETTINGS.short_seq_probability,
            pairs="nsp",
            seed=0,
            causal=causal,
        )
    )


def stepper(
    side: Side, case: Case, device: torch.device, threads: int, precision: str, seq_len: int
) -> Callable[[], int]:
    """A training of this side in this process: each call makes one step and returns the real tokens it took."""
    stream = batches(case, seq_len, side.causal)
    if side.trainer == "hf":
        torch.set_num_threads(threads)
        if side.keeps_memory:
            tune_malloc()
        reference = Reference(case.config(side.dropout), device, bf16=side.bf16)
        ready = itertools.cycle([(masked_inputs(b), b.real_tokens) for b in itertools.islice(stream, _READY)])

        def step() -> int:
            inputs, real_tokens = next(ready)
            reference.step(inputs)
            return real_tokens

    else:
        config = case.config(side.dropout)
        hardware = choose_hardware(precision, threads)  # which also sets the process up, as for any run
        lab = Lab(config, hardware, replace(SETTINGS, optimizer=side.optimizer))

        def step() -> int:
            batch = next(stream)
            lab.step(batch)
            return batch.real_tokens

    return step


def turn(step: Callable[[], int], device: torch.device, seconds: float) -> float:
    """Real tokens a second over at least `seconds` and three steps."""
    synchronize(device)
    tokens, steps, start = 0, 0, time.perf_counter()
    while steps < 3 or time.perf_counter() - start < seconds:
        tokens += step()
        steps += 1
        if device.type == "cuda" and steps % 8 == 0:
            synchronize(device)  # the clock must not run ahead of the work
    synchronize(device)
    return tokens / (time.perf_counter() - start)


def environment(side: Side) -> dict[str, str]:
    """What a side's process is started with besides: libgomp's own way to wait, which the lab shortens for itself."""
    return {"GOMP_SPINCOUNT": "300000"} if side.trainer == "hf" else {}


class Turns:
    """A side in a process of its own. Use in a `with`."""

    def __init__(self, side: Side, case: Case, hardware: Hardware):
        self._side = side
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        arguments = (there, side, case, hardware.device, hardware.threads, hardware.precision)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)

    def __enter__(self) -> "Turns":
        ours = os.environ.copy()
        os.environ |= environment(self._side)
        self._process.start()  # with the environment as it is now
        os.environ |= ours
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()

    def take(self, seconds: float) -> float:
        """Train that long; tokens a second."""
        self._pipe.send(seconds)
        return self._pipe.recv()


def _serve(pipe: Connection, side: Side, case: Case, device: torch.device, threads: int, precision: str) -> None:
    step = stepper(side, case, device, threads, precision, SEQ_LEN)
    while True:
        pipe.send(turn(step, device, pipe.recv()))
