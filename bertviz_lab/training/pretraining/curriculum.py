"""The stages of a run: a causal-LM warm-up if there is one, short sequences first, then batches as the settings say."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.data.batches import BatchStream, Prefetcher
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData
from bertviz_lab.data.pretraining.streaming import ChunkReader, StreamedData
from bertviz_lab.training.loop.growth import SHALLOWEST, layers_at

#: A sequence length counts as trained from this share of the run so far on.
_MEANINGFUL = 0.05


@dataclass(frozen=True)
class Stage:
    """A part of a run: it lasts until this fraction of the run is done."""

    until: float
    data: PretrainingData


@dataclass(frozen=True)
class DataPosition:
    """Which batch comes next: enough to resume exactly there."""

    stage: int = 0
    epoch: int = 0  # or chunk of a streamed text
    number: int = 0
    place: dict[str, Any] | None = None  # of that chunk in its data set


def stages(config: PretrainConfig, data: PretrainingData) -> tuple[Stage, ...]:
    """Return the stages of a run. Short examples come in larger batches, so that a step has as many tokens throughout.

    Source: two sequence lengths, Devlin et al. 2018, appendix A.2; next-token prediction before masked-token
    prediction, Gisserot-Boukhlef et al. 2025. Both leave the model as it is: only the task at the start differs.
    """
    causal_until, short_until = causal_share(config), config.short_share
    if not 0 < config.short_seq_len < config.seq_len or config.init_from:  # a trained model needs no easy start
        short_until = 0.0
    schedule: list[Stage] = []
    start = 0.0
    for until in sorted({causal_until, short_until, 1.0}):
        if until <= start:
            continue
        part = replace(data, causal=start < causal_until, seed=data.seed + 1_000_003 * len(schedule))
        if start < short_until:
            more = max(1, config.seq_len // config.short_seq_len)
            part = replace(part, seq_len=config.short_seq_len, batch_size=config.batch_size * more)
        schedule.append(Stage(until, part))
        start = until
    return tuple(schedule)


class Curriculum(Iterator[PretrainingBatch]):
    """The batches of all stages, made ahead of time; `fraction_done` says how much of the run is done.

    The stage is chosen when a batch is taken, not when it is made: what was made ahead of a stage that is over is
    dropped. Whoever iterates calls `close` in the end. With a `reader` the text is streamed: a stage takes up the chunk
    that the one before it was at. `on_longer` is called with the lengths before and after, when a stage has longer
    examples than the one before, and by `look_ahead`. `in_process` is for a GPU, see `ProcessStream`.
    """

    def __init__(
        self,
        stages: tuple[Stage, ...],
        fraction_done: Callable[[], float],
        position: DataPosition | None = None,
        reader: ChunkReader | None = None,
        on_longer: Callable[[int, int], object] = lambda before, after: None,
        *,
        in_process: bool = False,
    ):
        self._stages, self._fraction_done, self._reader, self._on_longer = stages, fraction_done, reader, on_longer
        self._in_process = in_process and reader is None  # which is asked here where it is
        position = position or DataPosition()
        self._stage = position.stage
        self._stream = self._open(position.epoch, position.number)

    def _open(self, epoch: int, number: int) -> Prefetcher[PretrainingBatch]:
        data = self._stages[self._stage].data
        stream = BatchStream(StreamedData(data, self._reader) if self._reader else data, epoch, number)
        return Prefetcher(stream, in_process=self._in_process)

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
        starts = (0.0, *(stage.until for stage in stages))
        meaningful = [
            stage.data.seq_len
            for start, stage in zip(starts, stages, strict=False)
            if min(done, stage.until) - start >= _MEANINGFUL * done
        ]
        return max(meaningful, default=stages[-1].data.seq_len)

    @property
    def is_causal(self) -> bool:
        """Whether most batches of the present stage are for next-token prediction, and few are masked."""
        return self._stages[self._stage].data.causal

    @property
    def is_last(self) -> bool:
        """Whether the present stage is the last: until then losses fall and rise by plan."""
        return self._stage == len(self._stages) - 1

    def look_ahead(self) -> None:
        """Call `on_longer` for the longest examples that are to come: the model is about to be given some."""
        now, longest = (self._stages[stage].data.seq_len for stage in (self._stage, -1))
        if self._fraction_done() > 0 and longest > now:
            self._on_longer(now, longest)

    def __next__(self) -> PretrainingBatch:
        while not self.is_last and self._fraction_done() >= self._stages[self._stage].until:
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


@dataclass(frozen=True)
class Phase:
    """A part of a run, as planned by its settings."""

    share: float  # of the run
    causal: bool  # causal-LM warm-up: every token is predicted
    layers: int


def causal_share(config: PretrainConfig) -> float:
    """Return the fraction of a run that is causal first: the warm-up of an MLM from random weights, or a detour.

    Source: a detour in continued pretraining, Touchent and de la Clergerie 2026.
    """
    return config.causal_share if config.starts_from_scratch else config.causal_detour


def shallow_share(config: PretrainConfig) -> float:
    """Return the fraction of a run that trains some of the layers.

    None where they are trained already, or are one, or where a run may end early, which a shallow model would not show.
    """
    shares_layers = config.share_layers or config.family == "albert"
    grows = config.starts_from_scratch and not shares_layers and not config.patience
    return config.shallow_share if grows else 0.0


def phases(config: PretrainConfig, layers: int) -> tuple[Phase, ...]:
    """Return the phases of a run, from the number of layers of its model."""
    causal, shallow = causal_share(config), shallow_share(config)
    borders = sorted({0.0, causal, SHALLOWEST * shallow, shallow, 1.0})
    return tuple(
        Phase(end - start, start < causal, layers_at(shallow, layers, start)) for start, end in pairwise(borders)
    )


def stacking_note(config: PretrainConfig, layers: int) -> str:
    """When which layers are trained, for those who watch a run; "" where all are throughout."""
    starts, start = dict[int, float](), 0.0  # by the number of layers
    for phase in phases(config, layers):
        starts.setdefault(phase.layers, start)
        start += phase.share
    (first, _), *later = starts.items()
    if not later:
        return ""
    joins = [f", {'all' if count == layers else count} from {start:.0%} of the run on" for count, start in later]
    verb = "is" if first == 1 else "are"
    return f"Progressive stacking: {first} of {layers} layers {verb} trained at first{''.join(joins)}."


def work_per_token(model: BertConfig, predicted: float, layers: int | None = None) -> float:
    """Multiplications for a token, up to a constant: the layers, and the vocabulary for the share that is predicted."""
    layers = layers or model.num_hidden_layers
    return 12 * layers * model.hidden_size**2 + predicted * model.hidden_size * model.vocab_size


def work_by_phase(config: PretrainConfig, model: BertConfig) -> list[tuple[float, float]]:
    """For each phase the fraction of the run that it is, and `work_per_token` in it."""
    return [
        (phase.share, work_per_token(model, 1.0 if phase.causal else config.mean_mask_probability, phase.layers))
        for phase in phases(config, model.num_hidden_layers)
    ]


def work_done(config: PretrainConfig, model: BertConfig, done: float) -> float:
    """Return the fraction of a run's work after this fraction of its steps; those of later phases cost more."""
    shares, work = np.array(work_by_phase(config, model)).T
    spent = np.cumsum([0.0, *(shares * work)])
    return float(np.interp(done, np.cumsum([0.0, *shares]), spent) / spent[-1])
