"""Attention scores taken apart: the product of query and key, and the terms that relative positions add to it.

score(i, j) = q_i . k_j / sqrt(K)                                      BERT; ModernBERT, whose q and k are rotated
score(i, j) = (q_i . k_j + q_i . k_{i-j} + q_{j-i} . k_j) / sqrt(3 K)  DeBERTa (He et al. 2020, section 3.1)
score(i, j) = q_i . k_j / sqrt(K) + b_{j-i}                            MPNet (Raffel et al. 2019, section 2.1)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertviz_lab.errors import InputError
from bertviz_lab.interpret.attention.trace import TextTrace

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
        """One of `terms`, or "score" for their sum: (layers, heads, tokens, tokens), 0 where masked.

        Raises `InputError` for a term that these scores do not have.
        """
        known = ("score", self._product, *self.added)
        if term not in known:
            raise InputError(f"There is no term {term!r} in these scores: choose one of {', '.join(known)}.")
        if term in self.added:
            values = self.added[term]
        else:
            values = self.queries @ self.keys.swapaxes(-1, -2) / np.sqrt(self.divisor, dtype=np.float32)
            if term == "score":
                values = sum(self.added.values(), values)
        return np.where(self.masked[:, None], np.float32(0), values)

    def pair(self, layer: int, head: int, query_position: int, key_position: int) -> QueryKey:
        """One score, dimension by dimension. Raises `InputError` for a layer, head or token that does not exist."""
        place = (layer, head, query_position, key_position)
        if not all(0 <= index < size for index, size in zip(place, self.attentions.shape, strict=True)):
            raise InputError("That layer, head or token is not there.")
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
    """The scores of a trace in their terms, which sum to its `attention_scores` wherever these are not masked."""

    def stacked(name: str) -> NDArray[np.float32]:
        return np.stack([getattr(layer, name)[0].float().numpy() for layer in trace.layers])

    (first, *_) = trace.layers
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
        masked=np.stack([_masked(layer.attention_scores[0, 0]) for layer in trace.layers]),
        windows=tuple(layer.window for layer in trace.layers),
    )


def _masked(scores_LL: Tensor) -> NDArray[np.bool_]:
    return (scores_LL <= torch.finfo(scores_LL.dtype).min).numpy()


def query_key(trace: TextTrace, layer: int, head: int, query_position: int, key_position: int) -> QueryKey:
    """The score of a pair of tokens, dimension by dimension (Vaswani et al. 2017, section 3.2.1).

    Raises `InputError` for a layer, head or token that does not exist.
    """
    return attention_scores(trace).pair(layer, head, query_position, key_position)
