"""Predictions of several models, or joint predictions, for the same masked tokens."""

import math
from typing import TYPE_CHECKING

from bertviz_lab.figures.charts import bars_payload
from bertviz_lab.figures.payload import Payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import FillComparison, JointFill


def comparison_payload(comparison: "FillComparison") -> Payload:
    """Bars side by side; "not in its vocabulary" for tokens that a vocabulary lacks."""
    several = len(comparison.masks) > 1
    groups: list[str] = []
    values: list[list[float | None]] = [[] for _ in comparison.names]
    for number, mask in enumerate(comparison.masks, 1):
        for candidate in mask:
            groups.append(f"{number}: {candidate.token}" if several else candidate.token)
            for model, probability in enumerate(candidate.probabilities):
                values[model].append(probability)
    *first, last = comparison.names
    texts = [["not in its vocabulary" if v is None else f"{v:.1%}" for v in probabilities] for probabilities in values]
    return bars_payload(
        groups,
        list(zip(comparison.names, values, strict=True)),
        title=f"{', '.join(first)} and {last}" if first else last,
        texts=texts,
        peak=1.0,
        file="comparison",
        sentence=f"Top predictions of {'both' if len(comparison.names) == 2 else 'all'}, and their "
        "probability under each model.",
    )


def joint_payload(joint: "JointFill", limit: int = 8) -> Payload:
    """Joint fills of all masked tokens, the best first, beside the independent predictions."""
    sequences = list(joint.joint[:limit])
    names = [" · ".join(sequence.tokens) for sequence in sequences]
    independent = " · ".join(joint.independent.tokens)
    scores = [math.exp(sequence.log_probability) for sequence in sequences]
    if independent not in names:
        names.append(f"{independent} (independently)")
        scores.append(math.exp(joint.independent.log_probability))
    else:
        names[names.index(independent)] += " (also independently)"
    order = " then ".join(f"masked token {index + 1}" for index in sequences[0].order)
    return bars_payload(
        names,
        [("probability", scores)],
        title="All masked tokens jointly",
        texts=[[f"{score:.2%}" for score in scores]],
        file="together",
        sentence=f"The most confident masked token is filled first, then the model runs again: here {order}. Predicted "
        "independently, masked tokens need not agree with each other.",
        note="Products of conditional probabilities, each given the tokens filled before it. Another order may give "
        "other numbers: BERT does not define one joint probability of a sentence (Torroba Hennigen and Kim 2023).",
    )
