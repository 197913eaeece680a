"""Head metrics: summary statistics of attention patterns, and attention rollout."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.interpret.attention.trace import TextTrace

#: Name of each metric and its description. All are means over the query tokens.
METRICS = {
    "entropy": "in nats: 0 is a single token, ln(tokens) is uniform attention",
    "distance": "mean distance of the tokens attended to, in tokens",
    "previous": "share of attention to the previous token",
    "next": "share of attention to the next token",
    "same": "share of attention to the token itself",
    "special": "share of attention to special tokens, such as [CLS] and [SEP]",
    "across": "share of attention from one sentence to the other",
}


@dataclass(frozen=True, eq=False)
class HeadMetrics:
    """Each of `METRICS` for every head, (layers, heads)."""

    metrics: dict[str, NDArray[np.float64]]

    def ranked(self, metric: str) -> tuple[tuple[int, int, float], ...]:
        """(layer, head, value) of all heads, the largest value first."""
        values = self.metrics[metric]
        order = np.argsort(-values, axis=None, kind="stable")
        return tuple((int(i // values.shape[1]), int(i % values.shape[1]), float(values.flat[i])) for i in order)


def head_metrics(trace: TextTrace) -> HeadMetrics:
    """Every head's metrics on one text."""
    encoding = trace.encoding
    return HeadMetrics(
        measure_heads(trace.attentions, np.array(encoding.token_type_ids), np.array(encoding.special_tokens_mask) == 1)
    )


def measure_heads(
    attentions: NDArray[np.floating], segment_ids: NDArray[Any], special: NDArray[np.bool_]
) -> dict[str, NDArray[np.float64]]:
    """`METRICS` of attention (layers, heads, tokens, tokens); `special` (tokens,) marks special tokens.

    "previous" and "next" leave out the token that has no such neighbour. "across" counts tokens of the sentences
    only, as queries and as keys; it is 0 for a text without a second sentence.
    """
    weights = attentions.astype(np.float64)
    length = weights.shape[-1]
    positions = np.arange(length)
    logs = np.log(np.where(weights > 0, weights, 1.0))
    a, b = ~special & (segment_ids == 0), ~special & (segment_ids == 1)
    across = (a[:, None] & b) | (b[:, None] & a)
    return {
        "entropy": -(weights * logs).sum(-1).mean(-1),
        "distance": (weights * np.abs(positions[:, None] - positions)).sum(-1).mean(-1),
        "previous": _mean(np.diagonal(weights, -1, -2, -1)),
        "next": _mean(np.diagonal(weights, 1, -2, -1)),
        "same": _mean(np.diagonal(weights, 0, -2, -1)),
        "special": weights[..., special].sum(-1).mean(-1),
        "across": (weights * across).sum(-1)[..., a | b].mean(-1) if a.any() and b.any() else 0 * weights[..., 0, 0],
    }


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values.mean(-1) if values.shape[-1] else np.zeros(values.shape[:-1])


def rollout(attentions: NDArray[np.floating]) -> NDArray[np.float64]:
    """Attention rollout: the share of each input token in each position after each layer (Abnar and Zuidema 2020).

    (layers, heads, tokens, tokens) to (layers, tokens, tokens); rows sum to 1. The residual connection is modelled as
    half of each layer's output (section 3).
    """
    mixing = attentions.astype(np.float64).mean(1)
    flow = np.eye(mixing.shape[-1])
    steps = []
    for layer in (mixing + np.eye(mixing.shape[-1])) / 2:
        flow = layer @ flow
        steps.append(flow)
    return np.stack(steps)
