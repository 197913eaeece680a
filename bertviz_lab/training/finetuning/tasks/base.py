"""What every task answers, and what the tasks have in common."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from bertviz_lab import strict_json
from bertviz_lab.config import IGNORE_INDEX, FinetuneConfig
from bertviz_lab.data.examples import Example, LabelledText, Task
from bertviz_lab.data.tasks.batches import Features, TaskBatch, TaskBatches
from bertviz_lab.errors import InputError
from bertviz_lab.metrics.names import METRICS
from bertviz_lab.model import BertForSequenceClassification
from bertviz_lab.model.losses import cross_entropy
from bertviz_lab.training.checkpoints.atomic_io import atomic_file
from bertviz_lab.training.checkpoints.sentence_transformers_files import Pooling
from bertviz_lab.training.loop.evaluation import evaluating
from bertviz_lab.training.loop.hardware import Hardware


@dataclass(frozen=True)
class Prediction:
    """A prediction for one example; which fields are set depends on the task."""

    #: The class, or as text the number or the answer ("" for none), or of embeddings the cosine of a pair.
    label: str = ""
    probabilities: tuple[float, ...] = ()  # of every class, in the order of the model's labels
    labels: tuple[str, ...] = ()  # of words, one each; or those of a text with any number of labels
    certainty: tuple[float, ...] = ()  # the probability of each of `labels`
    start: int = 0  # of the answer, in characters of the passage
    end: int = 0
    no_answer: float = 0.0  # how much likelier than the best answer none is, as a difference of scores
    best: tuple[tuple[str, int, int, float], ...] = ()  # the best few answers: text, start, end, probability
    rank: int = 0  # of a positive among all candidates, from 1; 0 where nothing is ranked


def write_predictions(path: Path, examples: Sequence[Example], predictions: Sequence[Prediction]) -> None:
    """One JSON object a line: an example under "example", what was predicted under "prediction"."""
    with atomic_file(path) as fresh, fresh.open("w", encoding="utf-8") as file:
        for example, prediction in zip(examples, predictions, strict=True):
            body = {"example": asdict(example), "prediction": asdict(prediction)}
            file.write(strict_json.dumps(body) + "\n")  # ASCII: some readers end lines at U+2028


#: The label, in scores, of what has one that the model does not know.
UNKNOWN = "(unknown to the model)"

#: Rows scored at once: more than are trained on, since nothing is kept for a backward pass.
SCORED_AT_ONCE = 64

ExampleT = TypeVar("ExampleT", bound=Example)
#: (logits,), or for questions (start, end), or for embeddings the vectors of each example's texts.
Logits = tuple[Tensor, ...]
#: The same of one row, or of one example of several texts.
Outputs = tuple[NDArray[np.float32], ...]
Texts = Sequence[LabelledText]


@dataclass(frozen=True)
class FinetuningTask(ABC, Generic[ExampleT]):
    """A task with the labels of a model: its head, loss, predictions, scores and baselines."""

    name: ClassVar[Task]
    title: ClassVar[str]  # in a model card
    pipeline: ClassVar[str] = "text-classification"  # by the hub's name
    model_class: ClassVar[type[nn.Module]] = BertForSequenceClassification
    example_type: ClassVar[type] = LabelledText
    label_type: ClassVar[type] = object  # of a text's label
    reads_tokens: ClassVar[bool] = False  # the head reads every token, not the first alone
    one_label: ClassVar[bool] = False  # of each text or word: the accuracy is measured, and classes have weights
    slice_metric: ClassVar[str] = ""  # of parts of the held-out examples, where it is not that of the run
    unchecked: ClassVar[str] = ""  # why the labels of its examples are not checked; "" where they are
    numeric: ClassVar[bool] = False  # a number is predicted: a prediction is off by some amount, not right or wrong

    labels: tuple[str, ...] = ()  # in the order of the model's outputs
    thresholds: tuple[float, ...] = ()  # of probability, where any number of labels applies: one for all, or one each
    #: Where not all questions have an answer: above which `Prediction.no_answer` withholds one; infinity never does.
    no_answer_threshold: float = 0.0
    pooling: Pooling | None = None  # how a text's vector is made of its tokens'; None where there are no vectors

    @classmethod
    def is_for(cls, example: Example) -> bool:
        """Return whether an example is one of this task."""
        return isinstance(example, cls.example_type) and isinstance(getattr(example, "label", None), cls.label_type)

    def model_settings(self, train: Sequence[ExampleT]) -> dict[str, Any]:
        """Return the fields of `BertConfig` that a model for the task has."""
        return {"num_labels": len(self.labels), "id2label": self.labels}

    def logits(self, model: nn.Module, batch: TaskBatch) -> Logits:
        """Return what the head makes of a batch."""
        # Only [CLS] is read: the last layer computes no other token.
        no_others = batch.rows.new_empty(len(batch.rows), 0)
        inputs = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
        return (model(*inputs, masked_positions=no_others).logits,)

    def loss(self, logits: Logits, batch: TaskBatch, weights: Tensor | None = None, training: bool = False) -> Tensor:
        """Return this part's share of the mean loss over the whole step; `weights` are those of the classes."""
        if weights is None:
            return cross_entropy(logits[0], batch.targets, max(1, batch.count))
        classes = logits[0].flatten(0, -2).float()
        summed = F.cross_entropy(classes, batch.targets.flatten(), weights, ignore_index=IGNORE_INDEX, reduction="sum")
        return summed / max(batch.total, 1e-9)

    def outputs_to_follow(
        self, teacher: "FinetuningTask", outputs: list[Outputs], read: Features, features: Features
    ) -> Tensor:
        """Return what a student follows of each row of its own `features`, (rows, ...).

        `outputs` are those of the `teacher`, a task with labels in an order of its own, of the rows that it `read`: the
        same examples by other tokens.

        Raises `InputError` for a task that has no teacher.
        """
        raise InputError("A `teacher` is for classes, labels, answers and embeddings: a number has none.")

    def places_of_labels(self, teacher: "FinetuningTask") -> list[int]:
        """Return where a teacher's outputs have each label of this task."""
        return [teacher.labels.index(label) for label in self.labels]

    def teacher_loss(self, logits: Logits, theirs: Tensor, batch: TaskBatch) -> Tensor:
        """Return this part's share of the mean distance from the `outputs_to_follow` of a batch."""
        raise NotImplementedError

    @abstractmethod
    def predictions(self, examples: Sequence[ExampleT], features: Features, outputs: list[Outputs]) -> list[Prediction]:
        """Return a prediction for each example from the outputs of its rows."""

    @abstractmethod
    def example_score(self, example: ExampleT, prediction: Prediction) -> float:
        """Return the score of one prediction, 0 to 1; of a number minus the absolute error."""

    @abstractmethod
    def scores(self, examples: Sequence[ExampleT], predictions: Sequence[Prediction]) -> dict[str, float]:
        """Return the scores by their names: accuracy, f1, mcc ...; spearman, pearson; exact_match, f1 (0 to 1)."""

    @abstractmethod
    def baselines(self, train: Sequence[ExampleT], held_out: Sequence[ExampleT]) -> dict[str, float]:
        """Return scores of the baselines: the majority class or tag, the mean target, "no answer" to every question."""

    def selection_metric(self, train: Sequence[ExampleT], baselines: dict[str, float]) -> str:
        """Return the metric that selects a checkpoint by default: the first of the task that has a baseline."""
        return next(name for name in METRICS[self.name] if name in baselines)

    def report(self, examples: Sequence[ExampleT], predictions: Sequence[Prediction]) -> Any:
        """Return scores by class or type of entity; None for a task without classes."""

    def table(self, examples: Sequence[ExampleT], predictions: Sequence[Prediction]) -> Iterator[list[Any]]:
        """Yield predictions as rows of a table, the first of which names the columns."""
        raise NotImplementedError

    def class_weights(self, features: Features) -> NDArray[np.float32]:
        """Return weights by which every class counts as much: n / (classes x n of the class), as scikit-learn does."""
        targets = np.concatenate(features.targets) if isinstance(features.targets, list) else features.targets
        counts = np.bincount(targets[targets != IGNORE_INDEX].astype(np.int64), minlength=len(self.labels))
        return (counts.sum() / (len(self.labels) * np.maximum(1, counts))).astype(np.float32)

    def start_head(self, model: nn.Module, train: Features) -> None:
        """Set what a new head should not begin with at random."""

    def tune(self, examples: Sequence[ExampleT], predictions: Sequence[Prediction], config: FinetuneConfig) -> Self:
        """Return the task with the thresholds that suit these predictions best, as the run's settings ask for."""
        return self

    def decide(self, predictions: Sequence[Prediction]) -> list[Prediction]:
        """Return what is predicted by the task's thresholds."""
        return list(predictions)

    def predict(
        self, model: nn.Module, examples: Sequence[ExampleT], batches: TaskBatches, on: Hardware
    ) -> tuple[list[Prediction], float]:
        """Return a prediction for each example, and the mean loss in nats (for regression the mean squared error).

        The loss is over the labels that the model knows, NaN where there are none.
        In 32 bits whatever it is trained in, so that the scores are those of the model that is saved.
        """
        outputs, loss = self.outputs(model, batches, on)
        return self.predictions(examples, batches.features, outputs), loss

    @torch.inference_mode()
    def outputs(self, model: nn.Module, batches: TaskBatches, on: Hardware) -> tuple[list[Outputs], float]:
        """Return what the head makes of each row, and the mean loss as in `predict`."""
        features = batches.features
        outputs: list[Outputs] = [()] * len(features)
        loss, count = 0.0, 0
        with evaluating(model):
            for batch in batches.in_order():
                batch = batch.to(on.device)
                logits = self.logits(model, batch)
                loss += float(self.loss(logits, batch)) * batch.count
                count += batch.count
                arrays = [part.float().cpu().numpy() for part in logits]
                for index, row in enumerate(batch.rows.tolist()):
                    shown = slice(len(features.ids[row])) if self.reads_tokens else ...
                    outputs[row] = tuple(array[index, shown] for array in arrays)
        return outputs, loss / count if count else math.nan


class TextTask(FinetuningTask[LabelledText]):
    """A task about whole texts, or pairs of texts."""

    column: ClassVar[str] = "label"  # of a table of predictions

    def outputs_to_follow(
        self, teacher: FinetuningTask, outputs: list[Outputs], read: Features, features: Features
    ) -> Tensor:
        """Return the teacher's logits in the order of this task's labels, (texts, labels)."""
        if not self.labels:
            return super().outputs_to_follow(teacher, outputs, read, features)
        return torch.from_numpy(np.stack([logits for (logits,) in outputs])[:, self.places_of_labels(teacher)])

    def answer(self, prediction: Prediction) -> Any:
        """Return the cell of a table."""
        return prediction.label

    def table(self, examples: Sequence[LabelledText], predictions: Sequence[Prediction]) -> Iterator[list[Any]]:
        second = ["second text"] if any(example.text_b for example in examples) else []
        names = [] if self.label_type is float else [f"p({label})" for label in self.labels]
        yield ["row", "text", *second, self.column, *names]
        for text, prediction in zip(examples, predictions, strict=True):
            shares = [round(share, 4) for share in prediction.probabilities]
            yield [text.row, text.text_a, *([text.text_b or ""] if second else []), self.answer(prediction), *shares]


def fields(report: object, *names: str) -> dict[str, float]:
    """Return some numbers of a report by their names."""
    return {name: float(getattr(report, name)) for name in names}
