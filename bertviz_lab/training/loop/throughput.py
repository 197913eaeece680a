"""How fast this machine trains a model: measured for a moment."""

import time

import torch

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.loop.hardware import cpu_multiplies_bf16
from bertviz_lab.training.loop.optim import build_optimizers

_MAX_TOKENS, _SECONDS = 4096, 0.4


def tokens_per_second(model_config: BertConfig, settings: PretrainConfig) -> float:
    """Train on random ids for a moment in the run's precision, with torch's current number of threads.

    The batch is the run's, up to `_MAX_TOKENS`, so that the fixed cost of a step has the same weight.
    """
    generator = torch.Generator().manual_seed(0)
    examples = max(1, min(settings.batch_size, _MAX_TOKENS // settings.seq_len))
    shape = (examples, settings.seq_len)
    ids = torch.randint(5, model_config.vocab_size, shape, generator=generator)
    positions = torch.arange(1, 1 + max(1, round(settings.mask_probability * settings.seq_len))).expand(examples, -1)
    labels = ids.gather(1, positions)
    next_label = torch.zeros(examples, dtype=torch.long)
    model = BertForPreTraining(model_config, generator=generator)
    optimizers = build_optimizers(model, settings, 1e-4)

    half = settings.precision != "fp32" and cpu_multiplies_bf16()
    steps, start = 0, 0.0
    while True:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            out = model(ids, labels=labels, next_sentence_label=next_label, masked_positions=positions)
        out.loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        steps += 1
        if steps == 1:  # the first step compiles kernels and allocates buffers
            start = time.perf_counter()
        elif (elapsed := time.perf_counter() - start) > _SECONDS:
            return (steps - 1) * ids.numel() / elapsed
