"""Attention weights of a whole model, packed small enough that the page can hold every head at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import base64_array, sqrt_codes, to_json

#: Up to this many bytes, cells go out with 16 bits each: what the page shows is then right to 0.00002.
PRECISE_BYTES = 2**20
#: Up to this many bytes, all heads go out at once with 8 bits a cell (12 x 12 heads: 170 tokens);
#: above it the page holds the layers it was sent and asks for another when it is wanted.
WHOLE_MODEL_BYTES = 4 * 2**20


def attention_payload(
    tokens: Sequence[str],
    segment_ids: Sequence[int],
    attentions: NDArray[np.floating],
    title: str = "",
    *,
    layers: Sequence[int] | None = None,
    key: str = "",
) -> str:
    """The payload of the attention grid.

    `attentions` is (layers, heads, tokens, tokens), rows are the tokens that look, columns those looked at.
    `layers` (counted from 0) limits what is sent; by default all layers go where they fit, else the last one.
    `key` names this computation to the functions that the grid calls for exact values and for further layers.
    Raises `ValueError` where the shapes do not agree or a weight is not in 0..1.
    """
    if attentions.ndim != 4 or attentions.shape[2] != attentions.shape[3]:
        raise ValueError(f"Attention must be (layers, heads, tokens, tokens), not {attentions.shape}.")
    layer_count, head_count, length, _ = attentions.shape
    if not len(tokens) == len(segment_ids) == length:
        raise ValueError(f"{len(tokens)} tokens and {len(segment_ids)} segment ids for attention of {length} tokens.")
    if not length:
        raise ValueError("There is no token to show attention for.")

    cells = attentions.size
    if layers is None:
        layers = range(layer_count) if cells <= WHOLE_MODEL_BYTES else [layer_count - 1]
    sent = sorted(set(layers))
    if not sent or sent[0] < 0 or sent[-1] >= layer_count:
        raise ValueError(f"Layers {list(layers)} are not in 0..{layer_count - 1}.")
    bits = 16 if 2 * cells * len(sent) // layer_count <= PRECISE_BYTES else 8
    body: dict[str, Any] = {
        "title": title,
        "key": key,
        "tokens": list(tokens),
        "segments": [int(segment) for segment in segment_ids],
        "layers": layer_count,
        "heads": head_count,
        "sent": sent,
        "bits": bits,
        "cells": base64_array(sqrt_codes(attentions[sent], bits)),
    }
    return to_json(body)


def layer_cells(attentions: NDArray[np.floating], layer: int) -> str:
    """One layer of (layers, heads, tokens, tokens) as base64 8-bit codes: what a grid's `layer_values` answers."""
    return base64_array(sqrt_codes(attentions[layer], 8))


def head_cells(attentions: NDArray[np.floating], layer: int, head: int) -> str:
    """One head as base64 float32 (tokens, tokens): what a grid's `exact_values` answers."""
    return base64_array(attentions[layer, head].astype(np.float32, copy=False))
