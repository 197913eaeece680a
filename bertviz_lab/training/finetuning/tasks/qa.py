"""Question answering: a span of the passage, or no answer where not every question has one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bertviz_lab.config import FinetuneConfig
from bertviz_lab.data.examples import Question
from bertviz_lab.data.tasks.batches import Features, TaskBatch
from bertviz_lab.data.tasks.question_answering import extract_answers, shares_of_tokens
from bertviz_lab.metrics.squad import answer_f1, answer_scores, threshold_for_recall
from bertviz_lab.model import BertForQuestionAnswering
from bertviz_lab.model.losses import cross_entropy
from bertviz_lab.training.finetuning.tasks.base import FinetuningTask, Logits, Outputs, Prediction

_CERTAIN = 1e6  # stands for an infinite difference, where a passage has no words


class QuestionAnswering(FinetuningTask[Question]):
    """Two logits for each token: that the answer begins there, and that it ends there."""

    name, title, pipeline = "qa", "finding answers", "question-answering"
    model_class, example_type, reads_tokens = BertForQuestionAnswering, Question, True
    unchecked = "Answers are spans, not classes: look at the questions with errors among the results instead."

    def model_settings(self, train: Sequence[Question]) -> dict[str, Any]:
        unanswerable = any(not question.answers for question in train)
        threshold = (self.no_answer_threshold or None) if unanswerable else None
        head = {"num_labels": 2, "id2label": ()}
        return head | {"handle_impossible_answer": unanswerable, "null_score_diff_threshold": threshold}

    def logits(self, model: nn.Module, batch: TaskBatch) -> Logits:
        """Return (start, end), each (batch, tokens); no answer begins or ends in the padding."""
        out = model(batch.input_ids, batch.attention_mask, batch.token_type_ids)
        if batch.attention_mask is None:
            return out.start_logits, out.end_logits
        padding = ~batch.attention_mask
        return out.start_logits.masked_fill(padding, -torch.inf), out.end_logits.masked_fill(padding, -torch.inf)

    def loss(self, logits: Logits, batch: TaskBatch, weights: Tensor | None = None, training: bool = False) -> Tensor:
        starts, ends = batch.targets.unbind(1)
        count = max(1, batch.count)
        return (cross_entropy(logits[0], starts, count) + cross_entropy(logits[1], ends, count)) / 2

    def outputs_to_follow(
        self, teacher: FinetuningTask, outputs: list[Outputs], read: Features, features: Features
    ) -> Tensor:
        """Return how likely an answer begins, and ends, at each token: (rows, 2, tokens) in 16 bits."""
        from scipy.special import softmax

        theirs = [softmax(np.stack(logits).astype(np.float64), axis=-1) for logits in outputs]
        shares = shares_of_tokens(features.windows, read.windows, theirs)
        return pad_sequence([torch.from_numpy(row.T).half() for row in shares], batch_first=True).transpose(1, 2)

    def teacher_loss(self, logits: Logits, theirs: Tensor, batch: TaskBatch) -> Tensor:
        """Return the cross-entropy with the teacher's probabilities in place of the first and the last token."""
        own = torch.stack(logits, dim=1).float().log_softmax(-1).clamp(min=-1e4)  # -inf in the padding
        width = min(own.shape[-1], theirs.shape[-1])
        return -(own[..., :width] * theirs[..., :width]).sum() / (2 * max(1, batch.count))

    def predictions(self, examples: Sequence[Question], features: Features, outputs: list[Outputs]) -> list[Prediction]:
        # Where every question has an answer, as in SQuAD 1.1, none is withheld (nor is one by its official script).
        may_refuse = self.no_answer_threshold < math.inf and any(not question.answers for question in examples)
        predictions = [
            Prediction(
                no_answer=min(float(answer.no_answer), _CERTAIN) if may_refuse else -_CERTAIN,
                best=tuple((span.text, span.start, span.end, float(span.probability)) for span in answer.best[:5]),
            )
            for answer in extract_answers(examples, features.windows, *([out[n] for out in outputs] for n in (0, 1)))
        ]
        return self.decide(predictions)

    def decide(self, predictions: Sequence[Prediction]) -> list[Prediction]:
        """Return the predictions with the best span as the answer, or "" where no answer scores so much higher."""
        decided = []
        for prediction in predictions:
            answered = prediction.best and not prediction.no_answer > self.no_answer_threshold
            text, start, end, _ = prediction.best[0] if answered else ("", 0, 0, 0.0)
            decided.append(replace(prediction, label=text, start=start, end=end))
        return decided

    def tune(self, examples: Sequence[Question], predictions: Sequence[Prediction], config: FinetuneConfig) -> Self:
        if config.no_answer_recall is None:
            return self
        refusals = [p.no_answer for question, p in zip(examples, predictions, strict=True) if not question.answers]
        return replace(self, no_answer_threshold=threshold_for_recall(refusals, config.no_answer_recall))

    def example_score(self, example: Question, prediction: Prediction) -> float:
        """Return the F1 of words in common with the best of the answers."""
        return answer_f1(prediction.label, [answer.text for answer in example.answers])

    def scores(self, examples: Sequence[Question], predictions: Sequence[Prediction]) -> dict[str, float]:
        # The best spans, and apart from them how much likelier none is: that is what finds the best threshold.
        spans = [prediction.best[0][0] if prediction.best else "" for prediction in predictions]
        golds = [tuple(answer.text for answer in question.answers) for question in examples]
        refusals = [prediction.no_answer for prediction in predictions]
        return answer_scores(spans, golds, refusals, threshold=self.no_answer_threshold)

    def baselines(self, train: Sequence[Question], held_out: Sequence[Question]) -> dict[str, float]:
        scores = self.scores(held_out, [Prediction()] * len(held_out))
        return {name: scores[name] for name in ("exact_match", "f1")}

    def table(self, examples: Sequence[Question], predictions: Sequence[Prediction]) -> Iterator[list[Any]]:
        yield ["row", "question", "answer", "start", "end", "passage"]
        for question, prediction in zip(examples, predictions, strict=True):
            span = [prediction.label, prediction.start, prediction.end]
            yield [question.row, question.question, *span, question.passage]
