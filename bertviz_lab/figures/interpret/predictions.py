"""Predictions of one model or several: masked tokens, the next sentence, labels, entities and answers."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.payload import Payload, message_payload, to_json
from bertviz_lab.figures.strips import Span, marked_payload, token_columns
from bertviz_lab.metrics.entities import marks_entities

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import (
        Classification,
        FillComparison,
        FillMask,
        JointFill,
        NextSentence,
        PassageAnswer,
        WordLabels,
    )


def next_sentence_payload(prediction: "NextSentence") -> Payload:
    """Return the NSP prediction: two probabilities that sum to 1."""
    return bars_payload(
        ["B follows A", "B comes from elsewhere"],
        [("probability", [prediction.is_next, prediction.is_random])],
        title="Prediction: is next" if prediction.is_next > 0.5 else "Prediction: not next",
        number_format=".1%",
        file="next-sentence",
    )


def fill_mask_payload(filled: "FillMask", *, title: str = "", vocab_size: int | None = None) -> Payload:
    """Return the fill-mask bars.

    With `vocab_size` the page shows over how many other tokens the remaining probability is spread.
    """
    body = {"title": title, "columns": token_columns(filled.encoding), "vocab_size": vocab_size}
    return to_json({**body, "masks": [asdict(mask) for mask in filled.masks]})


def labels_payload(prediction: "Classification") -> Payload:
    """Return the labels of a text with their probabilities; of a regression the predicted number."""
    labels, scores = zip(*((label.label, label.score) for label in prediction.labels), strict=True)
    if len(labels) == 1 and not prediction.multi_label:
        return bars_payload(labels, [("number", scores)], title="Predicted value", number_format=".2f", file="value")
    named = ", ".join(prediction.predicted) or "none of its labels"
    return bars_payload(
        labels,
        [("probability", scores)],
        title=f"Predicted label: {named if prediction.multi_label else labels[0]}",
        number_format=".1%",
        sentence="Each label has its own probability (multi-label)." if prediction.multi_label else "",
        ranked="most probable labels",
        file="labels",
    )


def entities_payload(labelled: "WordLabels") -> Payload:
    """Return a text with its entities marked, or all its words if the labels form no entities (parts of speech)."""
    spans = [Span(e.start, e.end, e.type, e.probability) for e in labelled.entities]
    if not marks_entities(labelled.labels):
        spans = [Span(word.start, word.end, word.label, word.probability) for word in labelled.words]
    count = f"{len(spans):,} entit{'y' if len(spans) == 1 else 'ies'}" if spans else "no entities"
    sentence = f"{count} in {len(labelled.words):,} words." if labelled.entities or not spans else ""
    return marked_payload(labelled.text, spans, title="Entities", sentence=sentence, file="entities")


def answer_payload(answer: "PassageAnswer") -> Payload:
    """Return the answer to a question marked in its passage, and the next best ones."""
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


def comparison_payload(comparison: "FillComparison") -> Payload:
    """Return the bars of several models side by side."""
    several = len(comparison.masks) > 1
    rows = [
        (f"{number}: {candidate.token}" if several else candidate.token, candidate.probabilities)
        for number, mask in enumerate(comparison.masks, 1)
        for candidate in mask
    ]
    *first, last = comparison.names
    return bars_payload(
        [name for name, _ in rows],
        [(name, [shares[model] for _, shares in rows]) for model, name in enumerate(comparison.names)],
        title=f"{', '.join(first)} and {last}" if first else last,
        number_format=".1%",
        missing="not in its vocabulary",
        file="comparison",
        sentence=f"Top predictions of {'both' if len(comparison.names) == 2 else 'all'}, and their "
        "probability under each model.",
    )


def joint_payload(joint: "JointFill", limit: int = 8) -> Payload:
    """Return the joint fills of all masked tokens, the best first, next to the independent predictions."""
    fills = {" · ".join(fill.tokens): math.exp(fill.log_probability) for fill in joint.joint[:limit]}
    independent = " · ".join(joint.independent.tokens)
    marks = {independent: " (also independently)" if independent in fills else " (independently)"}
    fills.setdefault(independent, math.exp(joint.independent.log_probability))
    order = " then ".join(f"masked token {index + 1}" for index in joint.joint[0].order)
    return bars_payload(
        [f"{name}{marks.get(name, '')}" for name in fills],
        [("probability", list(fills.values()))],
        title="All masked tokens jointly",
        number_format=".2%",
        file="together",
        sentence=f"The most confident masked token is filled first, then the model runs again: here {order}. Predicted "
        "independently, masked tokens need not agree with each other.",
        note="Products of conditional probabilities, each given the tokens filled before it. Another order may give "
        "other numbers: BERT does not define one joint probability of a sentence (Torroba Hennigen and Kim 2023).",
    )


def follows_payload(names: Sequence[str], shares: Sequence[float | None]) -> Payload:
    """Return each model's probability that B follows A; None for one without an NSP head."""
    if all(share is None for share in shares):
        return message_payload("None of these models has an NSP head.")
    return bars_payload(
        list(names),
        [("B follows A", list(shares))],
        title="Does B follow A? (NSP)",
        number_format=".1%",
        missing="no NSP head",
        file="next-sentence",
        sentence="Probability under each model that B is the next sentence; 50% is chance.",
    )


def heads_payload(names: Sequence[str], grids: Sequence[str]) -> Payload:
    """Return all heads of each model; `grids` are payloads of the attention grid, one for each name."""
    return to_json({"names": list(names), "grids": list(grids), "file": "heads"})
