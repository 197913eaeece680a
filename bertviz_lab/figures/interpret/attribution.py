"""Attribution: what each token contributes to a prediction, one row per method."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.strips import ScoreRow, scores_payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Attribution, Target

NOT_AN_EXPLANATION = (
    "Attention weights show where a head gathers information, not its effect on the prediction: tokens with high "
    "attention may contribute nothing, and others contribute by other paths."
)

_DESCRIPTIONS = {
    "integrated gradients": "Contribution of each token to the {quantity}, integrated along the path from an "
    "all-[MASK] baseline to this text; the contributions sum to the total change (Sundararajan et al. 2017)",
    "gradient x input": "The gradient of the {quantity} times the token embedding",
    "occlusion": "Loss in {quantity} when this token alone is replaced by [MASK] (Zeiler and Fergus 2014)",
    "attention": "Attention from the position of the prediction to this token: mean over all heads and layers",
}


def attribution_payload(
    attributions: Sequence["Attribution"], attention: NDArray[np.floating] | None = None, *, title: str = ""
) -> Payload:
    """The payload of the score strip; `attention` (tokens,) is shown beside the methods for contrast."""
    first = attributions[0]
    rows = [
        ScoreRow(
            a.method,
            _DESCRIPTIONS[a.method].format(quantity=_with_unit(a.target)),
            a.scores,
            plus=True,
            digits=2 if np.abs(a.scores).max(initial=0) >= 1 else 3,
        )
        for a in attributions
    ]
    if attention is not None:
        rows.append(ScoreRow("attention", _DESCRIPTIONS["attention"], attention, "bar", digits=3))
    contrast = f", against {first.target.against.name}," if first.target.against else ""
    if first.target.is_regression:
        notes = [f"With this text the {first.target.name} is {first.change:+.2f} compared with every token masked."]
    else:
        notes = [
            f"With this text {first.target.name}{contrast} is {_times(first.change)} as with every token masked: the "
            f"logarithm of that is {first.change:+.2f}."
        ]
    for a in attributions:
        if a.error is not None:
            notes.append(f"The {a.method} attributions sum to that with a residual of {abs(a.error):.3f}.")
    return scores_payload(
        first.encoding,
        rows,
        title=title or f"Attribution for {first.target.title}",
        sentence="Blue supports the prediction, brown opposes it.",
        note=" ".join([*notes, NOT_AN_EXPLANATION] if attention is not None else notes),
        file="attribution",
    )


def _with_unit(target: "Target") -> str:
    return target.quantity if target.is_regression else f"{target.quantity}, in nats"


def _times(change: float) -> str:
    """A difference of log-probabilities as a likelihood ratio in words."""
    ratio = math.exp(min(abs(change), 50))
    if ratio < 1.05:
        return "about as likely"
    if ratio > 1e6:
        return "over a million times as likely" if change > 0 else "less than a millionth as likely"
    factor = f"{ratio:.1f}" if ratio < 20 else f"{ratio:,.0f}"
    return f"{factor} times as likely" if change > 0 else f"1/{factor} as likely"
