"""Position embeddings for longer texts than a model was trained on."""

import torch
from torch import Tensor, nn

from bertviz_lab.model.embeddings import Embeddings
from bertviz_lab.training.loop.sharding import shard_like, whole

_VARIANCE = 0.9  # of the trained vectors, which the axes that are rotated explain
_EDGE = 2  # positions at each end of a text, where [CLS] and [SEP] stand, which differ from those within
_FEWEST = 16  # trained positions from which others can be continued


@torch.no_grad()
def extend_positions(model: nn.Module, known: int, length: int) -> bool:
    """Continue the position embeddings from the `known` trained positions to `length`; returns whether there are any.

    Trained vectors lie near a few waves along the positions. On their main axes one rotation carries each position
    to the next (orthogonal Procrustes, Schönemann 1966); carried on, it places the others at the same distances from
    their neighbours, so that heads that look to a neighbour find it. Copies of the trained vectors would not do:
    such heads then find several neighbours.
    """
    if not _FEWEST <= known < length:
        return False
    extended = False
    for module in model.modules():
        if not isinstance(module, Embeddings) or module.position is None:
            continue
        table = whole(module.position.weight).clone()
        rows = table[module.offset : module.offset + length]
        if rows.any():
            trained_LD = rows[_EDGE : known - _EDGE].cpu().double()
            rows[known:] = continued(trained_LD, len(rows) - known + _EDGE)[_EDGE:].to(rows)
            module.position.weight.copy_(shard_like(table, module.position.weight))
            extended = True
    return extended


def continued(trained_LD: Tensor, more: int) -> Tensor:
    """The next `more` vectors (more, hidden) of a sequence of vectors (positions, hidden)."""
    mean_D = trained_LD.mean(0)
    _, sizes, axes_KD = torch.linalg.svd(trained_LD - mean_D, full_matrices=False)
    explained = sizes.square().cumsum(0) / sizes.square().sum()
    axes_KD = axes_KD[: int((explained < _VARIANCE).sum()) + 1]
    trained_LK = (trained_LD - mean_D) @ axes_KD.T
    left_KK, _, right_KK = torch.linalg.svd(trained_LK[:-1].T @ trained_LK[1:])
    rotation_KK, next_K, further_LK = left_KK @ right_KK, trained_LK[-1], []
    for _ in range(more):
        next_K = next_K @ rotation_KK
        further_LK.append(next_K)
    return mean_D + torch.stack(further_LK) @ axes_KD
