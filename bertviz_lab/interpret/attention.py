"""Traces: every intermediate result of every layer for one text."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import entr

from bertviz_lab.interpret.inputs import backbone, check_memory, encode_inputs, head_mask_for, in_evaluation_mode
from bertviz_lab.model import LayerTrace
from bertviz_lab.tokenization import Encoding
from bertviz_lab.training.checkpoints.checkpoint import Checkpoint


@dataclass(frozen=True, eq=False)
class TextTrace:
    """What a model computed for a text; batch size 1 throughout.

    `attentions`: (layers, heads, tokens, tokens), row = query token, column = key token;
    every row sums to 1. `hidden_states`: (layers + 1, tokens, hidden), the embeddings first.
    """

    encoding: Encoding
    layers: tuple[LayerTrace, ...]
    hidden_states: NDArray[np.float32]

    @cached_property
    def attentions(self) -> NDArray[np.float32]:
        return np.stack([layer.attention_probs[0].float().numpy() for layer in self.layers])

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.encoding.tokens


@torch.no_grad()  # and not inference mode, whose tensors no probe could be trained on
@in_evaluation_mode
def trace_text(
    checkpoint: Checkpoint,
    text_a: str,
    text_b: str | None = None,
    *,
    head_mask: NDArray[np.floating] | None = None,
    causal: bool = False,
) -> TextTrace:
    """Run a model on a text, or a pair, and return all intermediate results.

    `head_mask` (layers, heads) scales each head's output; `causal` masks later tokens, as in GPT.
    Raises `InputError` when there is no text.
    """
    inputs = encode_inputs(checkpoint, text_a, text_b)
    check_memory(checkpoint, len(inputs.encoding), traced=True)
    out = backbone(checkpoint)(
        **inputs.arguments(),
        output_trace=True,
        output_hidden_states=True,
        head_mask=head_mask_for(checkpoint, head_mask),
        causal=causal,
    )
    hidden = np.stack([state[0].float().numpy() for state in out.hidden_states])
    return TextTrace(inputs.encoding, out.trace, hidden)


#: What relative positions add to the product of query and key, by the fields of a `LayerTrace`.
ADDED_TERMS = ("content_to_position", "position_to_content", "relative_bias")


@dataclass(frozen=True, eq=False)
class QueryKey:
    """The attention score of a pair of tokens in a head: the product of query and key, dimension by dimension.

    `products` (head size,) and `added` sum to `score`, the logit before the softmax; `weight` is the attention weight
    after it, 0 where `is_masked`: the query cannot attend to the key.
    """

    query: NDArray[np.float32]
    key: NDArray[np.float32]
    products: NDArray[np.float32]  # query times key over the root of `divisor`
    divisor: int  # the head size; in DeBERTa times the number of terms
    added: Mapping[str, float]  # the terms of relative positions
    score: float
    weight: float
    is_masked: bool


@dataclass(frozen=True, eq=False)
class AttentionScores:
    """The scores of all heads on one text, in their terms."""

    attentions: NDArray[np.float32]  # (layers, heads, tokens, tokens): the softmax of the scores, and 0 where masked
    queries: NDArray[np.float32]  # (layers, heads, tokens, head size); after rotary positions rotated them
    keys: NDArray[np.float32]
    divisor: int
    added: Mapping[str, NDArray[np.float32]]  # each of `ADDED_TERMS` that there is: (layers, heads, tokens, tokens)
    masked: NDArray[np.bool_]  # (layers, tokens, tokens): where a query cannot attend to a key
    windows: tuple[int | None, ...]  # of each layer's local attention

    @property
    def terms(self) -> tuple[str, ...]:
        """The names of the terms, where there are several; none where a score is the product of query and key."""
        return (self._product, *self.added) if self.added else ()

    @property
    def _product(self) -> str:
        return "content_to_content" if self.added and "relative_bias" not in self.added else "query_key"

    @property
    def nbytes(self) -> int:
        arrays = (self.attentions, self.queries, self.keys, self.masked, *self.added.values())
        return sum(array.nbytes for array in arrays)

    def values(self, term: str) -> NDArray[np.float32]:
        """Return one of `terms`, or "score" for their sum: (layers, heads, tokens, tokens), 0 where masked."""
        values = self.added.get(term)
        if values is None:
            products = self.queries @ self.keys.swapaxes(-1, -2) / np.sqrt(self.divisor, dtype=np.float32)
            values = {self._product: products, "score": sum(self.added.values(), products)}[term]
        return np.where(self.masked[:, None], np.float32(0), values)

    def pair(self, layer: int, head: int, query_position: int, key_position: int) -> QueryKey:
        """Return one score by dimension."""
        place = (layer, head, query_position, key_position)
        query, key = self.queries[layer, head, query_position], self.keys[layer, head, key_position]
        products = query * key / np.sqrt(self.divisor, dtype=np.float32)
        added = {name: float(values[place]) for name, values in self.added.items()}
        return QueryKey(
            query=query,
            key=key,
            products=products,
            divisor=self.divisor,
            added=added,
            score=float(products.sum()) + sum(added.values()),
            weight=float(self.attentions[place]),
            is_masked=bool(self.masked[layer, query_position, key_position]),
        )


def attention_scores(trace: TextTrace) -> AttentionScores:
    """Return the scores of a trace in their terms, which sum to its `attention_scores` where unmasked."""

    def stacked(name: str) -> NDArray[np.float32]:
        return np.stack([getattr(layer, name)[0].float().numpy() for layer in trace.layers])

    first = trace.layers[0]
    smallest = torch.finfo(first.attention_scores.dtype).min  # the score of what is masked
    queries = stacked("query_states")
    added = {name: stacked(name) for name in ADDED_TERMS if getattr(first, name) is not None}
    # The queries of a DeBERTa are traced over the root of the number of terms.
    terms = 1 + len(added) if first.content_to_content is not None else 1
    return AttentionScores(
        attentions=trace.attentions,
        queries=queries * np.sqrt(terms, dtype=np.float32),
        keys=stacked("key_states"),
        divisor=terms * queries.shape[-1],
        added=added,
        masked=np.stack([(layer.attention_scores[0, 0] <= smallest).numpy() for layer in trace.layers]),
        windows=tuple(layer.window for layer in trace.layers),
    )


def query_key(trace: TextTrace, layer: int, head: int, query_position: int, key_position: int) -> QueryKey:
    """Return the score of a pair of tokens, dimension by dimension (Vaswani et al. 2017, section 3.2.1)."""
    return attention_scores(trace).pair(layer, head, query_position, key_position)


def head_metrics(attentions: NDArray[np.floating], encoding: Encoding) -> dict[str, NDArray[np.float64]]:
    """Return every head's metrics of attention to a text, (layers, heads, tokens, tokens) to (layers, heads) each.

    They are means over the query tokens: "entropy" in nats, "distance" in tokens, and the shares of attention to the
    "previous" token, the "next" one, the "same", the "special" tokens, and "across" to the other sentence.
    "previous" and "next" leave out the token that has no such neighbour. "across" counts tokens of the sentences
    only, as queries and as keys; it is 0 for a text without a second sentence.
    """
    weights = attentions.astype(np.float64)
    length = weights.shape[-1]
    positions = np.arange(length)
    special, segment_ids = np.array(encoding.special_tokens_mask) == 1, np.array(encoding.token_type_ids)
    a, b = ~special & (segment_ids == 0), ~special & (segment_ids == 1)
    across = (a[:, None] & b) | (b[:, None] & a)
    return {
        "entropy": entr(weights).sum(-1).mean(-1),
        "distance": (weights * np.abs(positions[:, None] - positions)).sum(-1).mean(-1),
        **{name: _mean(np.diagonal(weights, n, -2, -1)) for name, n in {"previous": -1, "next": 1, "same": 0}.items()},
        "special": weights[..., special].sum(-1).mean(-1),
        "across": (weights * across).sum(-1)[..., a | b].mean(-1) if a.any() and b.any() else 0 * weights[..., 0, 0],
    }


def _mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values.mean(-1) if values.shape[-1] else np.zeros(values.shape[:-1])


def rollout(attentions: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return each input token's share in each position after each layer: attention rollout (Abnar and Zuidema 2020).

    (layers, heads, tokens, tokens) to (layers, tokens, tokens); rows sum to 1. The residual connection is modelled as
    half of each layer's output (section 3).
    """
    mixing = attentions.astype(np.float64).mean(1)
    layers = (mixing + np.eye(mixing.shape[-1])) / 2
    return np.stack([*accumulate(layers, lambda flow, layer: layer @ flow)])
