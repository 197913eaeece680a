"""The contribution of each token and of each attention head to a prediction."""

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.charts import bars_payload, matrix_payload
from bertviz_lab.figures.payload import Payload
from bertviz_lab.figures.strips import ScoreRow, scores_payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Attribution, HeadAblation


NOT_AN_EXPLANATION = (
    "Attention weights show where a head gathers information, not its effect on the prediction: tokens with high "
    "attention may contribute nothing, and others contribute by other paths."
)

DESCRIPTIONS = {
    "integrated gradients": "Contribution of each token to the {quantity}, integrated along the path from an "
    "all-[MASK] baseline to this text; the contributions sum to the total change (Sundararajan et al. 2017)",
    "gradient x input": "The gradient of the {quantity} times the token embedding",
    "occlusion": "Loss in {quantity} when this token alone is replaced by [MASK] (Zeiler and Fergus 2014)",
    "attention": "Attention from the position of the prediction to this token: mean over all heads and layers",
}


def attribution_payload(
    attributions: Sequence["Attribution"], attention: NDArray[np.floating] | None = None, *, title: str = ""
) -> Payload:
    """Return the score strip; `attention` (tokens,) is shown next to the methods for contrast."""
    first, target = attributions[0], attributions[0].target
    rows = [
        ScoreRow(
            a.method,
            DESCRIPTIONS[a.method].format(quantity=target.quantity + ", in nats" * (not target.is_regression)),
            a.scores,
            plus=True,
            digits=2 if np.abs(a.scores).max(initial=0) >= 1 else 3,
        )
        for a in attributions
    ]
    if attention is not None:
        rows.append(ScoreRow("attention", DESCRIPTIONS["attention"], attention, "bar", digits=3))
    contrast = f", against “{target.against.name}”," if target.against else ""
    if target.is_regression:
        notes = [f"With this text the {target.name} is {first.change:+.2f} compared with every token masked."]
    else:
        notes = [
            f"With this text “{target.name}”{contrast} is {_times(first.change)} as with every token masked: the "
            f"logarithm of that is {first.change:+.2f}."
        ]
    for a in attributions:
        if a.error is not None:
            notes.append(f"The {a.method} attributions sum to that with a residual of {abs(a.error):.3f}.")
    return scores_payload(
        first.encoding,
        rows,
        title=title or f"Attribution for {target.title}",
        sentence="Blue supports the prediction, brown opposes it.",
        note=" ".join([*notes, NOT_AN_EXPLANATION] if attention is not None else notes),
        file="attribution",
    )


def _times(change: float) -> str:
    """Write a difference of log-probabilities as a likelihood ratio in words."""
    ratio = math.exp(min(abs(change), 50))
    if ratio < 1.05:
        return "about as likely"
    if ratio > 1e6:
        return "over a million times as likely" if change > 0 else "less than a millionth as likely"
    factor = f"{ratio:.1f}" if ratio < 20 else f"{ratio:,.0f}"
    return f"{factor} times as likely" if change > 0 else f"1/{factor} as likely"


def head_ablation_payload(
    ablation: "HeadAblation", off: Collection[tuple[int, int]] | None = None, sharing_note: str = ""
) -> Payload:
    """Return the (layers, heads) effects on the target's score, with a column for whole layers.

    With `off`, cells can be selected to ablate heads, and the ablated heads in it, (layer, head), are marked. With a
    `sharing_note` all layers are one, and a head is ablated where that layer is used for one of them.
    """
    effects, target = ablation.effects, ablation.target
    layers, heads = effects.shape
    values = np.concatenate([effects, (ablation.baseline - ablation.without_layer)[:, None]], axis=1)
    texts = [[f"{value:.3g}" for value in row] for row in values]
    for layer, head in off or ():
        if layer < layers and head < heads:
            texts[layer][head] = "off"
    return matrix_payload(
        values,
        [f"layer {layer + 1}" for layer in range(layers)],
        [*(f"{head + 1}" for head in range(heads)), "all"],
        column_name="head",
        texts=texts,
        peak=float(np.abs(effects).max(initial=0.0)) or 1.0,
        unit="" if target.is_regression else "nats",
        picks=((), ()) if off is None else (range(layers), range(heads + 1)),
        title=f"Effect of each head on {target.title}",
        sentence="Ablated one at a time: blue heads support the prediction, brown ones oppose it; the last "
        f"column ablates all heads of a layer.{' Click a head to ablate it.' if off is not None else ''}",
        file="heads",
        note=f"Values are the {target.quantity} with the head minus without it (Michel et al. 2019). Heads can "
        "compensate for each other, so a small effect does not mean that a head does nothing."
        + (f" {sharing_note} A head is ablated in one layer only." if sharing_note else ""),
    )


def change_payload(
    names: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
    intervention: str,
    *,
    regression: bool = False,
) -> Payload:
    """Return the probabilities of some classes, or numbers for a `regression`, before and after an intervention.

    Without one, "", there is nothing to draw twice.
    """
    series = [("unmodified model", [float(v) for v in before])]
    if intervention:
        series.append((intervention, [float(v) for v in after]))
    number_format = ".2f" if regression else ".1%"
    return bars_payload(names, series, title="Prediction before and after", number_format=number_format, file="what-if")
