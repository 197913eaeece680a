"""Head metrics: summary statistics of attention patterns; attention rollout; query-key products."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention.trace import TextTrace

#: Name of each metric and its description. All are means over the query tokens.
METRICS = {
    "entropy": "in nats: 0 is a single token, ln(tokens) is uniform attention",
    "distance": "mean distance of the tokens attended to, in tokens",
    "previous": "share of attention to the previous token",
    "next": "share of attention to the next token",
    "same": "share of attention to the token itself",
    "special": "share of attention to [CLS] and [SEP]",
    "across": "share of attention from one sentence to the other",
}


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class QueryKey:
    """The attention score of a pair of tokens in a head: the product of query and key, dimension by dimension.

    `products` (head size,) sum to `score`, the logit before the softmax; `weight` is the attention weight after it.
    """

    query: NDArray[np.float32]
    key: NDArray[np.float32]
    products: NDArray[np.float32]  # query times key over the root of the head size
    score: float
    weight: float


def query_key(trace: TextTrace, layer: int, head: int, query_position: int, key_position: int) -> QueryKey:
    """The score of a pair of tokens, dimension by dimension (Vaswani et al. 2017, section 3.2.1).

    Raises `InputError` for a layer, head or token that does not exist.
    """
    layers, heads, length, _ = trace.attentions.shape
    if not (0 <= layer < layers and 0 <= head < heads and 0 <= query_position < length and 0 <= key_position < length):
        raise InputError("That layer, head or token is not there.")
    stages = trace.layers[layer]
    query = stages.query_states[0, head, query_position].float().numpy()
    key = stages.key_states[0, head, key_position].float().numpy()
    return QueryKey(
        query=query,
        key=key,
        products=query * key / np.sqrt(len(query), dtype=np.float32),
        score=float(stages.attention_scores[0, head, query_position, key_position]),
        weight=float(trace.attentions[layer, head, query_position, key_position]),
    )
