"""Several blanks at once: each on its own, or one after another so that they agree with each other."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import backbone
from bertviz_lab.interpret.predictions.predictions import encode_masked
from bertviz_lab.interpret.targets import head_logits, require_head
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

_MOST_BLANKS = 20
_MOST_BEAMS = 20


@dataclass(frozen=True)
class FilledSequence:
    """One way to fill all blanks of a text: a token a blank, in the blanks' order."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    probabilities: tuple[float, ...]  # of each token when it was filled in
    order: tuple[int, ...]  # in which the blanks were filled, as places among the blanks
    log_probability: float  # the sum of the logarithms, in nats


@dataclass(frozen=True)
class JointFill:
    """All blanks filled together, the best first, beside each filled as if alone.

    `independent` has the likeliest token of every blank and the product of their probabilities.
    """

    encoding: Encoding
    positions: tuple[int, ...]
    joint: tuple[FilledSequence, ...]
    independent: FilledSequence


@dataclass(frozen=True)
class _Beam:
    ids: Tensor  # (tokens,)
    filled: tuple[tuple[int, int, float], ...]  # (place among the blanks, id, probability), in order of filling
    score: float


@torch.inference_mode()
def joint_fill(checkpoint: Checkpoint, text: str, text_b: str | None = None, *, beams: int = 5) -> JointFill:
    """Fill the blank that the model is surest of, look again, fill the next, and keep the `beams` best ways.

    BERT is trained to fill blanks independently of each other, so the sum of the logarithms depends on the order:
    it ranks fillings, it is no exact probability. Raises `InputError` as `fill_mask` does.
    """
    model = require_head(checkpoint, "token")
    if not 1 <= beams <= _MOST_BEAMS:
        raise InputError(f"Keep between 1 and {_MOST_BEAMS} ways to fill the masked tokens.")
    inputs, positions = encode_masked(checkpoint, text, text_b)
    if len(positions) > _MOST_BLANKS:
        raise InputError(f"{len(positions)} masked tokens are too many to fill jointly: leave {_MOST_BLANKS} at most.")

    def predict(ids_BL: Tensor) -> Tensor:
        """Log-probabilities of all tokens in all blanks: (batch, blanks, vocabulary)."""
        asked = torch.tensor([positions]).expand(len(ids_BL), -1)
        out = backbone(checkpoint)(**inputs.variants(ids_BL), masked_positions=asked)
        return head_logits(model, "token", out.last_hidden_state).float().log_softmax(-1)

    first_PV = predict(inputs.input_ids)[0]
    best = first_PV.max(-1)
    alone = _Beam(
        inputs.input_ids[0],
        tuple((place, int(i), float(p.exp())) for place, (p, i) in enumerate(zip(*best, strict=True))),
        float(best.values.sum()),
    )
    ways = [_Beam(inputs.input_ids[0], (), 0.0)]
    for step in range(len(positions)):
        tables = first_PV[None] if step == 0 else predict(torch.stack([way.ids for way in ways]))
        grown = [new for way, table in zip(ways, tables, strict=True) for new in _grow(way, table, positions, beams)]
        ways = sorted(_different(grown), key=lambda way: -way.score)[:beams]
    return JointFill(
        inputs.encoding,
        positions,
        tuple(_finish(checkpoint, way) for way in ways),
        _finish(checkpoint, alone),
    )


def _grow(way: _Beam, table_PV: Tensor, positions: tuple[int, ...], beams: int) -> list[_Beam]:
    """The ways that begin with `way` and fill the blank of which the model is surest."""
    done = {place for place, _, _ in way.filled}
    place = max((p for p in range(len(positions)) if p not in done), key=lambda p: float(table_PV[p].max()))
    grown = []
    for score, token_id in zip(*table_PV[place].topk(min(beams, table_PV.shape[1])), strict=True):
        ids = way.ids.clone()
        ids[positions[place]] = token_id
        filled = (*way.filled, (place, int(token_id), float(score.exp())))
        grown.append(_Beam(ids, filled, way.score + float(score)))
    return grown


def _different(ways: list[_Beam]) -> list[_Beam]:
    """The same filling may be reached in several orders: the best of them."""
    best: dict[tuple[int, ...], _Beam] = {}
    for way in ways:
        key = tuple(way.ids.tolist())
        if key not in best or way.score > best[key].score:
            best[key] = way
    return list(best.values())


def _finish(checkpoint: Checkpoint, way: _Beam) -> FilledSequence:
    by_place = sorted(way.filled)
    return FilledSequence(
        tokens=tuple(checkpoint.tokenizer.token(token_id) for _, token_id, _ in by_place),
        ids=tuple(token_id for _, token_id, _ in by_place),
        probabilities=tuple(p for _, _, p in by_place),
        order=tuple(place for place, _, _ in way.filled),
        log_probability=way.score,
    )
