"""What each token adds to a prediction, by several methods under each other."""

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.interpret.tokens import EncodingLike
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.training.scores import ScoreRow, scores_payload

NOT_AN_EXPLANATION = (
    "Attention says from where a head gathers vectors, not what these do to the answer: tokens with much attention may "
    "add nothing, and others add by ways around it."
)

_SAYS = {
    "integrated gradients": "What each token adds, in nats of log-probability, gathered on the way from a text of "
    "nothing but [MASK] to this one; the numbers sum to the whole change (Sundararajan et al. 2017)",
    "gradient x input": "The slope of the log-probability along each word vector, here and now",
    "occlusion": "What is lost when this token alone is hidden behind [MASK] (Zeiler and Fergus 2014)",
    "attention": "How much the token that is asked about looks there, the mean of all heads and layers",
}


class AttributionLike(Protocol):
    """One method's scores."""

    @property
    def encoding(self) -> EncodingLike: ...
    @property
    def method(self) -> str: ...
    @property
    def scores(self) -> NDArray[np.floating]: ...
    @property
    def change(self) -> float: ...
    @property
    def error(self) -> float | None: ...
    @property
    def target(self) -> Any: ...


def attribution_payload(
    attributions: Sequence[AttributionLike], attention: NDArray[np.floating] | None = None, *, title: str = ""
) -> Payload:
    """The payload of the strip of scores; `attention` (tokens,) is shown beside the methods, as what it is not."""
    first = attributions[0]
    rows = [
        ScoreRow(found.method, _SAYS[found.method], found.scores, plus=True, digits=2 if _large(found.scores) else 3)
        for found in attributions
    ]
    if attention is not None:
        rows.append(ScoreRow("attention", _SAYS["attention"], attention, "bar", digits=3))
    odds = f", against {first.target.against.name}," if first.target.against else ""
    if first.target.is_regression:
        told = [
            f"With this text the {first.target.name} is {first.change:+.2f} from what it is with every word hidden."
        ]
    else:
        told = [
            f"With this text {first.target.name}{odds} is {_times(first.change)} as with every word hidden: the "
            f"logarithm of that is {first.change:+.2f}."
        ]
    for found in attributions:
        if found.error is not None:
            told.append(f"The {found.method} sum to that but for {abs(found.error):.3f}.")
    return scores_payload(
        first.encoding,
        rows,
        title=title or f"What makes the model say {first.target.title}",
        sentence="Blue adds to the answer, brown speaks against it.",
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


def _large(scores: NDArray[np.floating]) -> bool:
    return bool(np.abs(scores).max(initial=0) >= 1)
