"""What Attention asks: the weights of every head, more of them, and how they differ from other weights."""

from typing import Any, Literal

import numpy as np

from bertviz_lab.errors import InputError
from bertviz_lab.figures.interpret.attention import (
    attention_body,
    difference_body,
    pair_payload,
    signed_codes,
    sqrt_codes,
)
from bertviz_lab.figures.payload import Payload
from bertviz_lab.ui.state.app_state import AppState, CachedTrace
from bertviz_lab.ui.state.comparison_model import open_comparison
from bertviz_lab.ui.view import Index, ModelName, Text, View, Word, question


def attention(state: AppState, model: ModelName, text_a: Text, text_b: Text) -> dict[str, Any]:
    """What the grid shows; the computation is kept for what the grid asks later."""
    from bertviz_lab.interpret import METRICS, head_metrics, trace_text

    checkpoint = state.models.open(model)
    trace = trace_text(checkpoint, text_a, text_b or None)
    queries, keys = (
        np.stack([getattr(layer, name)[0].float().numpy() for layer in trace.layers])
        for name in ("query_states", "key_states")
    )
    key = state.keep_trace(model, (text_a, text_b), CachedTrace(trace.attentions, queries, keys))
    metrics = head_metrics(trace).metrics
    return attention_body(
        trace.tokens,
        trace.encoding.token_type_ids,
        trace.attentions,
        f"Attention of {checkpoint.name}",
        key=key,
        special=trace.encoding.special_tokens_mask,
        metrics={name: (METRICS[name], values) for name, values in metrics.items()},
    )


def difference(
    state: AppState,
    model: ModelName,
    text_a: Text,
    text_b: Text,
    against: Literal["model", "causal", "text"],
    other: ModelName,
    other_text: Text,
) -> dict[str, Any]:
    """The attention of this model minus that of another; or with a causal mask, or of another text A, minus this one.

    Raises `InputError` where the two have other tokens, or not as many.
    """
    from bertviz_lab.interpret import attention_difference, trace_text

    checkpoint = state.models.open(model)
    first = trace_text(checkpoint, text_a, text_b or None)
    if against == "text":
        if not other_text.strip():
            raise InputError("Type the other text; it must have the same number of tokens.")
        second, title = trace_text(checkpoint, other_text, text_b or None), "Other text minus this one"
    elif against == "causal":
        second = trace_text(checkpoint, text_a, text_b or None, causal=True)
        title = "Causal minus bidirectional"
    else:
        other_checkpoint = open_comparison(state, checkpoint, other)
        first, second = trace_text(other_checkpoint, text_a, text_b or None), first
        title = f"{checkpoint.name} minus {other_checkpoint.name}"
        if first.tokens != second.tokens:
            raise InputError("The two models tokenize this text differently, so their attention cannot be subtracted.")
    values = attention_difference(first, second)
    nothing = np.empty((*values.shape[:2], 0, 0), np.float32)  # a difference has no queries and keys
    return difference_body(
        first.tokens,
        first.encoding.token_type_ids,
        values,
        title,
        key=state.keep_trace(model, (title, text_a, text_b, other_text), CachedTrace(values, nothing, nothing)),
        special=first.encoding.special_tokens_mask,
    )


def exact_values(state: AppState, key: Word, layer: Index, head: Index) -> dict[str, Any]:
    """The exact `weights` of one head, float32 (tokens, tokens); {} where the computation is no longer kept."""
    trace = _trace(state, key, layer, head)
    return {} if trace is None else {"weights": trace.attentions[layer, head].astype(np.float32, copy=False)}


def layer_values(state: AppState, key: Word, layer: Index, signed: bool) -> dict[str, Any]:
    """The weights of one layer of a long text, or their differences, as 8-bit `codes` (heads, tokens, tokens).

    {} where the computation is no longer kept.
    """
    trace = _trace(state, key, layer, 0)
    return {} if trace is None else {"codes": (signed_codes if signed else sqrt_codes)(trace.attentions[layer], 8)}


def query_key(state: AppState, key: Word, layer: Index, head: Index, row: Index, column: Index) -> Payload | None:
    """The query of a token times the key of another, dimension by dimension; None where it is no longer kept."""
    trace = _trace(state, key, layer, head)
    if trace is None or max(row, column) >= trace.queries.shape[2]:
        return None
    query, attended = trace.queries[layer, head, row], trace.keys[layer, head, column]
    return pair_payload(query, attended, float(trace.attentions[layer, head, row, column]))


def _trace(state: AppState, key: str, layer: int, head: int) -> CachedTrace | None:
    """A computation that is still kept and has this head."""
    trace = state.trace(key)
    layers, heads = trace.attentions.shape[:2] if trace is not None else (0, 0)
    return trace if layer < layers and head < heads else None


ATTENTION = View(
    "attention",
    "Attention",
    "Multi-head self-attention: which tokens each head attends to.",
    "explore",
    {
        "attention": question(attention, arrays=True),
        "difference": question(difference, arrays=True),
        "exact_values": question(exact_values, arrays=True),
        "layer_values": question(layer_values, arrays=True),
        "query_key": question(query_key),
    },
)
