"""Vectors of texts: pooling of the final hidden states, and the losses, equal to those of sentence-transformers."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bertviz_lab.data.tasks.batches import TaskBatch
from bertviz_lab.training.checkpoints.sentence_transformers_files import Pooling

#: Cosines are multiplied by it before the softmax: the inverse of a temperature of 0.05.
SCALE = 20.0
_AT_ONCE = 64


def pool(hidden_BLD: Tensor, attention_mask_BL: Tensor, pooling: Pooling) -> Tensor:
    """Return one vector for each text, (batch, hidden), over its attended tokens, as sentence-transformers does."""
    if pooling == "cls":
        return hidden_BLD[:, 0]
    mask_BL1 = attention_mask_BL[..., None].bool()
    if pooling == "max":
        return hidden_BLD.masked_fill(~mask_BL1, -torch.inf).amax(1)
    if pooling == "lasttoken":
        last_B = mask_BL1.shape[1] - 1 - attention_mask_BL.long().flip(1).argmax(1)
        return hidden_BLD[torch.arange(len(hidden_BLD), device=hidden_BLD.device), last_B]
    weights_BL1 = mask_BL1.to(hidden_BLD.dtype)
    if pooling == "weightedmean":  # later tokens count more (SGPT, Muennighoff 2022)
        weights_BL1 = weights_BL1 * torch.arange(1, mask_BL1.shape[1] + 1, device=hidden_BLD.device)[None, :, None]
    total_B1 = weights_BL1.sum(1)
    return (hidden_BLD * weights_BL1).sum(1) / (total_B1.sqrt() if pooling == "mean_sqrt_len_tokens" else total_B1)


@torch.inference_mode()
def embed_rows(
    model: nn.Module, rows: Sequence[NDArray[np.int32]], pad_id: int, device: torch.device, pooling: Pooling
) -> NDArray[np.float32]:
    """One vector for each row of token ids, (rows, hidden), in batches of rows of like length."""
    order = np.argsort([-len(row) for row in rows], kind="stable")
    vectors: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(rows)
    for start in range(0, len(order), _AT_ONCE):
        chosen = order[start : start + _AT_ONCE]
        padded = pad_sequence([torch.tensor(rows[n]).long() for n in chosen], batch_first=True, padding_value=pad_id)
        lengths = torch.tensor([len(rows[n]) for n in chosen])
        mask_BL = (torch.arange(padded.shape[1])[None] < lengths[:, None]).to(device)
        hidden_BLD = model(padded.to(device), mask_BL).last_hidden_state
        for row, vector in zip(chosen, pool(hidden_BLD.float(), mask_BL, pooling).cpu().numpy(), strict=True):
            vectors[row] = vector
    return np.stack(vectors)


def related_vectors(model: nn.Module, batch: TaskBatch, pooling: Pooling = "mean") -> tuple[Tensor, ...]:
    """The vectors of each text of the examples, (batch, hidden): anchors, positives, and negatives where there are any.

    Each kind of text is one batch of the model, as wide as its longest.
    """
    masks = cast(Tensor, batch.attention_mask).unbind(1)
    vectors = []
    for ids_BL, mask_BL in zip(batch.input_ids.unbind(1), masks, strict=True):
        width = int(mask_BL.sum(1).max()) if len(mask_BL) else 1
        ids_BL, mask_BL = ids_BL[:, :width], mask_BL[:, :width]
        hidden_BLD = model(ids_BL, mask_BL, torch.zeros_like(ids_BL)).last_hidden_state
        vectors.append(pool(hidden_BLD.float(), mask_BL, pooling))
    return tuple(vectors)


def ranking_loss(vectors: Sequence[Tensor]) -> Tensor:
    """Return the multiple-negatives ranking loss (Henderson et al. 2017, section 4).

    `vectors` are those of anchors, positives and any negatives, (batch, hidden) each. Candidates of every anchor are
    all positives and negatives of the batch; the loss is the mean cross-entropy in nats.
    """
    anchors_BD, candidates_CD = F.normalize(vectors[0], dim=-1), F.normalize(torch.cat(list(vectors[1:])), dim=-1)
    scores_BC = SCALE * anchors_BD @ candidates_CD.T
    return F.cross_entropy(scores_BC, torch.arange(len(scores_BC), device=scores_BC.device))


def cosine_loss(vectors: Sequence[Tensor], scores_B: Tensor, count: int) -> Tensor:
    """Return the squared difference of cosine and score (Reimers and Gurevych 2019), over `count` pairs."""
    cosines_B = F.cosine_similarity(vectors[0], vectors[1], dim=-1)
    return F.mse_loss(cosines_B, scores_B, reduction="sum") / max(1, count)
