"""Attention as a file: a PNG picture, or JSON numbers."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from plotly.colors import sample_colorscale

_HEAD_PIXELS = 160  # minimum side of a head in a picture
_GAP = 12
_MARGIN = 48


def attention_document(
    tokens: Sequence[str], segment_ids: Sequence[int], attentions: NDArray[np.floating]
) -> dict[str, Any]:
    """Return the numbers, `attentions[layer][head][from][to]` to six digits, with their tokens."""
    return {
        "tokens": list(tokens),
        "token_type_ids": list(segment_ids),
        "rows": "the token that attends",
        "columns": "the token attended to",
        "attentions": np.round(attentions.astype(np.float64), 6).tolist(),
    }


def attention_png(attentions: NDArray[np.floating], title: str) -> bytes:
    """Return a picture of all heads, a row for each layer; brightness is the square root of the weight."""
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
