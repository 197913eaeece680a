"""Predictions: masked tokens, the next sentence, and those of fine-tuned models as bars or marked in the text."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.marking import Span, marked_payload
from bertviz_lab.figures.payload import Payload, to_json
from bertviz_lab.figures.strips import token_columns
from bertviz_lab.metrics import marks_entities

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Classification, FillMask, PassageAnswer, WordLabels


def next_sentence_payload(is_next: float, is_random: float) -> Payload:
    """Whether B follows A: two shares that sum to 1."""
    shares = [is_next, is_random]
    return bars_payload(
        ["B follows A", "B comes from elsewhere"],
        [("probability", shares)],
        title="Prediction: is next" if is_next > 0.5 else "Prediction: not next",
        texts=[[f"{share:.1%}" for share in shares]],
        peak=1.0,
        file="next-sentence",
    )


def fill_mask_payload(filled: "FillMask", *, title: str = "", vocab_size: int | None = None) -> Payload:
    """The payload of the fill-mask bars; probabilities are shares of 1.

    With `vocab_size` the page shows over how many other tokens the remaining probability is spread.
    """
    masks = [asdict(mask) for mask in filled.masks]
    columns = token_columns(filled.encoding)
    return to_json({"title": title, "columns": columns, "masks": masks, "vocab_size": vocab_size})


def labels_payload(prediction: "Classification") -> Payload:
    """The labels of a text with their probabilities; of a regression the predicted number."""
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
        ranked="most probable labels",
        file="labels",
    )


def entities_payload(labelled: "WordLabels") -> Payload:
    """Entities marked in their text; of labels that form none, such as parts of speech, every word's."""
    spans = [Span(e.start, e.end, e.type, e.probability) for e in labelled.entities]
    if not marks_entities(labelled.labels):
        spans = [Span(word.start, word.end, word.label, word.probability) for word in labelled.words]
    count = f"{len(spans):,} entit{'y' if len(spans) == 1 else 'ies'}" if spans else "no entities"
    sentence = f"{count} in {len(labelled.words):,} words." if labelled.entities or not spans else ""
    return marked_payload(labelled.text, spans, title="Entities", sentence=sentence, file="entities")


def answer_payload(answer: "PassageAnswer") -> Payload:
    """The answer to a question marked in its passage, and the next best ones."""
    sentence = f"Answer: “{answer.text}”." if answer.text else "Prediction: the passage has no answer."
    return marked_payload(
        answer.passage,
        (),
        answer.best,
        title=answer.question,
        sentence=f"{sentence} Probability of no answer: {answer.no_answer_probability:.1%}.",
        chosen=0 if answer.text else None,
        file="answers",
    )
