"""Attention weights of a whole model: quantized so that the page can hold every head at once, and as files."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.payload import Payload, base64_array, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Alignment
    from bertviz_lab.tokenization import Encoding

#: Up to this many bytes, all heads are sent at once with 16 bits per cell (12 x 12 heads: 170 tokens);
#: above it the page requests further layers as needed.
WHOLE_MODEL_BYTES = 8 * 2**20


def attention_payload(body: Mapping[str, Any]) -> Payload:
    """Return the result of `attention_body` as text; the lab's page itself takes bytes."""
    return to_json({**body, "cells": base64_array(body["cells"])})


def heads_payload(names: Iterable[str], bodies: Iterable[Mapping[str, Any]]) -> Payload:
    """Return the heads of several models on one text: their names, and the `attention_body` of each."""
    return to_json({"names": list(names), "grids": [attention_payload(body) for body in bodies]})


def attention_body(
    encoding: "Encoding | Alignment",
    values: NDArray[np.floating],
    title: str = "",
    *,
    number: Literal["weight", "difference", "score"] = "weight",
    layers: Sequence[int] | None = None,
    bits: Literal[8, 16] = 16,
    key: str = "",
    **more: Any,
) -> dict[str, Any]:
    """Return what the attention grid is drawn of; `cells` is an array of codes (layers sent, heads, tokens, tokens).

    `values` is (layers, heads, tokens, tokens), rows are query tokens, columns key tokens. They are attention weights,
    differences in -1..1, or scores before the softmax or one of their terms, which are divided by their `score_unit`,
    "unit". Raises `ValueError` where a weight is not in 0..1, or a difference not in -1..1.

    `layers` (counted from 0) limits what is sent; by default all layers if they fit, else the last, or of numbers with
    a sign the last ones. `bits` are those of a weight. `key` identifies the computation when the grid requests further
    layers. `more` is what the figure says besides (see its file of this name): `windows` of local attention, None for
    a layer that sees all tokens, the term of scores that is `shown`, of which `terms`, and a `note` about the model.
    """
    layer_count, heads, *_ = values.shape
    body: dict[str, Any] = {
        "picture": "attention",
        "title": title,
        "key": key,
        "tokens": list(encoding.tokens),
        "segments": [int(segment) for segment in encoding.token_type_ids],
        "special": [bool(flag) for flag in encoding.special_tokens_mask],
        "layers": layer_count,
        "heads": heads,
        "number": number,
        **more,
    }
    if number == "score":
        body["unit"] = score_unit(values)
        values = values / body["unit"]
    is_signed = number != "weight"
    if layers is None:
        fitting = max(1, WHOLE_MODEL_BYTES // (2 * values[0].size))
        layers = range(layer_count)[-(fitting if is_signed or fitting >= layer_count else 1) :]
    body["sent"] = sent = sorted(set(layers))
    body["cells"] = sqrt_codes(values[sent], bits, is_signed=is_signed)
    return body | ({"signed": True} if is_signed else {"bits": bits})


def score_unit(scores: NDArray[np.floating]) -> float:
    """Return the largest absolute score, or 1 if all are 0."""
    return float(np.abs(scores).max(initial=0)) or 1.0


def sqrt_codes(
    values: NDArray[np.floating], bits: Literal[8, 16] = 16, *, is_signed: bool = False
) -> NDArray[np.unsignedinteger]:
    """Quantize weights in 0..1 as their square roots, or differences in -1..1 as their signed ones, with 16 bits.

    Most weights are small, and their roots far more even: 8 bits distinguish 0.00002 from 0, and 16 bits are accurate
    to 0.00002 everywhere. A code c stands for the weight (c / top)², top being 65535, or 255 for 8 bits. Of differences
    it stands for s|s| with s = (c - 32767) / 32767: 0 is the middle code. Raises `ValueError` where a value is outside
    by more than rounding, or is not a number.
    """
    low = -1 if is_signed else 0
    if values.size and not (values.min() >= low - 1e-4 and values.max() <= 1.0001):
        raise ValueError(f"Attention weights must be numbers from {low} to 1.")
    clipped = np.clip(values, low, 1).astype(np.float32, copy=False)
    if is_signed:
        return np.rint(32767 + 32767 * np.sign(clipped) * np.sqrt(np.abs(clipped))).astype(np.uint16)
    top, dtype = (255, np.uint8) if bits == 8 else (65535, np.uint16)
    return np.rint(np.sqrt(clipped) * top).astype(dtype)


_HEAD_PIXELS = 160  # minimum side of a head in a picture
_GAP = 12
_MARGIN = 48


def attention_document(encoding: "Encoding", attentions: NDArray[np.floating]) -> dict[str, Any]:
    """Return the numbers, `attentions[layer][head][from][to]` to six digits, with their tokens."""
    return {
        "tokens": list(encoding.tokens),
        "token_type_ids": list(encoding.token_type_ids),
        "rows": "the token that attends",
        "columns": "the token attended to",
        "attentions": np.round(attentions.astype(np.float64), 6).tolist(),
    }


def attention_png(attentions: NDArray[np.floating], title: str) -> bytes:
    """Return a picture of all heads, a row for each layer; brightness is the square root of the weight."""
    from PIL import Image, ImageDraw
    from plotly.colors import sample_colorscale

    layers, heads, tokens, _ = attentions.shape
    scale = max(1, -(-_HEAD_PIXELS // tokens))
    side = scale * tokens
    picture = Image.new("RGB", (_MARGIN + heads * (side + _GAP), _MARGIN + layers * (side + _GAP)), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((_MARGIN, 4), title.encode("latin-1", "replace").decode("latin-1"), fill="black")
    colors = sample_colorscale("Viridis", list(np.linspace(0, 1, 256)), colortype="tuple")
    palette = np.rint(255 * np.array(colors)).astype(np.uint8)  # (256, 3)
    for layer in range(layers):
        top = _MARGIN + layer * (side + _GAP)
        draw.text((4, top + side // 2), f"layer {layer + 1}", fill="black")
        for head in range(heads):
            left = _MARGIN + head * (side + _GAP)
            if layer == 0:
                draw.text((left, _MARGIN - 16), f"head {head + 1}", fill="black")
            codes = np.rint(255 * np.sqrt(np.clip(attentions[layer, head], 0, 1))).astype(np.uint8)
            tile = Image.fromarray(palette[codes]).resize((side, side), Image.Resampling.NEAREST)
            picture.paste(tile, (left, top))
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return file.getvalue()
