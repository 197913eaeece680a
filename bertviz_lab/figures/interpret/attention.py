"""Attention weights of a whole model: quantized so that the page can hold every head at once, and as files."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.charts import columns_payload
from bertviz_lab.figures.payload import Payload, base64_array, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import Alignment, QueryKey
    from bertviz_lab.tokenization import Encoding

#: Up to this many bytes, all heads are sent at once with 16 bits per cell (12 x 12 heads: 170 tokens);
#: above it the page requests further layers as needed.
WHOLE_MODEL_BYTES = 8 * 2**20

#: Each of `interpret.head_metrics`: its name on the page, and what it is. All are means over the query tokens.
METRICS = {
    "entropy": ("attention entropy", "in nats: 0 is a single token, ln(tokens) is uniform attention"),
    "distance": ("distance", "mean distance of the tokens attended to, in tokens"),
    "previous": ("previous token", "share of attention to the previous token"),
    "next": ("next token", "share of attention to the next token"),
    "same": ("token itself", "share of attention to the token itself"),
    "special": ("special tokens", "share of attention to special tokens, such as [CLS] and [SEP]"),
    "across": ("other sentence", "share of attention from one sentence to the other"),
}

#: What the grid can show besides attention weights: the score before the softmax, or one of its terms.
SCORE_TITLES = {
    "score": "attention score (before the softmax)",
    "query_key": "query times key",
    "content_to_content": "content-to-content term",
    "content_to_position": "content-to-position term",
    "position_to_content": "position-to-content term",
    "relative_bias": "relative position bias",
}

_SQUARES = "Each square is one head; layers go down, heads go across. "
_ROWS = "Within a square a row is the attending token (from), a column the token attended to (to). "
GUIDES = {
    "weight": f"{_SQUARES}{_ROWS}The weights of a row sum to 1: the output for the token is the weighted sum of "
    "the value vectors.",
    "difference": f"{_SQUARES}Blue is positive: more attention than in the one that is subtracted; brown is negative: "
    "less. Every row sums to 0.",
    "score": f"{_SQUARES}{_ROWS}Blue is positive, brown is negative. The softmax over a row of scores gives its "
    "attention weights.",
}


def attention_payload(body: Mapping[str, Any]) -> Payload:
    """Return the result of `attention_body` as text; the lab's page itself takes bytes."""
    arrays = {name: base64_array(body[name]) for name in ("cells", "rollout") if name in body}
    return to_json({**body, **arrays})


def attention_body(
    encoding: "Encoding | Alignment",
    values: NDArray[np.floating],
    title: str = "",
    *,
    number: Literal["weight", "difference", "score"] = "weight",
    layers: Sequence[int] | None = None,
    bits: Literal[8, 16] = 16,
    key: str = "",
    metrics: Mapping[str, NDArray[np.floating]] | None = None,
    rollout: NDArray[np.floating] | None = None,
    windows: Sequence[int | None] = (),
    note: str = "",
) -> dict[str, Any]:
    """Return the content of the attention grid; `cells` is an array of codes (layers sent, heads, tokens, tokens).

    `values` is (layers, heads, tokens, tokens), rows are query tokens, columns key tokens. They are attention weights,
    differences in -1..1, or scores before the softmax or one of their terms, which are divided by their `score_unit`,
    "unit". Raises `ValueError` where a weight is not in 0..1, or a difference not in -1..1.

    `layers` (counted from 0) limits what is sent; by default all layers if they fit, else the last, or of numbers with
    a sign the last ones. `bits` are those of a weight. `key` identifies the computation when the grid requests further
    layers. `metrics` has those of `METRICS` by which heads can be sorted, (layers, heads) each; `rollout` is (layers,
    tokens, tokens). `windows` has for each layer that of its local attention, None where it sees all tokens; `note` is
    a sentence about the model.
    """
    layer_count, heads, length, _ = values.shape
    body: dict[str, Any] = {
        "title": title,
        "key": key,
        "tokens": list(encoding.tokens),
        "segments": [int(segment) for segment in encoding.token_type_ids],
        "special": [bool(flag) for flag in encoding.special_tokens_mask],
        "layers": layer_count,
        "heads": heads,
        "number": number,
        "guide": f"{GUIDES[number]} {note}".strip(),
    }
    if metrics:
        named = [(name, *METRICS[name], np.round(of_heads, 5).tolist()) for name, of_heads in metrics.items()]
        body["metrics"] = {name: {"title": title, "says": says, "values": rows} for name, title, says, rows in named}
    if local := [*filter(None, windows)]:
        body["windows"] = list(windows)
        if max(local) // 2 < length - 1:
            body["guide"] += " Grey cells are outside the window."
    if number == "score":
        body["unit"] = score_unit(values)
        values = values / body["unit"]
    is_signed = number != "weight"
    if layers is None:
        fitting = max(1, WHOLE_MODEL_BYTES // (2 * values[0].size))
        layers = range(layer_count)[-(fitting if is_signed or fitting >= layer_count else 1) :]
    body["sent"] = sent = sorted(set(layers))
    if rollout is not None and not is_signed and len(sent) == layer_count:
        body["rollout"] = sqrt_codes(rollout, bits)
    body["cells"] = sqrt_codes(values[sent], bits, is_signed=is_signed)
    return body | ({"signed": True} if is_signed else {"bits": bits})


def score_unit(scores: NDArray[np.floating]) -> float:
    """Return the largest absolute score, or 1 if all are 0."""
    return float(np.abs(scores).max(initial=0)) or 1.0


def pair_payload(pair: "QueryKey", note: str = "") -> Payload:
    """Explain an attention score: the query times the key, and what relative positions add.

    `note` is a sentence about the model.
    """
    size = len(pair.query)
    root = f"√{size}" if pair.divisor == size else f"√({pair.divisor // size} × {size})"
    details = [
        f"dimension {place + 1}: query {q:.3f} × key {k:.3f} / {root} = {product:.3f}"
        for place, (q, k, product) in enumerate(zip(pair.query, pair.key, pair.products, strict=True))
    ]
    largest = details[int(np.abs(pair.products).argmax())]
    added = {SCORE_TITLES[name]: value for name, value in pair.added.items()}
    terms = " and ".join(f"{value:+.2f} for the {name}" for name, value in added.items())
    score = f"a score of {pair.score:.2f}"
    if added:
        score = f"{pair.products.sum():.2f}; with {terms} the score is {pair.score:.2f}"
    weight = f"the softmax over all tokens turns it into the weight {pair.weight:.4f}"
    if pair.is_masked:
        weight = "the key is masked, so the weight is 0"
    return columns_payload(
        np.array([*pair.products, *added.values()]),
        [*(str(place + 1) for place in range(size)), *added],
        [*details, *(f"{name}: {value:.3f}" for name, value in added.items())],
        marked=[False] * size + [True] * len(added),
        title="Query times key",
        sentence=f"The {size} products sum to {score}; {weight}. Largest: {largest}.",
        note=f"{'The paler columns are what relative positions add. ' * bool(added)}{note}",
        file="query-key",
    )


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
