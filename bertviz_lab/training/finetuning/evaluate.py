"""The scores of a classifier on texts that are in memory, in one call."""

from collections.abc import Sequence

import numpy as np

from bertviz_lab.data.examples import LabelledText
from bertviz_lab.metrics import ClassificationReport
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint, load_checkpoint
from bertviz_lab.training.finetuning.predict import predict_with, task_of
from bertviz_lab.training.finetuning.predictions.labels import class_scores


def evaluate(
    checkpoint: Checkpoint | str,
    texts: Sequence[str] | Sequence[tuple[str, str]],
    labels: Sequence[int] | Sequence[str],
    *,
    max_length: int | None = None,
) -> ClassificationReport:
    """Return accuracy, F1, scores by class and the confusion matrix of a classifier on labeled texts.

    Args:
        checkpoint: a fine-tuned classifier, or what `load_checkpoint` opens.
        texts: texts, or pairs of texts.
        labels: the true class of each: its name, or its index in `checkpoint.config.labels`.
        max_length: tokens that a text is truncated to; by default as many as the model was trained on.

    Raises:
        InputError: the model is not a classifier.
        ValueError: there are not as many labels as texts, or a label is not one of the model's.
    """
    if isinstance(checkpoint, str):
        checkpoint = load_checkpoint(checkpoint)
    known = checkpoint.config.labels
    if (task := task_of(checkpoint)) != "classification":
        raise ValueError(f"evaluate scores classifiers; {checkpoint.name or 'this model'} was fine-tuned for {task}.")
    if len(texts) != len(labels):
        raise ValueError(f"There are {len(texts)} texts and {len(labels)} labels.")
    names = [known[label] if isinstance(label, (int, np.integer)) else label for label in labels]
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"The model has no label {unknown[0]!r}; its labels are {', '.join(known)}.")
    pairs = [(text, None) if isinstance(text, str) else tuple(text) for text in texts]
    examples = [LabelledText(a, b, name, row) for row, ((a, b), name) in enumerate(zip(pairs, names, strict=True), 1)]
    predictions, _ = predict_with(checkpoint, examples, max_length=max_length)
    return class_scores(examples, predictions, known)
