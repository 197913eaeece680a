"""What a fine-tuned model predicts, and the file of a run's predictions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bertviz_lab import strict_json
from bertviz_lab.data.examples import Example
from bertviz_lab.training.checkpoints.atomic_io import atomic_file


@dataclass(frozen=True)
class Prediction:
    """A prediction for one example; which fields are set depends on the task.

    Attributes:
        label: the class, or for regression the number as text, or the answer ("" for none); of embeddings the cosine
            of a pair as text.
        probabilities: of every class, in the order of the model's labels.
        labels: of words, one each; `certainty` is the probability of each. Of a text with any number of labels, those.
        start, end: characters of the answer in the passage.
        no_answer: how much likelier than the best answer none is, as a difference of scores.
        best: the best few answers, each (text, start, end, probability).
        rank: of a positive among all candidates, from 1; 0 where nothing is ranked.
    """

    label: str = ""
    probabilities: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    certainty: tuple[float, ...] = ()
    start: int = 0
    end: int = 0
    no_answer: float = 0.0
    best: tuple[tuple[str, int, int, float], ...] = ()
    rank: int = 0


def write_predictions(path: Path, examples: Sequence[Example], predictions: Sequence[Prediction]) -> None:
    """One JSON object a line: an example under "example", what was predicted under "prediction"."""
    with atomic_file(path) as fresh, fresh.open("w", encoding="utf-8") as file:
        for example, prediction in zip(examples, predictions, strict=True):
            body = {"example": asdict(example), "prediction": asdict(prediction)}
            file.write(strict_json.dumps(body) + "\n")  # ASCII: some readers end lines at U+2028
