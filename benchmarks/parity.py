"""Largest differences from transformers on the same random weights: outputs, losses and gradients of every head."""

import torch

from benchmarks.machine import report
from tests.model import support


def measure(kind: support.Kind) -> dict[str, float]:
    """Largest absolute differences over three seeds, in 32 bits, with padding and two segments."""
    worst = {"outputs": 0.0, "loss": 0.0, "gradients": 0.0}
    for seed in range(3):
        ours = support.build(kind, seed=seed)
        theirs = support.as_huggingface(kind, ours)
        compared = support.compare(kind, ours, theirs, seed)
        worst = {name: max(worst[name], compared[name]) for name in worst}
    return worst


if __name__ == "__main__":
    torch.manual_seed(0)
    report("parity", {"largest_difference": {str(kind): measure(kind) for kind in support.KINDS}})
