"""Embeddings: one vector for each text, pooled as sentence-transformers does, with losses equal to its own."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.data.examples import LabelledText, RelatedTexts
from bertviz_lab.data.tasks.batches import Features, Limits, TaskBatch, TaskBatches, encode_examples
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.regression import cosine_ranks, regression_scores, retrieval_scores
from bertviz_lab.model import BertModel
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
from bertviz_lab.training.checkpoints.sentence_transformers_files import Pooling
from bertviz_lab.training.finetuning.tasks.base import SCORED_AT_ONCE, FinetuningTask, Logits, Outputs, Prediction
from bertviz_lab.training.loop.hardware import choose_hardware

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


def relation_loss(own_ND: Tensor, theirs_ND: Tensor) -> Tensor:
    """Return the KL divergence of how like each text of a batch is to every other, by the student and by its teacher.

    Of each text it is a softmax over the cosines with the others, sharpened as in `ranking_loss` (Fang et al. 2021,
    section 3.2, whose queue is here the batch); a mean over texts, in nats. The vectors may be of any two sizes.
    """
    own_NN, theirs_NN = (
        (SCALE * unit @ unit.T).fill_diagonal_(-1e4).log_softmax(-1)  # a text is always like itself
        for unit in (F.normalize(vectors, dim=-1) for vectors in (own_ND, theirs_ND))
    )
    return F.kl_div(own_NN, theirs_NN, log_target=True, reduction="batchmean")


def has_scores(examples: Sequence[RelatedTexts]) -> bool:
    """Return whether pairs have scores; otherwise they are ranked."""
    return any(example.score is not None for example in examples)


@dataclass(frozen=True)
class Embeddings(FinetuningTask[RelatedTexts]):
    """Vectors whose cosines follow the scores of pairs, or rank each anchor's positive first."""

    name, title, pipeline = "embeddings", "sentence embeddings", "sentence-similarity"
    model_class, example_type, numeric = BertModel, RelatedTexts, True
    unchecked = "Texts that belong together have no labels."

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

    def outputs_to_follow(
        self, teacher: FinetuningTask, outputs: list[Outputs], read: Features, features: Features
    ) -> Tensor:
        """Return the teacher's vectors, (examples, texts, hidden)."""
        return torch.from_numpy(np.stack([np.stack(vectors) for vectors in outputs]))

    def teacher_loss(self, logits: Logits, theirs: Tensor, batch: TaskBatch) -> Tensor:
        return relation_loss(torch.cat(logits), theirs.transpose(0, 1).flatten(0, 1))

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

    def example_score(self, example: RelatedTexts, prediction: Prediction) -> float:
        """Return minus the error of the cosine, or without a score the reciprocal of the rank."""
        return 1 / prediction.rank if example.score is None else -abs(example.score - float(prediction.label))

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


_LARGEST = 500_000_000  # bytes

#: Questions, the candidates of all of them, and the indices of each one's right candidates.
RetrievalSet = tuple[list[str], list[str], list[list[int]]]


def read_retrieval_set(paths: Sequence[str | Path]) -> RetrievalSet | None:
    """`{"questions": [...], "candidates": [...], "ground_truths": [[index, ...], ...]}`; None for any other files.

    Raises `InputError` where such a file does not fit together, or is not the only one.
    """
    searches = [search for path in map(Path, paths) if (search := _read(path)) is not None]
    if searches and len(paths) > 1:
        raise InputError("A file of questions with their candidates is scored by itself: give it alone.")
    return searches[0] if searches else None


def _read(path: Path) -> RetrievalSet | None:
    if path.suffix.lower() != ".json" or not path.is_file() or path.stat().st_size > _LARGEST:
        return None
    try:
        body: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    if not isinstance(body, dict) or not {"questions", "candidates", "ground_truths"} <= body.keys():
        return None
    questions, candidates, right = (body[name] for name in ("questions", "candidates", "ground_truths"))
    texts = all(isinstance(part, list) and all(isinstance(t, str) and t.strip() for t in part) and part
                for part in (questions, candidates))  # fmt: skip
    if not texts or not isinstance(right, list) or len(right) != len(questions):
        raise InputError(f"{path.name} needs questions, candidates, and for each question a list in ground_truths.")
    for number, wanted in enumerate(right, 1):
        known = isinstance(wanted, list) and all(type(i) is int and 0 <= i < len(candidates) for i in wanted)
        if not known or not wanted:
            among = f"among the {len(candidates):,}"
            raise InputError(f"Question {number:,} of {path.name} has no right candidate {among}.")
    return questions, candidates, right


@torch.inference_mode()
def search_scores(checkpoint: Checkpoint, search: RetrievalSet, *, max_length: int, threads: int) -> dict[str, float]:
    """Return how high the right candidates of each question rank by cosine: MRR and recall at 1, 5 and 10."""
    questions, candidates, right = search
    texts = list(dict.fromkeys([*questions, *candidates]))
    examples = [LabelledText(text, None, 0.0, 0) for text in texts]
    features = encode_examples(examples, "regression", checkpoint.tokenizer, (), Limits(max_length))
    hardware = choose_hardware("fp32", threads)
    model, pooling = hardware.borrow(checkpoint.model), checkpoint.pooling or "mean"
    vectors = np.empty((len(texts), checkpoint.config.hidden_size), dtype=np.float32)
    for batch in TaskBatches(features, SCORED_AT_ONCE, checkpoint.tokenizer.pad_id, 0).in_order():
        ids_BL, mask_BL = batch.input_ids.to(hardware.device), batch.attention_mask
        mask_BL = torch.ones_like(ids_BL) if mask_BL is None else mask_BL.to(hardware.device)
        vectors[batch.rows] = pool(model(ids_BL, mask_BL).last_hidden_state.float(), mask_BL, pooling).cpu()
    place = {text: number for number, text in enumerate(texts)}
    queries, documents = (vectors[[place[text] for text in part]] for part in (questions, candidates))
    return retrieval_scores(cosine_ranks(queries, documents, right))
