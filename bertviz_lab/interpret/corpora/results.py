"""Results of a fine-tuning: scores, errors, confidence, calibration and slices."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.examples import Example, LabelledText, LabelledWords, Task, read_examples
from bertviz_lab.errors import InputError
from bertviz_lab.metrics import classification as metrics
from bertviz_lab.metrics.entities import EntityReport
from bertviz_lab.metrics.names import METRICS
from bertviz_lab.strict_json import nan_for_null
from bertviz_lab.training.finetuning.tasks import task_for
from bertviz_lab.training.finetuning.tasks.base import UNKNOWN, FinetuningTask, Prediction
from bertviz_lab.training.finetuning.tasks.classification import Classification
from bertviz_lab.training.finetuning.tasks.tokens import Tokens

_LENGTHS = {most: f"up to {most} words" for most in (8, 16, 32, 64)}  # slices by length


@dataclass(frozen=True)
class Slice:
    """A slice of the held-out examples and the model's score on it, by the task's main metric."""

    kind: str  # "length" or "label"
    name: str
    count: int
    score: float


@dataclass(frozen=True)
class Results:
    """The held-out examples of a run with the predictions of its best model.

    `scores` and `baselines` hold the same metrics, of the model and of the class-prior baseline; `trials` are the rows
    of the report.
    """

    task: Task
    labels: tuple[str, ...]
    metric: str
    start: str  # the model that was fine-tuned
    scores: dict[str, float]
    baselines: dict[str, float]
    trials: tuple[dict[str, Any], ...]
    seed_statistics: tuple[dict[str, Any], ...]  # of trials that differ in the seed alone
    planned: int
    train_count: int
    examples: tuple[Example, ...]
    predictions: tuple[Prediction, ...]

    @cached_property
    def _task(self) -> FinetuningTask[Any]:
        return task_for(self.task, self.labels)

    @cached_property
    def example_scores(self) -> NDArray[np.float64]:
        """The score of each prediction by `example_score` of the task, (n,)."""
        return np.array(list(map(self._task.example_score, self.examples, self.predictions)))

    @cached_property
    def confidences(self) -> NDArray[np.float64]:
        """The confidence of each prediction, 0 to 1, (n,); 0 for a regression."""
        return np.array([_confidence(p) for p in self.predictions])

    @cached_property
    def report(self) -> metrics.ClassificationReport | metrics.MultiLabelReport | EntityReport | None:
        """Scores per class, per word label or per entity type (BIO labels); None for other tasks."""
        return self._task.report(self.examples, self.predictions)

    @cached_property
    def words_report(self) -> metrics.ClassificationReport:
        """Scores of the labels of single words."""
        return cast(Tokens, self._task).words_report(cast(Sequence[LabelledWords], self.examples), self.predictions)

    @cached_property
    def _true_names(self) -> list[str]:
        """The labels of texts as the scores name them."""
        known = frozenset(self.labels)
        labels = (str(example.label) for example in cast(Sequence[LabelledText], self.examples))
        return [label if label in known else UNKNOWN for label in labels]

    def calibration(self) -> metrics.Calibration:
        """Return accuracy by confidence. Raises `InputError` for other tasks than classification."""
        if self.task != "classification":
            raise InputError("Calibration is defined for classification only, where a prediction has one probability.")
        truth = cast(Classification, self._task).truth(cast(Sequence[LabelledText], self.examples))
        return metrics.calibration(np.array([p.probabilities for p in self.predictions]), truth)

    def slices(self) -> tuple[Slice, ...]:
        """Return the score by length, and for labels of texts by the true label."""
        slices = self._by("length", map(_length_name, self.examples), [*_LENGTHS.values(), "longer"])
        if self.task == "classification":
            slices += self._by("label", self._true_names, (*self.labels, UNKNOWN))
        return tuple(slices)

    def _by(self, kind: str, names_of_examples: Iterable[str], names: Sequence[str]) -> list[Slice]:
        indices: dict[str, list[int]] = {name: [] for name in names}
        for index, name in enumerate(names_of_examples):
            indices[name].append(index)
        return [Slice(kind, name, len(some), self._score_of(some)) for name, some in indices.items() if some]

    def _score_of(self, indices: list[int]) -> float:
        if self.task == "classification":  # accuracy needs no report on all labels, of which there may be a thousand
            return float(self.example_scores[indices].mean())
        subset = [self.examples[index] for index in indices], [self.predictions[index] for index in indices]
        return self._task.scores(*subset)[self.measure]

    @property
    def measure(self) -> str:
        """The metric of the slices."""
        if self._task.slice_metric or self.metric != "loss":
            return self._task.slice_metric or self.metric
        return next(name for name in METRICS[self.task] if name in self.scores)

    def picked(self, truth: str | None = None, predicted: str | None = None) -> list[int]:
        """Return indices of examples, the most confident errors first, optionally of one cell of the confusion matrix.

        Errors come before correct predictions, in order of confidence; for regression the largest errors come first,
        for words and answers the lowest scores.
        """
        indices = range(len(self.examples))
        if truth is not None:
            indices = [n for n in indices if self._true_names[n] == truth and self.predictions[n].label == predicted]  # type: ignore[assignment]
        if self._task.numeric:
            return sorted(indices, key=lambda n: self.example_scores[n])
        scores = self.example_scores
        return sorted(indices, key=lambda n: (scores[n] == 1.0, round(float(scores[n]), 3), -self.confidences[n]))


def read_results(folder: str | Path) -> Results:
    """Return the results of a run. Raises `InputError` before its first trial has finished."""
    folder = Path(folder)
    try:
        body = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        examples = read_examples(folder / "examples" / "held_out.jsonl")
        with (folder / "predictions.jsonl").open(encoding="utf-8") as file:
            predictions = tuple(_prediction(json.loads(line)["prediction"]) for line in file)
        return Results(
            task=body["task"],
            labels=tuple(body["labels"]),
            metric=body["metric"],
            start=body["model"],
            scores=nan_for_null(body["scores"]),
            baselines=nan_for_null(body["guess"]),
            trials=tuple(nan_for_null(body["trials"])),
            seed_statistics=tuple(nan_for_null(body.get("families", []))),
            planned=body["planned"],
            train_count=body["examples"]["train"],
            examples=examples,
            predictions=predictions,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("Results are available when the first trial has finished.") from error


def _prediction(body: dict[str, Any]) -> Prediction:
    plural = {name: tuple(body[name]) for name in ("probabilities", "labels", "certainty")}
    return Prediction(**(body | plural | {"best": tuple(tuple(answer) for answer in body["best"])}))


def _confidence(prediction: Prediction) -> float:
    if prediction.probabilities:
        return max(prediction.probabilities)
    if prediction.certainty:
        return float(np.mean(prediction.certainty))
    return prediction.best[0][3] if prediction.best and prediction.label else 0.0


def _length_name(example: Example) -> str:
    text_a, text_b = example.inputs  # of a question and of an anchor the other text alone counts
    text = f"{text_a} {text_b or ''}" if isinstance(example, LabelledText) else text_b or text_a
    words = len(example.words if isinstance(example, LabelledWords) else text.split())
    return next((name for most, name in _LENGTHS.items() if words <= most), "longer")
