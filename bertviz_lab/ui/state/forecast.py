"""What a training will take on this machine: measured for a moment on the model itself, or on a smaller relative.

On a page that others use too a confined process measures, since the shape is a visitor's.
"""

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.config.limits import Limits
from bertviz_lab.confined import Confinement, Workers
from bertviz_lab.errors import InputError

#: Larger models are not tried in the page's own process; their speed follows from this one's.
_LARGEST_TRIED = "small"


@dataclass(frozen=True)
class Forecast:
    """Speed and memory of a run before it has begun."""

    tokens_per_second: float
    memory_bytes: int
    available_bytes: int


class Forecaster:
    """Measures each shape of model once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._workers = Workers(("bertviz_lab.training.loop.clock",))  # copies of a process that has torch
        self._lock = threading.Lock()  # one measurement at a time: two would slow each other down
        self._speeds: dict[tuple[Any, ...], float] = {}

    def forecast(self, config: PretrainConfig, model: BertConfig, teacher: BertConfig | None = None) -> Forecast:
        """Return the forecast for a run that trains this model. Raises `InputError` beyond the limits of the page."""
        from bertviz_lab.training.loop.hardware import precision_on_cpu
        from bertviz_lab.training.loop.memory import available_memory
        from bertviz_lab.training.pretraining.setup import estimate_memory

        refuse_large(model, self._limits)
        rounded = model.replace(vocab_size=-(-model.vocab_size // 1024) * 1024)
        return Forecast(
            tokens_per_second=self._speed(config, rounded) * _pace(config, rounded, teacher),
            memory_bytes=estimate_memory(model, config, precision_on_cpu(config.precision), teacher=teacher).total,
            available_bytes=available_memory(),
        )

    def _speed(self, config: PretrainConfig, model: BertConfig) -> float:
        from bertviz_lab.training.loop.clock import tokens_per_second
        from bertviz_lab.training.pretraining.curriculum import work_per_token

        masked = config.mean_mask_probability
        largest = BertConfig.preset(_LARGEST_TRIED, vocab_size=model.vocab_size)
        tried = model if work_per_token(model, masked) <= work_per_token(largest, masked) else largest
        key = (tried, config.seq_len, config.batch_size, config.optimizer, masked)
        with self._lock:
            if key not in self._speeds:
                work = partial(tokens_per_second, tried, config)
                subject = ("A step of this training", "compute")
                limits = Confinement(self._limits.worker_bytes, self._limits.worker_seconds, subject=subject)
                self._speeds[key] = self._workers.run(work, limits) if self._limits.shared else work()
        return self._speeds[key] * work_per_token(tried, masked) / work_per_token(model, masked)


def refuse_large(model: BertConfig, limits: Limits) -> None:
    """Raise `InputError` for a model of more parameters than may be trained; nothing is built to count them."""
    hidden, inner = model.hidden_size, model.intermediate_size
    embeddings = model.vocab_size + model.max_position_embeddings + model.type_vocab_size + 2
    layers = 1 if model.share_layers else model.num_hidden_layers
    layer = 4 * hidden**2 + 2 * hidden * inner + 9 * hidden + inner
    count = embeddings * hidden + layers * layer + 2 * hidden**2 + model.vocab_size  # the last: pooler, and MLM head
    if count > limits.run_parameters:
        raise InputError(
            f"This model has about {count / 1e6:,.0f} million parameters, and this page trains up to "
            f"{limits.run_parameters / 1e6:,.0f} million: choose a smaller model, or a smaller vocabulary."
        )


def _pace(config: PretrainConfig, model: BertConfig, teacher: BertConfig | None = None) -> float:
    """Return the mean speed of a run over that of masked language modeling with this model alone."""
    from bertviz_lab.training.pretraining.curriculum import work_by_phase, work_per_token

    masked = config.mean_mask_probability
    if teacher:  # makes a forward pass, a third of a training step
        return 1 / (1 + work_per_token(teacher, masked) / (3 * work_per_token(model, masked)))
    if config.replaces_tokens:  # a discriminator, which predicts no words, and a generator
        generator = work_per_token(config.generator_config(model), masked)
        return work_per_token(model, masked) / (work_per_token(model, 0.0) + generator)
    # Slower where every next token is predicted, faster where some of the layers are trained.
    costs = [(share, work / work_per_token(model, masked)) for share, work in work_by_phase(config, model)]
    if config.steps is None:  # a phase is a share of the time, else of the steps
        return sum(share / cost for share, cost in costs)
    return 1 / sum(share * cost for share, cost in costs)
