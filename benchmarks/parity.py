"""Largest differences from transformers on the same random weights: outputs, losses and gradients of every head."""

from typing import Any

import torch

from benchmarks.machine import markdown, report
from bertviz_lab.model.weight_names import place_of
from tests.model.support import (
    KINDS,
    MODEL,
    Kind,
    as_huggingface,
    build,
    gradients,
    inputs,
    labels_for,
    largest_difference,
    small_config,
)


def objective(kind: Kind, out: Any) -> torch.Tensor:
    """Return the loss, or for the bare model a sum that every parameter has a part in."""
    if kind is not MODEL:
        return out.loss
    weights = torch.linspace(-1, 1, out.last_hidden_state.shape[-1])
    return (out.last_hidden_state * weights).mean() + (out.pooler_output * weights).mean()


def measure(kind: Kind) -> dict[str, float]:
    """Largest absolute differences in 32 bits, over both activations, both attentions and three seeds."""
    worst = {"outputs": 0.0, "loss": 0.0, "gradients": 0.0}
    cases = [(seed, act, explicit) for seed in range(3) for act in ("gelu", "gelu_new") for explicit in (True, False)]
    for seed, activation, explicit in cases:
        ours = build(kind, small_config(hidden_act=activation), seed=seed)
        theirs = as_huggingface(kind, ours)
        arguments = inputs(seed) | labels_for(kind)
        # transformers never trains the vector of id 0, the padding; as an ordinary token it would compare unequal.
        arguments["input_ids"].clamp_(min=1)
        a, b = ours(**arguments, explicit=explicit), theirs(**arguments)
        loss_a, loss_b = objective(kind, a), objective(kind, b)
        expected = gradients(theirs, loss_b)
        actual = {
            ("bert." if name.startswith("bert.") else "") + place_of(name).name: gradient
            for name, gradient in gradients(ours, loss_a).items()
        }
        found = {
            "outputs": max(largest_difference(getattr(a, name), getattr(b, name)) for name in kind.outputs),
            "loss": largest_difference(loss_a, loss_b),
            "gradients": max(largest_difference(g, expected[name]) for name, g in actual.items()),
        }
        worst = {name: max(worst[name], found[name]) for name in worst}
    return {name: float(f"{value:.1e}") for name, value in worst.items()}


def table(result: dict[str, Any]) -> str:
    rows = result["largest_difference"].items()
    return markdown(["head", *next(iter(result["largest_difference"].values()))], ([k, *v.values()] for k, v in rows))


if __name__ == "__main__":
    report("parity", {"largest_difference": {str(kind): measure(kind) for kind in KINDS}}, table)
