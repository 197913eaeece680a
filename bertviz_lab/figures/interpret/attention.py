"""Attention weights of a whole model, quantized so that the page can hold every head at once."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.charts import columns_payload
from bertviz_lab.figures.payload import Payload, base64_array, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import QueryKey

#: Attention weights lie in 0..1 and are mostly small. Their square roots are quantized far more evenly: 8 bits then
#: distinguish 0.00002 from 0, and 16 bits are accurate to 0.00002 everywhere.
#: Up to this many bytes, all heads are sent at once with 16 bits per cell (12 x 12 heads: 170 tokens);
#: above it the page requests further layers as needed.
WHOLE_MODEL_BYTES = 8 * 2**20

#: Display names of `interpret.METRICS`.
METRIC_TITLES = {
    "entropy": "attention entropy",
    "distance": "distance",
    "previous": "previous token",
    "next": "next token",
    "same": "token itself",
    "special": "special tokens",
    "across": "other sentence",
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
_GUIDES = {
    "weight": f"{_SQUARES}{_ROWS}The weights of a row sum to 1: the output for the token is the weighted sum of "
    "the value vectors.",
    "difference": f"{_SQUARES}Blue is positive: more attention than in the one that is subtracted; brown is negative: "
    "less. Every row sums to 0.",
    "score": f"{_SQUARES}{_ROWS}Blue is positive, brown is negative. The softmax over a row of scores gives its "
    "attention weights.",
}


def attention_payload(body: Mapping[str, Any]) -> Payload:
    """Return the result of `attention_body` or `difference_body` as text; the lab's page itself takes bytes."""
    arrays = {name: base64_array(body[name]) for name in ("cells", "rollout") if name in body}
    return to_json({**body, **arrays})


class Frame(TypedDict, total=False):
    """What may accompany a grid.

    `key` identifies the computation when the grid requests further layers. `special` marks the tokens
    that can be hidden; by default those spelt so. `metrics` maps the name of a metric, by which heads can be sorted, to
    its description and values (layers, heads); `rollout` is (layers, tokens, tokens). `windows` has for each layer that
    of its local attention, None where it sees all tokens; `note` is a sentence about the model.
    """

    key: str
    special: Sequence[int]
    metrics: Mapping[str, tuple[str, NDArray[np.floating]]]
    rollout: NDArray[np.floating]
    windows: Sequence[int | None]
    note: str


def attention_body(
    tokens: Sequence[str],
    segment_ids: Sequence[int],
    attentions: NDArray[np.floating],
    title: str = "",
    *,
    layers: Sequence[int] | None = None,
    bits: Literal[8, 16] = 16,
    **frame: Unpack[Frame],
) -> dict[str, Any]:
    """Return the content of the attention grid; `cells` is an array of codes (layers sent, heads, tokens, tokens).

    `attentions` is (layers, heads, tokens, tokens), rows are query tokens, columns key tokens.
    `layers` (counted from 0) limits what is sent; by default all layers if they fit, else the last. `bits` are those of
    a weight.
    Raises `ValueError` where the shapes do not agree or a weight is not in 0..1.
    """
    body = _frame(tokens, segment_ids, attentions, title, "weight", frame)
    layer_count = len(attentions)
    if layers is None:
        layers = range(layer_count) if 2 * attentions.size <= WHOLE_MODEL_BYTES else [layer_count - 1]
    sent = sorted(set(layers))
    if not sent or sent[0] < 0 or sent[-1] >= layer_count:
        raise ValueError(f"Layers {list(layers)} are not in 0..{layer_count - 1}.")
    if "rollout" in frame and len(sent) == layer_count:
        body["rollout"] = sqrt_codes(frame["rollout"], bits)
    return body | {"sent": sent, "bits": bits, "cells": sqrt_codes(attentions[sent], bits)}


def scores_body(
    tokens: Sequence[str],
    segment_ids: Sequence[int],
    scores: NDArray[np.floating],
    title: str = "",
    **frame: Unpack[Frame],
) -> dict[str, Any]:
    """Return the same for scores before the softmax, or for one of their terms, divided by `score_unit`.

    `scores` is (layers, heads, tokens, tokens); "unit" is what one of the numbers sent stands for.
    """
    unit = score_unit(scores)
    return _frame(tokens, segment_ids, scores, title, "score", frame) | {"unit": unit} | _signed_cells(scores / unit)


def score_unit(scores: NDArray[np.floating]) -> float:
    """Return the largest absolute score, or 1 if all are 0."""
    return float(np.abs(scores).max(initial=0)) or 1.0


def difference_body(
    tokens: Sequence[str],
    segment_ids: Sequence[int],
    difference: NDArray[np.floating],
    title: str = "",
    **frame: Unpack[Frame],
) -> dict[str, Any]:
    """Return the same for differences in -1..1, (layers, heads, tokens, tokens); for a long text the last layers.

    Raises `ValueError` where the shapes do not agree or a difference is not in -1..1.
    """
    return _frame(tokens, segment_ids, difference, title, "difference", frame) | _signed_cells(difference)


def _signed_cells(values: NDArray[np.floating]) -> dict[str, Any]:
    sent = list(range(len(values)))[-max(1, WHOLE_MODEL_BYTES // (2 * values[0].size)) :]
    return {"signed": True, "sent": sent, "cells": signed_codes(values[sent])}


def _frame(
    tokens: Sequence[str],
    segment_ids: Sequence[int],
    cells: NDArray[np.floating],
    title: str,
    number: Literal["weight", "difference", "score"],
    frame: Frame,
) -> dict[str, Any]:
    """Return everything but the cells; `number` is what a cell shows."""
    if cells.ndim != 4 or cells.shape[2] != cells.shape[3]:
        raise ValueError(f"Attention must be (layers, heads, tokens, tokens), not {cells.shape}.")
    layers, heads, length, _ = cells.shape
    if not len(tokens) == len(segment_ids) == length:
        raise ValueError(f"{len(tokens)} tokens and {len(segment_ids)} segment ids for attention of {length} tokens.")
    if not length:
        raise ValueError("There is no token to show attention for.")
    body: dict[str, Any] = {
        "title": title,
        "key": frame.get("key", ""),
        "tokens": list(tokens),
        "segments": [int(segment) for segment in segment_ids],
        "layers": layers,
        "heads": heads,
        "number": number,
        "guide": f"{_GUIDES[number]} {frame.get('note', '')}".strip(),
    }
    if metrics := frame.get("metrics"):
        body["metrics"] = {
            name: {"title": METRIC_TITLES.get(name, name), "says": description, "values": np.round(values, 5).tolist()}
            for name, (description, values) in metrics.items()
        }
    if windows := [*filter(None, frame.get("windows", ()))]:
        body["windows"] = list(frame["windows"])
        if max(windows) // 2 < length - 1:
            body["guide"] += " Grey cells are outside the window."
    return body | ({"special": [bool(flag) for flag in frame["special"]]} if "special" in frame else {})


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
    weight = (
        "the key is masked, so the weight is 0"
        if pair.is_masked
        else f"the softmax over all tokens turns it into the weight {pair.weight:.4f}"
    )
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


def signed_codes(differences: NDArray[np.floating]) -> NDArray[np.uint16]:
    """Quantize differences in -1..1 as their signed square roots; 0 is the middle code.

    A code c stands for s|s| with s = (c - 32767) / 32767.
    Raises `ValueError` where a difference is outside -1..1 by more than rounding, or is not a number.
    """
    if differences.size and not np.abs(differences).max() <= 1.0001:
        raise ValueError("Differences of attention weights must be numbers from -1 to 1.")
    clipped = np.clip(differences, -1.0, 1.0).astype(np.float32, copy=False)
    return np.rint(32767 + 32767 * np.sign(clipped) * np.sqrt(np.abs(clipped))).astype(np.uint16)


def sqrt_codes(weights: NDArray[np.floating], bits: int = 16) -> NDArray[np.unsignedinteger]:
    """Quantize weights in 0..1 as their square roots.

    A code c stands for the weight (c / top)², top being 65535, or 255 for 8 bits.
    Raises `ValueError` where a weight is outside 0..1 by more than rounding, or is not a number.
    """
    if weights.size and not (weights.min() >= -1e-4 and weights.max() <= 1.0001):
        raise ValueError("Attention weights must be numbers from 0 to 1.")
    top, dtype = (255, np.uint8) if bits == 8 else (65535, np.uint16)
    roots = np.sqrt(np.clip(weights, 0.0, 1.0).astype(np.float32, copy=False))
    return np.rint(roots * top).astype(dtype)
