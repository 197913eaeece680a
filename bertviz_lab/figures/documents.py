"""Attention as a standalone file: an offline HTML page, a PNG picture, or JSON numbers."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from plotly.colors import sample_colorscale

from bertviz_lab.figures.plots import escaped

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


def attention_html(tokens: Sequence[str], attentions: NDArray[np.floating], title: str) -> str:
    """Return a self-contained page with a heat map and a menu of all heads.

    `attentions` is (layers, heads, tokens, tokens). Tokens are escaped.
    """
    labels = [escaped(token) for token in tokens]
    heads = [(layer, head) for layer in range(attentions.shape[0]) for head in range(attentions.shape[1])]
    figure = go.Figure()
    for layer, head in heads:
        figure.add_heatmap(
            z=attentions[layer, head].astype(np.float32),
            zmin=0,
            zmax=1,
            colorscale="Viridis",
            visible=layer == head == 0,
            colorbar_title="weight",
            hovertemplate="from %{y}<br>to %{x}<br>weight %{z:.4f}<extra></extra>",
        )
    buttons = [
        {
            "label": f"layer {layer + 1}, head {head + 1}",
            "method": "update",
            "args": [{"visible": [other == (layer, head) for other in heads]}],
        }
        for layer, head in heads
    ]
    ticks = {"tickmode": "array", "tickvals": list(range(len(labels))), "ticktext": labels}
    figure.update_layout(
        template="none",
        title=escaped(title),
        updatemenus=[{"buttons": buttons, "x": 0, "y": 1.12, "xanchor": "left"}],
        xaxis={**ticks, "title": "attended to", "tickangle": -45},
        yaxis={**ticks, "title": "looking", "autorange": "reversed", "scaleanchor": "x"},
        height=max(500, 22 * len(labels) + 220),
    )
    return figure.to_html(include_plotlyjs=True, full_html=True)


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
