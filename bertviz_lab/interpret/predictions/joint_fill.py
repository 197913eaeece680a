"""Joint fill: several masked tokens predicted one after another, by beam search."""

from dataclasses import dataclass

import torch
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.cost import check_passes
from bertviz_lab.interpret.inputs import OnProgress, backbone, nothing
from bertviz_lab.interpret.predictions.predictions import encode_masked
from bertviz_lab.interpret.targets import head_logits, require_head
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint

_MAX_MASKS = 20
_MAX_BEAMS = 20


@dataclass(frozen=True)
class FilledSequence:
    """Tokens for all [MASK]s of a text, in the order of their positions."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    probabilities: tuple[float, ...]  # of each token when it was filled in
    order: tuple[int, ...]  # in which they were filled, as indices into the masked tokens
    log_probability: float  # the sum of the logarithms, in nats


@dataclass(frozen=True)
class JointFill:
    """Masked tokens filled jointly, the best sequence first, and independently.

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
def joint_fill(
    checkpoint: Checkpoint,
    text: str,
    text_b: str | None = None,
    *,
    beams: int = 5,
    on_progress: OnProgress = nothing,
) -> JointFill:
    """Repeatedly fill in the most confident prediction, keeping the `beams` best sequences.

    BERT is trained to predict masked tokens independently, so the sum of the log-probabilities depends on the order:
    it ranks sequences but is not an exact probability. Raises `InputError` as `fill_mask` does.
    """
    model = require_head(checkpoint, "token")
    if not 1 <= beams <= _MAX_BEAMS:
        raise InputError(f"Keep between 1 and {_MAX_BEAMS} ways to fill the masked tokens.")
    inputs, positions = encode_masked(checkpoint, text, text_b)
    if len(positions) > _MAX_MASKS:
        raise InputError(f"{len(positions)} masked tokens are too many to fill jointly: leave {_MAX_MASKS} at most.")
    check_passes(checkpoint, len(inputs.encoding), 1 + beams * (len(positions) - 1), "Joint filling")

    def predict(ids_BL: Tensor) -> Tensor:
        """Log-probabilities of all tokens at all masked positions: (batch, masks, vocabulary)."""
        masked_positions = torch.tensor([positions]).expand(len(ids_BL), -1)
        out = backbone(checkpoint)(**inputs.variants(ids_BL), masked_positions=masked_positions)
        return head_logits(model, "token", out.last_hidden_state).float().log_softmax(-1)

    first_PV = predict(inputs.input_ids)[0]
    best = first_PV.max(-1)
    independent = _Beam(
        inputs.input_ids[0],
        tuple((index, int(i), float(p.exp())) for index, (p, i) in enumerate(zip(*best, strict=True))),
        float(best.values.sum()),
    )
    candidates = [_Beam(inputs.input_ids[0], (), 0.0)]
    for step in range(len(positions)):
        tables = first_PV[None] if step == 0 else predict(torch.stack([beam.ids for beam in candidates]))
        extended = [
            extension
            for beam, table in zip(candidates, tables, strict=True)
            for extension in _extend(beam, table, positions, beams)
        ]
        # Several orders may give the same sequence: keep the best.
        distinct = {tuple(beam.ids.tolist()): beam for beam in sorted(extended, key=lambda beam: beam.score)}
        candidates = sorted(distinct.values(), key=lambda beam: -beam.score)[:beams]
        on_progress((step + 1) / len(positions))
    return JointFill(
        inputs.encoding,
        positions,
        tuple(_finish(checkpoint, beam) for beam in candidates),
        _finish(checkpoint, independent),
    )


def _extend(beam: _Beam, table_PV: Tensor, positions: tuple[int, ...], beams: int) -> list[_Beam]:
    """The sequences that extend a beam by its most confident prediction."""
    filled_indices = {index for index, _, _ in beam.filled}
    index = max((p for p in range(len(positions)) if p not in filled_indices), key=lambda p: float(table_PV[p].max()))
    extended = []
    for score, token_id in zip(*table_PV[index].topk(min(beams, table_PV.shape[1])), strict=True):
        ids = beam.ids.clone()
        ids[positions[index]] = token_id
        filled = (*beam.filled, (index, int(token_id), float(score.exp())))
        extended.append(_Beam(ids, filled, beam.score + float(score)))
    return extended


def _finish(checkpoint: Checkpoint, beam: _Beam) -> FilledSequence:
    in_order = sorted(beam.filled)
    return FilledSequence(
        tokens=tuple(checkpoint.tokenizer.token(token_id) for _, token_id, _ in in_order),
        ids=tuple(token_id for _, token_id, _ in in_order),
        probabilities=tuple(p for _, _, p in in_order),
        order=tuple(index for index, _, _ in beam.filled),
        log_probability=beam.score,
    )
