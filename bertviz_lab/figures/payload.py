"""How data is sent to the page: a JSON string with numbers as base64 arrays.

It also carries text that a user typed, so `<` is written as its Unicode escape, which no HTML parser interprets, and
the page displays text through `textContent` only.
"""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Attention weights lie in 0..1 and are mostly small. Their square roots are quantised far more evenly: 8 bits then
#: distinguish 0.00002 from 0, and 16 bits are accurate to 0.00002 everywhere.
SQRT_TOP = {8: 255, 16: 65535}


class Payload(str):
    """A payload as text, a type of its own to distinguish it from user input."""

    __slots__ = ()

    def having(self, **more: Any) -> "Payload":
        """The same with further entries."""
        added = to_json(more)
        return Payload(f"{self[:-1]}{',' if len(self) > 2 else ''}{added[1:]}")


def to_json(body: Mapping[str, Any]) -> Payload:
    """A payload as JSON. NaN and infinity become null."""
    text = json.dumps(_plain(body), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # "<" occurs only inside strings, where the escape is the same character.
    return Payload(text.replace("<", "\\u003c"))


def message_payload(text: str) -> Payload:
    """A payload that any component shows as a message in place of its picture."""
    return to_json({"message": text})


def base64_array(array: NDArray[Any]) -> str:
    """The bytes of an array as base64 text."""
    return base64.b64encode(little_endian(array)).decode("ascii")


def little_endian(array: NDArray[Any]) -> bytes:
    """The bytes of an array in C order, as browsers read them."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()


def signed_codes(differences: NDArray[np.floating], bits: int) -> NDArray[np.unsignedinteger]:
    """Differences in -1..1 quantised as their signed square roots, 0 being the middle code.

    A code c stands for s|s| with s = (c - half) / half, half being 127 (8 bits) or 32767 (16 bits).
    Raises `ValueError` where a difference is outside -1..1 by more than rounding, or is not a number.
    """
    if differences.size and not np.abs(differences).max() <= 1.0001:
        raise ValueError("Differences of attention weights must be numbers from -1 to 1.")
    dtype = np.uint8 if bits == 8 else np.uint16
    half = (SQRT_TOP[bits] - 1) // 2
    clipped = np.clip(differences, -1.0, 1.0).astype(np.float32, copy=False)
    return np.rint(half + half * np.sign(clipped) * np.sqrt(np.abs(clipped))).astype(dtype)


def sqrt_codes(weights: NDArray[np.floating], bits: int) -> NDArray[np.unsignedinteger]:
    """Weights in 0..1 quantised as their square roots.

    A code c stands for the weight (c / top)², top being 255 (8 bits) or 65535 (16 bits).
    Raises `ValueError` where a weight is outside 0..1 by more than rounding, or is not a number.
    """
    if weights.size and not (weights.min() >= -1e-4 and weights.max() <= 1.0001):
        raise ValueError("Attention weights must be numbers from 0 to 1.")
    dtype = np.uint8 if bits == 8 else np.uint16
    roots = np.sqrt(np.clip(weights, 0.0, 1.0).astype(np.float32, copy=False))
    return np.rint(roots * SQRT_TOP[bits]).astype(dtype)


def _plain(value: Any) -> Any:
    """The value in types that `json` supports: numpy values are converted, non-finite floats become None."""
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
