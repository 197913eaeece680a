"""The losses of sentence embeddings; equal to those of the sentence-transformers library."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

#: Cosines are multiplied by it before the softmax: the inverse of a temperature of 0.05.
SCALE = 20.0


def ranking_loss(vectors: Sequence[Tensor]) -> Tensor:
    """Multiple negatives ranking (Henderson et al. 2017, section 4): which candidate belongs to each anchor?

    `vectors` are those of anchors, positives and any negatives, (batch, hidden) each. Candidates of every anchor are
    all positives and negatives of the batch; the loss is the mean cross-entropy in nats.
    """
    anchors_BD, candidates_CD = F.normalize(vectors[0], dim=-1), F.normalize(torch.cat(list(vectors[1:])), dim=-1)
    scores_BC = SCALE * anchors_BD @ candidates_CD.T
    return F.cross_entropy(scores_BC, torch.arange(len(scores_BC), device=scores_BC.device))


def cosine_loss(vectors: Sequence[Tensor], scores_B: Tensor, count: int) -> Tensor:
    """The squared difference of each pair's cosine and its score (Reimers and Gurevych 2019), over `count` pairs."""
    cosines_B = F.cosine_similarity(vectors[0], vectors[1], dim=-1)
    return F.mse_loss(cosines_B, scores_B, reduction="sum") / max(1, count)
