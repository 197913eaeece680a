"""Attribution: what each token contributes to a prediction, one row per method."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.training.scores import ScoreRow, scores_payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Attribution

NOT_AN_EXPLANATION = (
    "Attention weights show where a head gathers information, not its effect on the prediction: tokens with high "
    "attention may contribute nothing, and others contribute by other paths."
)

_SAYS = {
    "integrated gradients": "Contribution of each token in nats of log-probability, integrated along the path from "
    "an all-[MASK] baseline to this text; the contributions sum to the total change (Sundararajan et al. 2017)",
    "gradient x input": "The gradient of the log-probability times the token embedding",
    "occlusion": "Loss in log-probability when this token alone is replaced by [MASK] (Zeiler and Fergus 2014)",
    "attention": "How much the predicted token attends to this one: mean over all heads and layers",
}


def attribution_payload(
    attributions: Sequence["Attribution"], attention: NDArray[np.floating] | None = None, *, title: str = ""
) -> Payload:
    """The payload of the strip of scores; `attention` (tokens,) is shown beside the methods, as what it is not."""
    first = attributions[0]
    rows = [
        ScoreRow(
            a.method, _SAYS[a.method], a.scores, plus=True, digits=2 if np.abs(a.scores).max(initial=0) >= 1 else 3
        )
        for a in attributions
    ]
    if attention is not None:
        rows.append(ScoreRow("attention", _SAYS["attention"], attention, "bar", digits=3))
    odds = f", against {first.target.against.name}," if first.target.against else ""
    if first.target.is_regression:
        told = [f"With this text the {first.target.name} is {first.change:+.2f} compared with every token masked."]
    else:
        told = [
            f"With this text {first.target.name}{odds} is {_times(first.change)} as with every token masked: the "
            f"logarithm of that is {first.change:+.2f}."
        ]
    for a in attributions:
        if a.error is not None:
            told.append(f"The {a.method} attributions sum to that with a residual of {abs(a.error):.3f}.")
    return scores_payload(
        first.encoding,
        rows,
        title=title or f"Attribution for {first.target.title}",
        sentence="Blue supports the prediction, brown opposes it.",
        note=" ".join([*told, NOT_AN_EXPLANATION] if attention is not None else told),
        file="attribution",
    )


def _times(change: float) -> str:
    """A change of a log-probability in words."""
    times = math.exp(min(abs(change), 50))
    if times < 1.05:
        return "about as likely"
    if times > 1e6:
        return "over a million times as likely" if change > 0 else "less than a millionth as likely"
    much = f"{times:.1f}" if times < 20 else f"{times:,.0f}"
    return f"{much} times as likely" if change > 0 else f"1/{much} as likely"
