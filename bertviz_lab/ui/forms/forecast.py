"""What a training will take on this machine: measured for a moment on the model itself, or on a smaller relative."""

import threading
from dataclasses import dataclass
from typing import Any

from bertviz_lab.config import BertConfig, PretrainConfig

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

    def __init__(self) -> None:
        self._lock = threading.Lock()  # one measurement at a time: two would slow each other down
        self._speeds: dict[tuple[Any, ...], float] = {}

    def forecast(self, config: PretrainConfig, model: BertConfig) -> Forecast:
        """For a run that trains this model. A text's vocabulary is rounded, so that it is measured once."""
        from bertviz_lab.training.loop.memory import available_memory, estimate_memory

        rounded = model.replace(vocab_size=-(-model.vocab_size // 1024) * 1024)
        return Forecast(
            tokens_per_second=self._speed(config, rounded) * _pace(config, rounded),
            memory_bytes=estimate_memory(model, config, config.precision).total,
            available_bytes=available_memory(),
        )

    def _speed(self, config: PretrainConfig, model: BertConfig) -> float:
        from bertviz_lab.training.loop.throughput import tokens_per_second

        largest = BertConfig.preset(_LARGEST_TRIED, vocab_size=model.vocab_size)
        tried = model if _work(model) <= _work(largest) else largest
        key = (tried, config.seq_len, config.batch_size, config.optimizer)
        with self._lock:
            if key not in self._speeds:
                self._speeds[key] = tokens_per_second(tried, config)
            speed = self._speeds[key]
        return speed * _work(tried) / _work(model)


def _work(model: BertConfig, asked: float = 0.15) -> float:
    """Multiplications for a token, up to a constant: the layers, and the vocabulary for the share that is asked for."""
    return 12 * model.num_hidden_layers * model.hidden_size**2 + asked * model.hidden_size * model.vocab_size


def _pace(config: PretrainConfig, model: BertConfig) -> float:
    """Mean speed of a run in which a part reads forwards, where every token is asked for, over that of masking."""
    share = 0.0 if config.init_from else config.causal_share
    cost = _work(model, 1.0) / _work(model)
    # A part is a share of the time, or of the steps.
    return 1 - share + share / cost if config.steps is None else 1 / (1 - share + share * cost)
