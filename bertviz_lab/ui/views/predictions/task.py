"""Predictions of fine-tuned models as pictures: labels as bars, entities and answers marked in the text."""

from typing import Any

from bertviz_lab.figures.interpret.predictions import answer_payload, entities_payload, labels_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.ui.server.scheduler import report_progress


def predict_task(checkpoint: Any, text_a: str, text_b: str) -> Payload:
    """Return the label of a text or pair, the entities in it, or the answer in a passage (`text_b`) to a question."""
    from bertviz_lab.interpret import answer_question, classify, label_words

    if checkpoint.kind == "BertForSequenceClassification":
        return labels_payload(classify(checkpoint, text_a, text_b.strip() or None))
    if checkpoint.kind == "BertForTokenClassification":
        return entities_payload(label_words(checkpoint, text_a, on_progress=report_progress))
    return answer_payload(answer_question(checkpoint, text_a, text_b, on_progress=report_progress))
