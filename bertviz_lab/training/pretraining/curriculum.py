"""The batches of a run, phase by phase, made ahead of time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.batches import BatchStream
from bertviz_lab.data.prefetch import Prefetcher
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData
from bertviz_lab.data.pretraining.streaming import ChunkReader, StreamedData
from bertviz_lab.training.pretraining.phases import phases

#: A sequence length counts as trained from this share of the run so far on.
_MEANINGFUL = 0.05


@dataclass(frozen=True)
class Stage:
    """A phase with its data: it lasts until this fraction of the run is done, and trains so many layers."""

    until: float
    data: PretrainingData
    layers: int


@dataclass(frozen=True)
class DataPosition:
    """Which batch comes next: enough to resume exactly there."""

    stage: int = 0
    epoch: int = 0  # or chunk of a streamed text
    number: int = 0
    place: dict[str, Any] | None = None  # of that chunk in its data set


def stages(config: PretrainConfig, data: PretrainingData) -> tuple[Stage, ...]:
    """The phases with their data. Short examples come in larger batches: a step has as many tokens throughout."""
    return tuple(
        Stage(
            phase.until,
            replace(
                data,
                causal=phase.causal,
                seq_len=phase.seq_len,
                batch_size=config.batch_size * max(1, config.seq_len // phase.seq_len),
                seed=data.seed + 1_000_003 * place,
            ),
            phase.layers,
        )
        for place, phase in enumerate(phases(config))
    )


class Curriculum(Iterator[PretrainingBatch]):
    """The batches of all stages, made ahead of time; `fraction_done` says how much of the run is done.

    The stage is chosen when a batch is taken, not when it is made: what was made ahead of a stage that is over is
    dropped. Whoever iterates calls `close` in the end. With a `reader` the text is streamed: a stage takes up the chunk
    that the one before it was at. `on_longer` is called with the lengths before and after, when a stage has longer
    examples than the one before, and by `look_ahead`; `on_layers` with the layers that a stage trains, at its start.
    """

    def __init__(
        self,
        stages: tuple[Stage, ...],
        fraction_done: Callable[[], float],
        position: DataPosition | None = None,
        reader: ChunkReader | None = None,
        on_longer: Callable[[int, int], object] = lambda before, after: None,
        on_layers: Callable[[int], object] = lambda layers: None,
    ):
        self._stages, self._fraction_done, self._reader = stages, fraction_done, reader
        self._on_longer, self._on_layers = on_longer, on_layers
        position = position or DataPosition()
        self._stage = position.stage
        self._stream = self._open(position.epoch, position.number)

    def _open(self, epoch: int, number: int) -> Prefetcher[PretrainingBatch]:
        data = self._stages[self._stage].data
        self._on_layers(self._stages[self._stage].layers)
        return Prefetcher(BatchStream(StreamedData(data, self._reader) if self._reader else data, epoch, number))

    @property
    def position(self) -> DataPosition:
        """The place of the next batch to be taken."""
        epoch = self._stream.epoch
        place = self._reader.place(epoch) if self._reader else None
        return DataPosition(self._stage, epoch, self._stream.number, place)

    @property
    def trained_length(self) -> int:
        """The longest `seq_len` that a twentieth of the run so far was trained on."""
        done, stages = self._fraction_done(), self._stages[: self._stage + 1]
        shares: dict[int, float] = {}
        for start, stage in zip((0.0, *(stage.until for stage in stages)), stages, strict=False):
            shares[stage.data.seq_len] = shares.get(stage.data.seq_len, 0.0) + min(done, stage.until) - start
        meaningful = [seq_len for seq_len, share in shares.items() if share >= _MEANINGFUL * done]
        return max(meaningful, default=stages[-1].data.seq_len)

    @property
    def is_causal(self) -> bool:
        """Whether most batches of the present stage are for next-token prediction, and few are masked."""
        return self._stages[self._stage].data.causal

    def look_ahead(self) -> None:
        """Call `on_longer` for the longest examples that are to come: the model is about to be given some."""
        now, longest = (self._stages[stage].data.seq_len for stage in (self._stage, -1))
        if self._fraction_done() > 0 and longest > now:
            self._on_longer(now, longest)

    def __next__(self) -> PretrainingBatch:
        while self._stage < len(self._stages) - 1 and self._fraction_done() >= self._stages[self._stage].until:
            before = self._stages[self._stage].data.seq_len
            self._stage += 1
            self._stream.close()
            self._stream = self._open(self._stream.epoch if self._reader else 0, 0)
            if (after := self._stages[self._stage].data.seq_len) > before:
                self._on_longer(before, after)
        return next(self._stream)

    def close(self) -> None:
        """End the thread that makes batches."""
        self._stream.close()
