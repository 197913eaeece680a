"""Predictions of fine-tuned models as pictures: labels as bars, entities and answers marked in the text."""

from typing import Any

from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.marking import Span, marked_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.ui.server.waiting_line import tell_progress


def predict_task(checkpoint: Any, text_a: str, text_b: str) -> Payload:
    """The label of a text or pair, the entities in it, or the answer in a passage (`text_b`) to a question."""
    if checkpoint.kind == "BertForSequenceClassification":
        return _labels(checkpoint, text_a, text_b)
    if checkpoint.kind == "BertForTokenClassification":
        return _entities(checkpoint, text_a)
    return _answer(checkpoint, text_a, text_b)


def _labels(checkpoint: Any, text_a: str, text_b: str) -> Payload:
    from bertviz_lab.interpret import classify

    prediction = classify(checkpoint, text_a, text_b.strip() or None)
    labels, scores = zip(*((label.label, label.score) for label in prediction.labels), strict=True)
    if len(labels) == 1 and not prediction.multi_label:
        return bars_payload(
            labels, [("number", scores)], title="Predicted value", texts=[[f"{scores[0]:.2f}"]], file="value"
        )
    named = ", ".join(prediction.predicted) or "none of its labels"
    return bars_payload(
        labels,
        [("probability", scores)],
        title=f"Predicted label: {named if prediction.multi_label else labels[0]}",
        texts=[[f"{score:.1%}" for score in scores]],
        peak=1.0,
        sentence="Each label has its own probability (multi-label)." if prediction.multi_label else "",
        file="labels",
    )


def _entities(checkpoint: Any, text: str) -> Payload:
    from bertviz_lab.interpret import label_words

    labelled = label_words(checkpoint, text, on_progress=tell_progress)
    spans = [Span(e.start, e.end, e.type, e.probability) for e in labelled.entities]
    if not any("-" in label for label in labelled.labels):  # parts of speech: every word has one
        spans = [Span(word.start, word.end, word.label, word.probability) for word in labelled.words]
    count = f"{len(spans):,} entit{'y' if len(spans) == 1 else 'ies'}" if spans else "no entities"
    sentence = f"{count} in {len(labelled.words):,} words." if labelled.entities or not spans else ""
    return marked_payload(labelled.text, spans, title="Entities", sentence=sentence, file="entities")


def _answer(checkpoint: Any, question: str, passage: str) -> Payload:
    from bertviz_lab.interpret import answer_question

    answer = answer_question(checkpoint, question, passage, on_progress=tell_progress)
    sentence = f"Answer: “{answer.text}”." if answer.text else "Prediction: the passage has no answer."
    return marked_payload(
        passage,
        (),
        answer.best,
        title=question,
        sentence=f"{sentence} Probability of no answer: {answer.no_answer_probability:.1%}.",
        chosen=0 if answer.text else None,
        file="answers",
    )
