"""The tasks of fine-tuning: one class each, in one file, which nothing else asks about by name.

In reading order: `base` (what every task answers), `classification`, `multilabel`, `regression`, `tokens`, `qa`,
`embeddings`.
"""

from collections.abc import Sequence
from typing import Any

from bertviz_lab.data.examples import Task
from bertviz_lab.training.finetuning.tasks.base import FinetuningTask
from bertviz_lab.training.finetuning.tasks.classification import Classification
from bertviz_lab.training.finetuning.tasks.embeddings import Embeddings
from bertviz_lab.training.finetuning.tasks.multilabel import MultiLabel
from bertviz_lab.training.finetuning.tasks.qa import QuestionAnswering
from bertviz_lab.training.finetuning.tasks.regression import Regression
from bertviz_lab.training.finetuning.tasks.tokens import Tokens

TASKS: dict[Task, type[FinetuningTask[Any]]] = {
    kind.name: kind for kind in (Classification, MultiLabel, Regression, Tokens, QuestionAnswering, Embeddings)
}


def task_for(name: Task, labels: Sequence[str] = (), **options: Any) -> FinetuningTask[Any]:
    """Return a task with the labels of a model; `options` are the other fields of `FinetuningTask`."""
    return TASKS[name](tuple(labels), **options)
