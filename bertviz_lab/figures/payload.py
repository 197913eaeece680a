"""The one way in which data travels to the page: a JSON string that holds numbers as base64 arrays.

Text that a person typed rides in this string too, so it is written in a form that no HTML parser can
misread (`<` becomes its Unicode escape), and the page puts it on screen with `textContent` alone.
"""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Attention weights lie in 0..1 and are mostly small. Their square roots spread over whole-number codes far more
#: evenly: 8 bits then tell 0.00002 from 0, and 16 bits are right to 0.00002 everywhere.
SQRT_TOP = {8: 255, 16: 65535}


class Payload(str):
    """A payload as text, to be told from what a person typed."""

    __slots__ = ()

    def having(self, **more: Any) -> "Payload":
        """The same with further entries."""
        added = to_json(more)
        return Payload(f"{self[:-1]}{',' if len(self) > 2 else ''}{added[1:]}")


def to_json(body: Mapping[str, Any]) -> Payload:
    """Write a payload as JSON. Numbers that JSON has no word for (NaN, infinity) become null."""
    text = json.dumps(_plain(body), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # "<" stands only inside strings, where the escape means the same character.
    return Payload(text.replace("<", "\\u003c"))


def message_payload(text: str) -> Payload:
    """A payload that any component shows as one plain sentence in place of its picture."""
    return to_json({"message": text})


def base64_array(array: NDArray[Any]) -> str:
    """The bytes of an array, little-endian and in C order, as base64 text."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")


def signed_codes(differences: NDArray[np.floating], bits: int) -> NDArray[np.unsignedinteger]:
    """Differences in -1..1 as whole-number codes of their signed square roots, 0 being the middle one.

    A code c stands for s|s| with s = (c - half) / half, half being 127 (8 bits) or 32767 (16 bits).
    Raises `ValueError` where a difference is outside -1..1 by more than rounding, or is not a number.
    """
    if differences.size and not np.abs(differences).max() <= 1.0001:
        raise ValueError("Differences of attention weights must be numbers from -1 to 1.")
    kind = np.uint8 if bits == 8 else np.uint16
    half = (SQRT_TOP[bits] - 1) // 2
    clipped = np.clip(differences, -1.0, 1.0).astype(np.float32, copy=False)
    return np.rint(half + half * np.sign(clipped) * np.sqrt(np.abs(clipped))).astype(kind)


def sqrt_codes(weights: NDArray[np.floating], bits: int) -> NDArray[np.unsignedinteger]:
    """Weights in 0..1 as whole-number codes of their square roots.

    A code c stands for the weight (c / top)², top being 255 (8 bits) or 65535 (16 bits).
    Raises `ValueError` where a weight is outside 0..1 by more than rounding, or is not a number.
    """
    if weights.size and not (weights.min() >= -1e-4 and weights.max() <= 1.0001):
        raise ValueError("Attention weights must be numbers from 0 to 1.")
    kind = np.uint8 if bits == 8 else np.uint16
    roots = np.sqrt(np.clip(weights, 0.0, 1.0).astype(np.float32, copy=False))
    return np.rint(roots * SQRT_TOP[bits]).astype(kind)


def _plain(value: Any) -> Any:
    """The same value out of types that `json` writes: numpy scalars and non-finite floats are replaced."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
