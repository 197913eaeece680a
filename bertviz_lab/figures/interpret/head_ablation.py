"""Head ablation: the effect of each head on a prediction, and the prediction without some of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.charts import bars_payload, matrix_payload
from bertviz_lab.figures.payload import Payload

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Target


def head_ablation_payload(
    effects: NDArray[np.floating],
    layer_effects: NDArray[np.floating],
    target: "Target",
    off: Sequence[Sequence[bool]] | None = None,
    sharing_note: str = "",
) -> Payload:
    """The (layers, heads) effects on the target's score, with a column for whole layers.

    With `off`, (layers, heads), cells can be selected to ablate heads, and ablated heads are marked. With a
    `sharing_note` all layers are one, and a head is ablated where that layer is used for one of them.
    """
    layers, heads = effects.shape
    values = np.concatenate([effects, layer_effects[:, None]], axis=1)
    marks = [[*("off" if is_off else "" for is_off in row), ""] for row in off or ()]
    hint = " Click a head to ablate it" if off is not None else ""
    return matrix_payload(
        values,
        [f"layer {layer + 1}" for layer in range(layers)],
        [*(f"{head + 1}" for head in range(heads)), "all"],
        title=f"Effect of each head on {target.title}",
        sentence="Ablated one at a time: blue heads support the prediction, brown ones oppose it; the last "
        f"column ablates all heads of a layer.{hint}{'.' if hint else ''}",
        row_name="",
        column_name="head",
        texts=marks if any(any(row) for row in off or ()) else None,
        peak=float(np.abs(effects).max(initial=0.0)) or 1.0,
        unit="" if target.is_regression else "nats",
        picks=off is not None,
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
    """The probabilities of some classes before and after an intervention; with `regression` they are plain numbers."""
    series = [("unmodified model", [float(v) for v in before]), (intervention, [float(v) for v in after])]
    texts = [[f"{v:.2f}" if regression else f"{v:.1%}" for v in values] for _, values in series]
    peak = None if regression else 1.0
    return bars_payload(names, series, title="Prediction before and after", texts=texts, peak=peak, file="what-if")
