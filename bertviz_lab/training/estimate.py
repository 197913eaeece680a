"""How fast this machine trains a model, and how much memory that takes: tried for a moment, not looked up."""

import time
from dataclasses import dataclass

import psutil
import torch

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.optim import build_optimizers

_PROCESS_BYTES = 450 * 2**20  # Python, torch and the tokenizer before any model
_COPIES = 4  # each weight in 32 bits: itself, its gradient, and AdamW's two averages


@dataclass(frozen=True)
class Estimate:
    """What to expect of a run."""

    tokens_per_second: float
    memory_bytes: int
    available_bytes: int

    @property
    def fits(self) -> bool:
        return self.memory_bytes < self.available_bytes

    def seconds_for(self, tokens: int) -> float:
        return tokens / self.tokens_per_second


def memory_needed(model: BertConfig, settings: PretrainConfig) -> int:
    """Bytes a run takes at its peak: weights, gradients, optimiser, and what the backward pass must remember."""
    with torch.device("meta"):
        weights = sum(p.numel() for p in BertForPreTraining(model).parameters())
    tokens = settings.batch_size * settings.seq_len
    # A layer remembers about 14 vectors of the hidden size for each token, the feed-forward ones counted by width.
    remembered = model.num_hidden_layers * tokens * (6 * model.hidden_size + 2 * model.intermediate_size)
    predictions = max(1, round(settings.mask_probability * tokens)) * model.vocab_size * 3
    return _PROCESS_BYTES + 4 * (_COPIES * weights + remembered + predictions)


def estimate(model_config: BertConfig, settings: PretrainConfig, seconds: float = 0.4) -> Estimate:
    """Train on random ids for about `seconds` with a small batch; the figure is for the threads torch has now."""
    generator = torch.Generator().manual_seed(0)
    examples = max(1, min(settings.batch_size, 1024 // settings.seq_len))
    shape = (examples, settings.seq_len)
    ids = torch.randint(5, model_config.vocab_size, shape, generator=generator)
    positions = torch.arange(1, 1 + max(1, round(settings.mask_probability * settings.seq_len))).expand(examples, -1)
    labels = ids.gather(1, positions)
    next_label = torch.zeros(examples, dtype=torch.long)
    model = BertForPreTraining(model_config, generator=generator)
    optimizers = build_optimizers(model, settings, 1e-4)

    steps, start = 0, 0.0
    while True:
        out = model(ids, labels=labels, next_sentence_label=next_label, positions=positions)
        out.loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        steps += 1
        if steps == 1:  # the first step prepares kernels and buffers
            start = time.perf_counter()
        elif (elapsed := time.perf_counter() - start) > seconds:
            break
    return Estimate(
        tokens_per_second=(steps - 1) * ids.numel() / elapsed,
        memory_bytes=memory_needed(model_config, settings),
        available_bytes=psutil.virtual_memory().available,
    )
