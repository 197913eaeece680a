"""Token classification: a label for each word, such as BIO labels of entities or parts of speech."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bertviz_lab.config import IGNORE_INDEX
from bertviz_lab.data.examples import LabelledWords
from bertviz_lab.data.tasks.batches import Features, TaskBatch
from bertviz_lab.metrics.classification import ClassificationReport, classification_report
from bertviz_lab.metrics.entities import EntityReport, entity_report, marks_entities
from bertviz_lab.model import BertForTokenClassification
from bertviz_lab.model.losses import soft_target_loss
from bertviz_lab.training.finetuning.tasks.base import FinetuningTask, Logits, Outputs, Prediction, fields

Sentences = Sequence[LabelledWords]


class Tokens(FinetuningTask[LabelledWords]):
    """The label of a word is predicted at its first piece."""

    name, title, pipeline = "tokens", "labeling words", "token-classification"
    model_class, example_type = BertForTokenClassification, LabelledWords
    reads_tokens = one_label = True
    unchecked = "Labels of words depend on each other: look at the sentences with errors among the results."

    def logits(self, model: nn.Module, batch: TaskBatch) -> Logits:
        return (model(batch.input_ids, batch.attention_mask, batch.token_type_ids).logits,)

    def outputs_to_follow(
        self, teacher: FinetuningTask, outputs: list[Outputs], read: Features, features: Features
    ) -> Tensor:
        """Return the teacher's logits of each word at its first piece: (rows, tokens, labels), in 16 bits."""
        order = self.places_of_labels(teacher)
        words: list[list[np.ndarray]] = [[] for _ in range(int(features.examples[-1]) + 1)]
        for owner, word_starts, (logits,) in zip(read.examples, read.word_starts, outputs, strict=True):
            words[owner].extend(logits[word_starts][:, order])
        rows = []
        for owner, word_starts, ids in zip(features.examples, features.word_starts, features.ids, strict=True):
            row = torch.zeros(len(ids), len(order), dtype=torch.float16)
            row[word_starts] = torch.from_numpy(np.stack(words[owner][: len(word_starts)])).half()
            del words[owner][: len(word_starts)]  # the next row of a long sentence goes on after them
            rows.append(row)
        return pad_sequence(rows, batch_first=True)

    def teacher_loss(self, logits: Logits, theirs: Tensor, batch: TaskBatch) -> Tensor:
        """Return the KL divergence of the softened distributions of the labelled words."""
        labelled = (batch.targets != IGNORE_INDEX).nonzero(as_tuple=True)
        return soft_target_loss(logits[0][labelled], theirs[labelled]) / max(1, batch.count)

    def predictions(self, examples: Sentences, features: Features, outputs: list[Outputs]) -> list[Prediction]:
        from scipy.special import softmax

        read: list[tuple[list[str], list[float]]] = [([], []) for _ in examples]
        for owner, word_starts, out in zip(features.examples, features.word_starts, outputs, strict=True):
            shares = softmax(out[0][word_starts].astype(np.float64), axis=-1)
            read[owner][0].extend(self.labels[index] for index in shares.argmax(-1))
            read[owner][1].extend(map(float, shares.max(-1, initial=0.0)))
        return [Prediction(labels=tuple(tags), certainty=tuple(certainty)) for tags, certainty in read]

    def report(self, examples: Sentences, predictions: Sequence[Prediction]) -> EntityReport | ClassificationReport:
        """Return scores by type of entity, or by label where the labels mark no entities."""
        if not marks_entities(self.labels):
            return self.words_report(examples, predictions)
        return entity_report([example.labels for example in examples], [p.labels for p in predictions])

    def words_report(self, examples: Sentences, predictions: Sequence[Prediction]) -> ClassificationReport:
        """Return scores by label of single words; labels that the model does not know come after its own."""
        true, predicted = (list(chain.from_iterable(each.labels for each in part)) for part in (examples, predictions))
        names = (*self.labels, *sorted({*true} - {*self.labels}))
        index = {label: number for number, label in enumerate(names)}
        truth, said = (np.array([index[label] for label in part], dtype=np.int64) for part in (true, predicted))
        return classification_report(truth, said, names)

    def example_score(self, example: LabelledWords, prediction: Prediction) -> float:
        """Return the share of words with the right label."""
        right = sum(a == b for a, b in zip(example.labels, prediction.labels, strict=True))
        return right / len(example.labels)

    def scores(self, examples: Sentences, predictions: Sequence[Prediction]) -> dict[str, float]:
        report = self.report(examples, predictions)
        if isinstance(report, ClassificationReport):
            return fields(report, "accuracy", "macro_f1")
        return {"accuracy": report.token_accuracy} | fields(report, "precision", "recall", "f1")

    def baselines(self, train: Sentences, held_out: Sentences) -> dict[str, float]:
        tags = Counter(tag for example in train for tag in example.labels)
        commonest = max(self.labels, key=tags.__getitem__)
        return self.scores(held_out, [Prediction(labels=(commonest,) * len(e.words)) for e in held_out])

    def table(self, examples: Sentences, predictions: Sequence[Prediction]) -> Iterator[list[Any]]:
        yield ["row", "word", "label", "probability"]
        for example, prediction in zip(examples, predictions, strict=True):
            for word, label, probability in zip(example.words, prediction.labels, prediction.certainty, strict=True):
                yield [example.row, word, label, round(probability, 4)]
