"""What layers hold: accuracy and selectivity of probes, by layer and over training, and the fit of a tuned lens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from bertviz_lab.figures.payload import Payload, figure

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import LayerProbes, LensFit

ProbeMeasure = Literal["selectivity", "accuracy", "control"]
MEASURES: dict[ProbeMeasure, str] = {
    "selectivity": "selectivity (accuracy minus control task)",
    "accuracy": "accuracy",
    "control": "accuracy on the control task",
}
_NO_USE = (
    "A probe shows that a label can be read off a layer, not that the model reads it. On the control task each word "
    "type has a label drawn at random: what a probe learns there it has memorized (Hewitt and Liang 2019)."
)


def probes_payload(probes: "LayerProbes", random: "LayerProbes", task: str) -> Payload:
    """Return the accuracy of linear probes by layer, that on the control task, and that of `random` weights."""
    layers = ["embeddings", *(str(layer) for layer in range(1, len(probes.accuracy)))]
    best = int(np.argmax(probes.selectivity))
    flat = np.ones(len(layers))
    return figure(
        "lines",
        places=layers,
        series=[
            ("probe", probes.accuracy),
            ("control task", probes.control),
            ("random weights", random.accuracy),
            ("word type alone", flat * probes.by_type),
        ],
        title=f"Probes: {task}",
        place_name="layer",
        low=0.0,
        high=1.0,
        dashed=["random weights", "word type alone"],
        extra_columns=[
            ("selectivity", probes.selectivity.tolist()),
            ("selectivity, random weights", random.selectivity.tolist()),
        ],
        sentence=f"Accuracy of a linear classifier of {len(probes.labels)} labels on {probes.tested:,} held-out words. "
        f"Selectivity is largest at {'the embeddings' if best == 0 else f'layer {best}'}: "
        f"{probes.selectivity[best]:.1%}. The most frequent label alone is right for {probes.majority:.1%}.",
        note=_NO_USE,
        file="probes",
    )


def probes_over_training_payload(
    of_steps: Sequence["LayerProbes"], steps: Sequence[int], measure: ProbeMeasure, task: str
) -> Payload:
    """Return one measure of the probes, layer by layer and snapshot by snapshot."""
    values = np.stack([getattr(probes, measure) for probes in of_steps], axis=1)
    return figure(
        "matrix",
        values=values,
        rows=["embeddings", *(f"layer {layer}" for layer in range(1, len(values)))],
        columns=[f"{step:,}" for step in steps],
        column_name="step",
        texts=[[f"{100 * value:.0f}" for value in row] for row in values],
        peak=1.0,
        title=f"Probes over training: {task}",
        sentence=f"{MEASURES[measure].capitalize()} in percent, at each snapshot.",
        note=_NO_USE,
        file="probes-over-training",
    )


def lens_fit_payload(fit: "LensFit") -> Payload:
    """Return how far each layer's prediction is from the model's own on held-out text, by both lenses."""
    return figure(
        "lines",
        places=["embeddings", *(str(layer) for layer in range(1, len(fit.tuned_lens)))],
        series=[("logit lens", fit.logit_lens), ("tuned lens", fit.tuned_lens)],
        title="How near each lens comes to the model's output",
        place_name="layer",
        low=0.0,
        sentence=f"KL divergence in nats, at {fit.held_out:,} held-out masked tokens; 0 is the model's own prediction.",
        note=f"Fitted on {fit.positions:,} masked tokens in {fit.seconds:.0f} s.",
        file="lens-fit",
    )
