"""What a run costs: its phases differ in what is predicted, and in how many layers are trained."""

from dataclasses import dataclass
from itertools import pairwise

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.training.loop.progressive_stacking import layers_at


@dataclass(frozen=True)
class Phase:
    """A part of a run, as planned by its settings."""

    share: float  # of the run
    causal: bool  # causal-LM warm-up: every token is predicted
    layers: int


def causal_share(config: PretrainConfig) -> float:
    """The fraction of a run that is causal-LM warm-up: none of a model that is trained further, or about masks."""
    return config.causal_share if config.starts_from_scratch else 0.0


def shallow_share(config: PretrainConfig) -> float:
    """The fraction of a run that trains some of the layers: none where they are trained already, or are one."""
    shares_layers = config.share_layers or config.family == "albert"
    return config.shallow_share if config.starts_from_scratch and not shares_layers else 0.0


def phases(config: PretrainConfig, layers: int) -> tuple[Phase, ...]:
    """The phases of a run that trains a model of so many layers."""
    causal, shallow = causal_share(config), shallow_share(config)
    borders = sorted({0.0, causal, shallow / 2, shallow, 1.0})
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
    joins = [f"{'all' if count == layers else count} from {start:.0%} of the run on" for count, start in later]
    few = f"{first} of {layers} layers {'is' if first == 1 else 'are'} trained at first"
    return f"Progressive stacking: {', '.join([few, *joins])}."


def work_per_token(model: BertConfig, predicted: float, layers: int | None = None) -> float:
    """Multiplications for a token, up to a constant: the layers, and the vocabulary for the share that is predicted."""
    layers = layers or model.num_hidden_layers
    return 12 * layers * model.hidden_size**2 + predicted * model.hidden_size * model.vocab_size


def work_by_phase(config: PretrainConfig, model: BertConfig) -> list[tuple[float, float]]:
    """For each phase the fraction of the run that it is, and `work_per_token` in it."""
    return [
        (phase.share, work_per_token(model, 1.0 if phase.causal else config.mask_probability, phase.layers))
        for phase in phases(config, model.num_hidden_layers)
    ]


def work_done(config: PretrainConfig, model: BertConfig, done: float) -> float:
    """The fraction of a run's work that is done with this fraction of its steps; those of later phases cost more."""
    left, spent, total = done, 0.0, 0.0
    for share, work in work_by_phase(config, model):
        spent += min(left, share) * work
        total += share * work
        left = max(0.0, left - share)
    return spent / total
