"""Vectors of related texts to predictions and scores: cosines beside scores, ranks among all candidates."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.examples import RelatedTexts
from bertviz_lab.metrics import cosine_ranks, regression_report, retrieval_report
from bertviz_lab.training.finetuning.predictions.prediction import Prediction


def has_scores(examples: Sequence[RelatedTexts]) -> bool:
    """Whether pairs have scores; otherwise they are ranked."""
    return any(example.score is not None for example in examples)


def related_predictions(examples: Sequence[RelatedTexts], vectors: Sequence[NDArray[np.float32]]) -> list[Prediction]:
    """The cosine of each pair and, without scores, the rank of its positive among all texts that are no anchors.

    `vectors` are those of each example's texts, (texts, hidden). Other positives of the same anchor do not count.
    """
    if not examples:
        return []
    anchors = np.stack([each[0] for each in vectors])
    unit = [each / np.maximum(np.linalg.norm(each, axis=-1, keepdims=True), 1e-12) for each in vectors]
    cosines = [float(each[0] @ each[1]) for each in unit]
    if has_scores(examples):
        return [Prediction(label=str(cosine)) for cosine in cosines]
    candidates: dict[str, NDArray[np.float32]] = {}
    positives: dict[str, dict[str, None]] = defaultdict(dict)
    for example, each in zip(examples, vectors, strict=True):
        positives[example.anchor][example.positive] = None
        candidates |= dict(zip(example.texts[1:], each[1:], strict=True))
    index = {text: number for number, text in enumerate(candidates)}
    right = [[index[text] for text in positives[example.anchor]] for example in examples]
    ranks = cosine_ranks(anchors, np.stack(list(candidates.values())), right)
    predictions = []
    for example, cosine, wanted, row_ranks in zip(examples, cosines, right, ranks, strict=True):
        own = row_ranks[wanted.index(index[example.positive])]
        predictions.append(Prediction(label=str(cosine), rank=own - sum(rank < own for rank in row_ranks)))
    return predictions


def related_scores(examples: Sequence[RelatedTexts], predictions: Sequence[Prediction]) -> dict[str, float]:
    """With scores the correlation of cosines with them; without, how high the positives rank."""
    if has_scores(examples):
        truth = np.array([example.score for example in examples], dtype=np.float64)
        report = regression_report(truth, np.array([float(p.label) for p in predictions]))
        return {"spearman": report.spearman, "pearson": report.pearson}
    return retrieval_scores([[prediction.rank] for prediction in predictions])


def retrieval_scores(ranks: Sequence[Sequence[int]]) -> dict[str, float]:
    """MRR and recall, by their names, from the ranks of each query's right candidates."""
    report = retrieval_report(ranks)
    return {name: getattr(report, name) for name in ("mrr", "recall_at_1", "recall_at_5", "recall_at_10")}


def random_baseline(examples: Sequence[RelatedTexts]) -> dict[str, float]:
    """The expected scores of vectors that say nothing."""
    if has_scores(examples):
        return {"spearman": 0.0, "pearson": 0.0}
    count = len({text for example in examples for text in example.texts[1:]})
    recalls = {f"recall_at_{k}": min(1.0, k / count) for k in (1, 5, 10)}
    return {"mrr": float((1 / np.arange(1, count + 1)).mean()), **recalls}
