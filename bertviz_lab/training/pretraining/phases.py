"""The phases of a run: a causal-LM warm-up, short sequences and few layers first, and what each costs.

Each is a fraction of a run: of its time, or of its steps.
"""

from dataclasses import dataclass, replace

from bertviz_lab.config import PRESETS, BertConfig, PretrainConfig


@dataclass(frozen=True)
class Phase:
    """A part of a run by its settings alone: it lasts until this fraction of the run is done."""

    until: float
    causal: bool
    seq_len: int
    layers: int


def phases(config: PretrainConfig) -> tuple[Phase, ...]:
    """The phases of a run.

    Source: two sequence lengths, Devlin et al. 2018, appendix A.2; next-token prediction before masked-token
    prediction, Gisserot-Boukhlef et al. 2025; few layers first, Gong et al. 2019. All leave the final model as it is.
    """
    causal_until, short_until, shallow_until = config.causal_share, config.short_share, config.shallow_share
    if not 0 < config.short_seq_len < config.seq_len:
        short_until = 0.0
    if config.init_from:  # a trained model needs no easy start
        causal_until = short_until = 0.0
    if config.teacher or config.replaces_tokens:  # both are about masked tokens
        causal_until = 0.0
    if config.init_from or config.teacher or config.replaces_tokens or config.share_layers or config.family == "albert":
        shallow_until = 0.0  # layers that have been trained before, or are one
    layers = config.layers or PRESETS[config.preset][0]
    depths = ((shallow_until / 2, layers // 4), (shallow_until, layers // 2), (1.0, layers))
    found: list[Phase] = []
    start = 0.0
    for until in sorted({causal_until, short_until, 1.0} | {end for end, _ in depths}):
        if until <= start:
            continue
        seq_len = config.short_seq_len if start < short_until else config.seq_len
        depth = max(1, next(depth for end, depth in depths if start < end))
        phase = Phase(until, start < causal_until, seq_len, depth)
        if found and replace(found[-1], until=until) == phase:
            found.pop()
        found.append(phase)
        start = until
    return tuple(found)


def work_per_token(model: BertConfig, predicted: float, layers: int | None = None) -> float:
    """Multiplications for a token, up to a constant: the layers, and the vocabulary for the share that is predicted."""
    depth = model.num_hidden_layers if layers is None else layers
    return 12 * depth * model.hidden_size**2 + predicted * model.hidden_size * model.vocab_size


def work_by_phase(config: PretrainConfig, model: BertConfig) -> list[tuple[float, float]]:
    """For each phase the fraction of the run that it is, and `work_per_token` in it."""
    found, start = [], 0.0
    for phase in phases(config):
        predicted = 1.0 if phase.causal else config.mask_probability
        layers = min(phase.layers, model.num_hidden_layers)
        found.append((phase.until - start, work_per_token(model, predicted, layers)))
        start = phase.until
    return found


def work_done(config: PretrainConfig, model: BertConfig, done: float) -> float:
    """The fraction of a run's work that is done with this fraction of its steps; those of later phases cost more."""
    left, spent, total = done, 0.0, 0.0
    for share, work in work_by_phase(config, model):
        spent += min(left, share) * work
        total += share * work
        left = max(0.0, left - share)
    return spent / total
