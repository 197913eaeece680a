"""Loss, predictions and scores of each task: logits to predictions, predictions to metrics."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.examples import Example, LabelledText, LabelledWords, Question, RelatedTexts, Task
from bertviz_lab.data.tasks.batches import Features, TaskBatch, TaskBatches, multi_hot
from bertviz_lab.data.tasks.question_answering import AnswerPrediction, extract_answers
from bertviz_lab.metrics import (
    answer_report,
    entity_report,
    marks_entities,
    regression_report,
)
from bertviz_lab.metrics.names import METRICS
from bertviz_lab.model.losses import cross_entropy
from bertviz_lab.training.checkpoints.sentence_transformers_files import Pooling
from bertviz_lab.training.finetuning.embeddings import (
    cosine_loss,
    random_baseline,
    ranking_loss,
    related_predictions,
    related_scores,
    related_vectors,
)
from bertviz_lab.training.finetuning.predictions import (
    HUBER_DELTA,
    Prediction,
    class_scores,
    multi_label_predictions,
    multi_label_scores,
)
from bertviz_lab.training.loop.evaluation import evaluating
from bertviz_lab.training.loop.hardware import Hardware

_CERTAIN = 1e6  # stands for an infinite difference, where a passage has no words


def task_logits(model: nn.Module, batch: TaskBatch, task: Task, pooling: Pooling = "mean") -> tuple[Tensor, ...]:
    """(logits,), or for questions (start, end), each (batch, tokens); no answer begins or ends in the padding.

    For embeddings, the vectors of anchors, positives and negatives.
    """
    inputs = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
    if task == "qa":
        out = model(*inputs)
        if batch.attention_mask is None:
            return out.start_logits, out.end_logits
        padding = ~batch.attention_mask
        return out.start_logits.masked_fill(padding, -torch.inf), out.end_logits.masked_fill(padding, -torch.inf)
    if task == "embeddings":
        return related_vectors(model, batch, pooling)
    if task == "tokens":
        return (model(*inputs).logits,)
    # Only [CLS] is read: the last layer computes no other token.
    return (model(*inputs, masked_positions=batch.rows.new_empty(len(batch.rows), 0)).logits,)


def task_loss(
    logits: tuple[Tensor, ...], batch: TaskBatch, task: Task, weights: Tensor | None = None, *, huber: bool = False
) -> Tensor:
    """This part's share of the mean loss over the whole step; `weights` are those of the classes.

    For multi-label classification, weights are those of a label that applies beside one that does not.
    A regression's loss is the squared error, with `huber` linear beyond `HUBER_DELTA` of standardized targets.
    """
    if task == "qa":
        starts, ends = batch.targets.unbind(1)
        count = max(1, batch.count)
        return (cross_entropy(logits[0], starts, count) + cross_entropy(logits[1], ends, count)) / 2
    if task == "regression":
        predicted, count = logits[0].squeeze(-1).float(), max(1, batch.count)
        if huber:  # torch halves it
            return 2 * F.huber_loss(predicted, batch.targets, delta=HUBER_DELTA, reduction="sum") / count
        return F.mse_loss(predicted, batch.targets, reduction="sum") / count
    if task == "embeddings":
        if batch.targets.is_floating_point():
            return cosine_loss(logits, batch.targets, batch.count)
        return ranking_loss(logits)
    if task == "multilabel":
        summed = F.binary_cross_entropy_with_logits(
            logits[0].float(), batch.targets, pos_weight=weights, reduction="sum"
        )
        return summed / max(1, batch.count * batch.targets.shape[1])
    if weights is not None:
        classes = logits[0].flatten(0, -2).float()
        summed = F.cross_entropy(classes, batch.targets.flatten(), weights, ignore_index=IGNORE_INDEX, reduction="sum")
        return summed / max(batch.total, 1e-9)
    return cross_entropy(logits[0], batch.targets, max(1, batch.count))


@torch.inference_mode()
def predict_examples(
    model: nn.Module,
    examples: Sequence[Example],
    batches: TaskBatches,
    task: Task,
    labels: Sequence[str],
    on: Hardware,
    *,
    allow_no_answer: bool = True,
    thresholds: Sequence[float] = (),
    pooling: Pooling = "mean",
) -> tuple[list[Prediction], float]:
    """Return a prediction for each example, and the mean loss in nats (for regression the mean squared error).

    The loss is over the labels that the model knows, NaN where there are none.
    Several labels are predicted from the probabilities `thresholds` on, by default one half. No answer is predicted
    where the model `allow_no_answer` and not all questions have an answer.
    In 32 bits whatever it is trained in, so that the scores are those of the model that is saved.
    """
    features = batches.features
    outputs: list[tuple[NDArray[np.float32], ...]] = [()] * len(features)
    loss, count = 0.0, 0
    with evaluating(model):
        for batch in batches.in_order():
            batch = batch.to(on.device)
            logits = task_logits(model, batch, task, pooling)
            loss += float(task_loss(logits, batch, task)) * batch.count
            count += batch.count
            arrays = [part.float().cpu().numpy() for part in logits]
            for index, row in enumerate(batch.rows.tolist()):
                length = len(features.ids[row * features.texts])
                outputs[row] = tuple(a[index, :length] if task in ("tokens", "qa") else a[index] for a in arrays)
    mean_loss = loss / count if count else math.nan
    if task == "embeddings":
        vectors = [np.stack(parts) for parts in outputs]
        return related_predictions(cast(Sequence[RelatedTexts], examples), vectors), mean_loss
    if task == "multilabel":
        return multi_label_predictions(outputs, labels, thresholds), mean_loss
    return _read(examples, features, outputs, task, labels, allow_no_answer), mean_loss


def _read(
    examples: Sequence[Example],
    features: Features,
    outputs: list[tuple[NDArray[np.float32], ...]],
    task: Task,
    labels: Sequence[str],
    allow_no_answer: bool,
) -> list[Prediction]:
    from scipy.special import softmax

    if task == "regression":
        return [Prediction(label=str(out[0][0])) for out in outputs]
    if task == "classification":
        shares = [softmax(out[0].astype(np.float64)) for out in outputs]
        return [Prediction(label=labels[int(row.argmax())], probabilities=tuple(map(float, row))) for row in shares]
    if task == "tokens":
        read: list[tuple[list[str], list[float]]] = [([], []) for _ in examples]
        for owner, word_starts, out in zip(features.examples, features.word_starts, outputs, strict=True):
            shares = softmax(out[0][word_starts].astype(np.float64), axis=-1)
            read[owner][0].extend(labels[index] for index in shares.argmax(-1))
            read[owner][1].extend(map(float, shares.max(-1, initial=0.0)))
        return [Prediction(labels=tuple(tags), certainty=tuple(certainty)) for tags, certainty in read]
    questions = cast(Sequence[Question], examples)
    # Where every question has an answer, as in SQuAD 1.1, none is withheld (nor is one by its official script).
    predict_no_answer = allow_no_answer and any(not question.answers for question in questions)
    answered = extract_answers(questions, features.windows, [o[0] for o in outputs], [o[1] for o in outputs])
    return [_answer(answer, predict_no_answer) for answer in answered]


def _answer(answer: AnswerPrediction, allow_no_answer: bool) -> Prediction:
    text = answer.text(0.0 if allow_no_answer else math.inf)
    first = answer.best[0] if text else None
    return Prediction(
        label=text,
        start=first.start if first else 0,
        end=first.end if first else 0,
        no_answer=min(float(answer.no_answer), _CERTAIN) if allow_no_answer else -_CERTAIN,
        best=tuple((span.text, span.start, span.end, float(span.probability)) for span in answer.best[:5]),
    )


def score(
    examples: Sequence[Example], predictions: Sequence[Prediction], task: Task, labels: Sequence[str]
) -> dict[str, float]:
    """The scores of a task by their names: accuracy, f1, mcc ...; spearman, pearson; exact_match, f1 (0 to 1)."""
    if task == "classification":
        return _values(class_scores(examples, predictions, labels), "accuracy", "f1", "macro_f1", "mcc")
    if task == "embeddings":
        return related_scores(cast(Sequence[RelatedTexts], examples), predictions)
    if task == "multilabel":
        return _values(multi_label_scores(examples, predictions, labels), "micro_f1", "macro_f1", "subset_accuracy")
    if task == "regression":
        targets = np.array([float(cast(float, e.label)) for e in cast(Sequence[LabelledText], examples)])
        report = regression_report(targets, np.array([float(p.label) for p in predictions]))
        return _values(report, "spearman", "pearson", "mse", "mae")
    if task == "tokens":
        true_tags = [list(e.labels) for e in cast(Sequence[LabelledWords], examples)]
        tags = [list(p.labels) for p in predictions]
        spans = entity_report(true_tags, tags)
        accuracy = {"accuracy": spans.token_accuracy}
        if marks_entities(labels):
            return accuracy | _values(spans, "precision", "recall", "f1")
        from sklearn.metrics import f1_score

        words = list(chain.from_iterable(true_tags)), list(chain.from_iterable(tags))
        return accuracy | {"macro_f1": float(f1_score(*words, average="macro")) if words[0] else 0.0}
    # Questions go by their places, since the ids of one file may be those of another.
    questions = cast(Sequence[Question], examples)
    golds = {str(n): tuple(answer.text for answer in q.answers) for n, q in enumerate(questions)}
    # The best spans, and apart from them how much likelier none is: that is what finds the best threshold.
    predicted_texts = {str(n): p.best[0][0] if p.best else "" for n, p in enumerate(predictions)}
    margin = {str(n): p.no_answer for n, p in enumerate(predictions)}
    answers = answer_report(predicted_texts, golds, margin, threshold=0.0)
    values = _values(answers, "exact_match", "f1")
    if answers.no_answer_total:
        values |= _values(answers, "has_answer_f1") | {"no_answer_accuracy": float(answers.no_answer_exact)}
        values |= _values(answers, "best_f1", "best_f1_threshold")
    return values


def _values(report: object, *names: str) -> dict[str, float]:
    return {name: float(getattr(report, name)) for name in names}


def metric_of(task: Task, labels: Sequence[str], metric: str = "auto") -> str:
    """Return the name of the score by which models are compared."""
    if metric != "auto":
        return metric
    return "accuracy" if task == "tokens" and not marks_entities(labels) else METRICS[task]


def majority_baselines(
    train: Sequence[Example], held_out: Sequence[Example], task: Task, labels: Sequence[str]
) -> dict[str, float]:
    """Return scores of the baselines: the majority class or tag, the mean target, "no answer" to every question."""
    if task == "classification":
        texts = cast(Sequence[LabelledText], train)
        frequencies = Counter(str(e.label) for e in texts)
        counts = np.array([frequencies[label] for label in labels], dtype=float)
        commonest = labels[int(counts.argmax())]
        scores = score(held_out, [Prediction(label=commonest)] * len(held_out), task, labels)
        shares = dict(zip(labels, counts / counts.sum(), strict=True))
        likelihoods = [shares.get(str(cast(LabelledText, e).label), 0.0) for e in held_out]
        return scores | {"loss": float(-np.mean(np.log([max(share, 1e-9) for share in likelihoods])))}
    if task == "embeddings":
        return random_baseline(cast(Sequence[RelatedTexts], held_out))
    if task == "multilabel":
        shares = multi_hot(cast(Sequence[LabelledText], train), labels).mean(0, dtype=np.float64)
        commonest = labels[int(shares.argmax())]
        scores = score(held_out, [Prediction(labels=(commonest,))] * len(held_out), task, labels)
        known, shares = multi_hot(cast(Sequence[LabelledText], held_out), labels), shares.clip(1e-9, 1 - 1e-9)
        return scores | {"loss": float(-np.mean(known * np.log(shares) + (1 - known) * np.log(1 - shares)))}
    if task == "regression":
        numbers = np.array([float(cast(float, cast(LabelledText, e).label)) for e in held_out])
        mean = float(np.mean([float(cast(float, cast(LabelledText, e).label)) for e in train]))
        return {"spearman": 0.0, "pearson": 0.0, "loss": float(((numbers - mean) ** 2).mean())}
    if task == "tokens":
        tags = Counter(tag for e in cast(Sequence[LabelledWords], train) for tag in e.labels)
        commonest = max(labels, key=tags.__getitem__)
        same = [Prediction(labels=(commonest,) * len(e.words)) for e in cast(Sequence[LabelledWords], held_out)]
        return score(held_out, same, task, labels)
    scores = score(held_out, [Prediction()] * len(held_out), task, labels)
    return {name: scores[name] for name in ("exact_match", "f1")}


def class_weights(features: Features, count: int) -> NDArray[np.float32]:
    """Weights by which every class counts as much: n / (classes x n of the class), as scikit-learn's "balanced".

    With any number of labels a text, n of the texts without a label / n of those with it.
    """
    if isinstance(features.targets, np.ndarray) and features.targets.ndim == 2 and features.targets.dtype == np.float32:
        positives = features.targets.sum(0)
        return ((len(features) - positives) / np.maximum(1, positives)).astype(np.float32)
    targets = np.concatenate(features.targets) if isinstance(features.targets, list) else features.targets
    counts = np.bincount(targets[targets != IGNORE_INDEX].astype(np.int64), minlength=count)
    return (counts.sum() / (count * np.maximum(1, counts))).astype(np.float32)
