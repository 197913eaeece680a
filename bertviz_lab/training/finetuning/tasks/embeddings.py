"""Embeddings: one vector for each text, pooled as sentence-transformers does with losses equal to its own."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.data.examples import RelatedTexts
from bertviz_lab.data.tasks.batches import Features, TaskBatch
from bertviz_lab.metrics import cosine_ranks, regression_scores, retrieval_scores
from bertviz_lab.model import BertModel
from bertviz_lab.training.checkpoints.sentence_transformers_files import Pooling
from bertviz_lab.training.finetuning.predictions import Prediction
from bertviz_lab.training.finetuning.tasks.base import FinetuningTask, Logits, Outputs

#: Cosines are multiplied by it before the softmax: the inverse of a temperature of 0.05.
SCALE = 20.0


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


def has_scores(examples: Sequence[RelatedTexts]) -> bool:
    """Return whether pairs have scores; otherwise they are ranked."""
    return any(example.score is not None for example in examples)


@dataclass(frozen=True)
class Embeddings(FinetuningTask[RelatedTexts]):
    """Vectors whose cosines follow the scores of pairs, or rank each anchor's positive first."""

    name, title, pipeline = "embeddings", "sentence embeddings", "sentence-similarity"
    model_class, example_type = BertModel, RelatedTexts

    pooling: Pooling = "mean"

    def model_settings(self, train: Sequence[RelatedTexts]) -> dict[str, Any]:
        return {"num_labels": 2, "id2label": ()}

    def logits(self, model: nn.Module, batch: TaskBatch) -> Logits:
        """Return the vectors, (batch, hidden), of anchors, positives, and negatives where there are any.

        Each kind of text is one batch of the model, as wide as its longest.
        """
        masks = cast(Tensor, batch.attention_mask).unbind(1)
        vectors = []
        for ids_BL, mask_BL in zip(batch.input_ids.unbind(1), masks, strict=True):
            width = int(mask_BL.sum(1).max()) if len(mask_BL) else 1
            ids_BL, mask_BL = ids_BL[:, :width], mask_BL[:, :width]
            hidden_BLD = model(ids_BL, mask_BL, torch.zeros_like(ids_BL)).last_hidden_state
            vectors.append(pool(hidden_BLD.float(), mask_BL, self.pooling))
        return tuple(vectors)

    def loss(self, logits: Logits, batch: TaskBatch, weights: Tensor | None = None, training: bool = False) -> Tensor:
        scored = batch.targets.is_floating_point()
        return cosine_loss(logits, batch.targets, batch.count) if scored else ranking_loss(logits)

    def predictions(
        self, examples: Sequence[RelatedTexts], features: Features, outputs: list[Outputs]
    ) -> list[Prediction]:
        """Return the cosine of each pair and, without scores, the rank of its positive among all texts but anchors.

        Other positives of the same anchor do not count.
        """
        if not examples:
            return []
        vectors = [np.stack(parts) for parts in outputs]
        unit = [each / np.maximum(np.linalg.norm(each, axis=-1, keepdims=True), 1e-12) for each in vectors]
        cosines = [str(float(each[0] @ each[1])) for each in unit]
        if has_scores(examples):
            return list(map(Prediction, cosines))
        candidates: dict[str, NDArray[np.float32]] = {}
        positives: dict[str, dict[str, None]] = defaultdict(dict)
        for example, each in zip(examples, vectors, strict=True):
            positives[example.anchor][example.positive] = None
            candidates |= dict(zip(example.texts[1:], each[1:], strict=True))
        index = {text: number for number, text in enumerate(candidates)}
        right = [[index[text] for text in positives[example.anchor]] for example in examples]
        anchors = np.stack([each[0] for each in vectors])
        ranks = cosine_ranks(anchors, np.stack(list(candidates.values())), right)
        predictions = []
        for example, cosine, wanted, row_ranks in zip(examples, cosines, right, ranks, strict=True):
            own = row_ranks[wanted.index(index[example.positive])]
            predictions.append(Prediction(cosine, rank=own - sum(rank < own for rank in row_ranks)))
        return predictions

    def scores(self, examples: Sequence[RelatedTexts], predictions: Sequence[Prediction]) -> dict[str, float]:
        """Return with scores the correlation of cosines with them; without, how high the positives rank."""
        if not has_scores(examples):
            return retrieval_scores([[prediction.rank] for prediction in predictions])
        truth = np.array([example.score for example in examples], dtype=np.float64)
        scores = regression_scores(truth, np.array([float(p.label) for p in predictions]))
        return {name: scores[name] for name in ("spearman", "pearson")}

    def baselines(self, train: Sequence[RelatedTexts], held_out: Sequence[RelatedTexts]) -> dict[str, float]:
        """Return the expected scores of vectors that say nothing."""
        if has_scores(held_out):
            return {"spearman": 0.0, "pearson": 0.0}
        count = len({text for example in held_out for text in example.texts[1:]})
        recalls = {f"recall_at_{k}": min(1.0, k / count) for k in (1, 5, 10)}
        return {"mrr": float((1 / np.arange(1, count + 1)).mean()), **recalls}
