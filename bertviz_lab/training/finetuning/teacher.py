"""What a fine-tuned teacher makes of the training examples, which a student follows beside their labels.

Of classes and labels these are logits, of answers where they begin and end, of embeddings vectors. The teacher reads
each example once, before the training and with its own tokenizer: it may be of any size, family and vocabulary.
"""

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from bertviz_lab.data.examples import Example
from bertviz_lab.data.tasks.batches import Features, Limits, TaskBatches, encode_examples
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.checkpoint import load_checkpoint
from bertviz_lab.training.finetuning.predict import task_with
from bertviz_lab.training.finetuning.tasks.base import SCORED_AT_ONCE, FinetuningTask
from bertviz_lab.training.loop.hardware import Hardware


def teacher_outputs(
    name: str, examples: Sequence[Example], features: Features, task: FinetuningTask, limits: Limits, on: Hardware
) -> Tensor:
    """Return what the student follows of each row, (rows, ...), see `FinetuningTask.outputs_to_follow`.

    Args:
        name: the teacher: a folder, a shipped model or a hub id.
        examples: what the student is trained on.
        features: their rows by the student's tokenizer.
        task: the student's.
        limits: of the teacher's rows, which are at most as long as it reads.
        on: where the teacher runs, in its precision.

    Raises:
        InputError: the teacher does another task or predicts other labels, or no teacher can do the task.
    """
    teacher = load_checkpoint(name)
    theirs = task_with(teacher)
    if theirs.name != task.name:
        raise InputError(
            f"The teacher {teacher.name} was fine-tuned for {theirs.name}; these examples are for {task.name}."
        )
    if task.labels and {*theirs.labels} != {*task.labels}:
        known, wanted = ", ".join(theirs.labels), ", ".join(task.labels)
        raise InputError(f"The teacher {teacher.name} predicts {known}; the labels of these examples are {wanted}.")
    limits = replace(limits, max_length=min(limits.max_length, teacher.config.max_position_embeddings))
    read = encode_examples(examples, task.name, teacher.tokenizer, theirs.labels, limits)
    batches = TaskBatches(read, SCORED_AT_ONCE, teacher.tokenizer.pad_id, seed=0)
    with on.autocast():
        outputs, _ = theirs.outputs(on.borrow(teacher.model), batches, on)
    return task.outputs_to_follow(theirs, outputs, read, features)
