"""What a training will take on this machine: measured for a moment on the model itself, or on a smaller relative."""

import threading
from dataclasses import dataclass
from typing import Any

from bertviz_lab.config import BertConfig, PretrainConfig

#: Larger models are not tried in the page's own process; their speed follows from this one's.
_TRIED = ("tiny", "mini", "small")


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

    def forecast(self, config: PretrainConfig, vocab_size: int) -> Forecast:
        """For a vocabulary of `vocab_size` tokens. A text's vocabulary is rounded, so that it is measured once."""
        from bertviz_lab.training.memory import memory_available, memory_needed

        model = config.model_config(vocab_size)
        return Forecast(
            tokens_per_second=self._speed(config, -(-vocab_size // 1024) * 1024),
            memory_bytes=memory_needed(model, config, config.precision).total,
            available_bytes=memory_available(),
        )

    def _speed(self, config: PretrainConfig, vocab_size: int) -> float:
        from bertviz_lab.training.estimate import tokens_per_second

        tried = config.preset if config.preset in _TRIED else _TRIED[-1]
        model = BertConfig.preset(tried, vocab_size=vocab_size)
        key = (tried, vocab_size, config.seq_len, config.batch_size, config.optimizer)
        with self._lock:
            if key not in self._speeds:
                self._speeds[key] = tokens_per_second(model, config)
            speed = self._speeds[key]
        return speed * _work(model) / _work(config.model_config(vocab_size))


def _work(model: BertConfig) -> float:
    """Multiplications for a token, up to a constant: the layers, and the vocabulary for the hidden ones."""
    return 12 * model.num_hidden_layers * model.hidden_size**2 + 0.15 * model.hidden_size * model.vocab_size
