"""What a run is given to read, part after part: forwards first, short examples first, then as the settings say."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.batches import BatchStream, PretrainingBatch, PretrainingData

#: A sequence length counts as trained from this share of the run so far on.
_MEANINGFUL = 0.05


@dataclass(frozen=True)
class Stage:
    """A part of a run: it lasts until this share of the run is done."""

    until: float
    data: PretrainingData


@dataclass(frozen=True)
class Position:
    """Which batch comes next: enough to go on exactly there."""

    stage: int = 0
    epoch: int = 0
    number: int = 0


def stages(config: PretrainConfig, data: PretrainingData) -> tuple[Stage, ...]:
    """The parts of a run. Short examples come in larger batches, so that a step has as many tokens throughout.

    Source: two sequence lengths, Devlin et al. 2018, appendix A.2; next-token prediction before masked-token
    prediction, Gisserot-Boukhlef et al. 2025. Both leave the model as it is: only the task at the start differs.
    """
    causal_until, short_until = config.causal_share, config.short_share
    if not 0 < config.short_seq_len < config.seq_len:
        short_until = 0.0
    if config.init_from:  # a model that reads already needs no easy start
        causal_until = short_until = 0.0
    found: list[Stage] = []
    start = 0.0
    for until in sorted({causal_until, short_until, 1.0}):
        if until <= start:
            continue
        part = replace(data, causal=start < causal_until, seed=data.seed + 1_000_003 * len(found))
        if start < short_until:
            more = max(1, config.seq_len // config.short_seq_len)
            part = replace(part, seq_len=config.short_seq_len, batch_size=config.batch_size * more)
        found.append(Stage(until, part))
        start = until
    return tuple(found)


class Curriculum(Iterator[PretrainingBatch]):
    """The batches of all parts; `share` tells how much of the run is done when the next batch is asked for."""

    def __init__(self, stages: tuple[Stage, ...], share: Callable[[], float], position: Position | None = None):
        self._stages, self._share = stages, share
        position = position or Position()
        self._stage = position.stage
        self._stream = BatchStream(stages[self._stage].data, position.epoch, position.number)

    @property
    def position(self) -> Position:
        return Position(self._stage, self._stream.epoch, self._stream.number)

    @property
    def reads_forwards(self) -> bool:
        """Whether most batches of the present part ask for the next token, and few for masked ones."""
        return self._stages[self._stage].data.causal

    @property
    def trained_length(self) -> int:
        """The longest `seq_len` that a twentieth of the run so far was trained on."""
        done, stages = self._share(), self._stages[: self._stage + 1]
        starts = (0.0, *(stage.until for stage in stages))
        enough = [
            stage.data.seq_len
            for start, stage in zip(starts, stages, strict=False)
            if min(done, stage.until) - start >= _MEANINGFUL * done
        ]
        return max(enough, default=stages[-1].data.seq_len)

    def __next__(self) -> PretrainingBatch:
        while self._stage < len(self._stages) - 1 and self._share() >= self._stages[self._stage].until:
            self._stage += 1
            self._stream = BatchStream(self._stages[self._stage].data)
        return next(self._stream)
