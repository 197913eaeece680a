"""What a fine-tuned teacher makes of the training examples, which a student follows beside their labels.

Of classes and labels these are logits, of embeddings vectors. The teacher reads each example once, before the training
and with its own tokenizer: it may be of any size, family and vocabulary.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bertviz_lab.data.examples import Example
from bertviz_lab.data.tasks.batches import Limits, TaskBatches, encode_examples
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.finetuning.predict import task_with
from bertviz_lab.training.finetuning.tasks.base import SCORED_AT_ONCE, FinetuningTask
from bertviz_lab.training.loop.hardware import Hardware


def teacher_outputs(name: str, examples: Sequence[Example], task: FinetuningTask, length: int, on: Hardware) -> Tensor:
    """Return the teacher's logits, (examples, classes) in the task's order, or its vectors (examples, texts, hidden).

    Args:
        name: the teacher: a folder, a shipped model or a hub id.
        examples: what the student is trained on.
        task: the student's.
        length: tokens that an example is truncated to, at most what the teacher reads.
        on: where the teacher runs, in its precision.

    Raises:
        InputError: the teacher does another task or predicts other labels, or its outputs belong to its own tokens.
    """
    teacher = load_checkpoint(name)
    theirs = task_with(teacher)
    if not task.teachable:
        raise InputError(
            "A `teacher` is for classes, labels and embeddings of texts: words and answers have their own tokens."
        )
    if theirs.name != task.name:
        raise InputError(
            f"The teacher {teacher.name} was fine-tuned for {theirs.name}; these examples are for {task.name}."
        )
    if task.labels and {*theirs.labels} != {*task.labels}:
        known, wanted = ", ".join(theirs.labels), ", ".join(task.labels)
        raise InputError(f"The teacher {teacher.name} predicts {known}; the labels of these examples are {wanted}.")
    limits = Limits(min(length, teacher.config.max_position_embeddings))
    features = encode_examples(examples, task.name, teacher.tokenizer, theirs.labels, limits)
    batches = TaskBatches(features, SCORED_AT_ONCE, teacher.tokenizer.pad_id, seed=0)
    with on.autocast():
        outputs, _ = theirs.outputs(on.borrow(teacher.model), batches, on)
    stacked = torch.from_numpy(np.stack([np.stack(parts) for parts in outputs]))
    if not task.labels:
        return stacked
    return stacked[:, 0, [theirs.labels.index(label) for label in task.labels]]
