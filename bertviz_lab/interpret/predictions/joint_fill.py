"""Joint fill: several masked tokens predicted one after another by beam search, so that they agree."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.inputs import backbone
from bertviz_lab.interpret.predictions.predictions import encode_masked
from bertviz_lab.interpret.targets import head_logits, require_head
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

_MOST_MASKS = 20
_MOST_BEAMS = 20


@dataclass(frozen=True)
class FilledSequence:
    """One way to fill all masked tokens of a text, in the order of their positions."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    probabilities: tuple[float, ...]  # of each token when it was filled in
    order: tuple[int, ...]  # in which they were filled, as indices into the masked tokens
    log_probability: float  # the sum of the logarithms, in nats


@dataclass(frozen=True)
class JointFill:
    """Masked tokens filled jointly, the best sequence first, beside each filled independently.

    `independent` has the most probable token at every position and the product of their probabilities.
    """

    encoding: Encoding
    positions: tuple[int, ...]
    joint: tuple[FilledSequence, ...]
    independent: FilledSequence


@dataclass(frozen=True)
class _Beam:
    ids: Tensor  # (tokens,)
    filled: tuple[tuple[int, int, float], ...]  # (index among the masked tokens, id, probability), in order of filling
    score: float


@torch.inference_mode()
def joint_fill(checkpoint: Checkpoint, text: str, text_b: str | None = None, *, beams: int = 5) -> JointFill:
    """Fill in the most confident prediction, predict again, and keep the `beams` best sequences.

    BERT is trained to predict masked tokens independently, so the sum of the log-probabilities depends on the order:
    it ranks sequences and is no exact probability. Raises `InputError` as `fill_mask` does.
    """
    model = require_head(checkpoint, "token")
    if not 1 <= beams <= _MOST_BEAMS:
        raise InputError(f"Keep between 1 and {_MOST_BEAMS} ways to fill the masked tokens.")
    inputs, positions = encode_masked(checkpoint, text, text_b)
    if len(positions) > _MOST_MASKS:
        raise InputError(f"{len(positions)} masked tokens are too many to fill jointly: leave {_MOST_MASKS} at most.")

    def predict(ids_BL: Tensor) -> Tensor:
        """Log-probabilities of all tokens at all masked positions: (batch, masks, vocabulary)."""
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
    candidates = [_Beam(inputs.input_ids[0], (), 0.0)]
    for step in range(len(positions)):
        tables = first_PV[None] if step == 0 else predict(torch.stack([beam.ids for beam in candidates]))
        grown = [
            new for beam, table in zip(candidates, tables, strict=True) for new in _grow(beam, table, positions, beams)
        ]
        # The same sequence may be reached in several orders: the best of them replaces the others.
        distinct = {tuple(beam.ids.tolist()): beam for beam in sorted(grown, key=lambda beam: beam.score)}
        candidates = sorted(distinct.values(), key=lambda beam: -beam.score)[:beams]
    return JointFill(
        inputs.encoding,
        positions,
        tuple(_finish(checkpoint, beam) for beam in candidates),
        _finish(checkpoint, alone),
    )


def _grow(beam: _Beam, table_PV: Tensor, positions: tuple[int, ...], beams: int) -> list[_Beam]:
    """The sequences that extend a beam by its most confident prediction."""
    done = {place for place, _, _ in beam.filled}
    place = max((p for p in range(len(positions)) if p not in done), key=lambda p: float(table_PV[p].max()))
    grown = []
    for score, token_id in zip(*table_PV[place].topk(min(beams, table_PV.shape[1])), strict=True):
        ids = beam.ids.clone()
        ids[positions[place]] = token_id
        filled = (*beam.filled, (place, int(token_id), float(score.exp())))
        grown.append(_Beam(ids, filled, beam.score + float(score)))
    return grown


def _finish(checkpoint: Checkpoint, beam: _Beam) -> FilledSequence:
    by_place = sorted(beam.filled)
    return FilledSequence(
        tokens=tuple(checkpoint.tokenizer.token(token_id) for _, token_id, _ in by_place),
        ids=tuple(token_id for _, token_id, _ in by_place),
        probabilities=tuple(p for _, _, p in by_place),
        order=tuple(place for place, _, _ in beam.filled),
        log_probability=beam.score,
    )
