"""JSON as the standard has it (RFC 8259), which knows no NaN and no infinity: they are written as null."""

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any


def dumps(value: Any, **options: Any) -> str:
    """`json.dumps` with null for every number that is not finite, however deeply nested.

    NumPy's values are converted, and dataclasses to objects of their fields. `options` are passed on.
    """
    return json.dumps(_null_for_nan(value), allow_nan=False, **options)


def nan_for_null(value: Any) -> Any:
    """Return scores as they were before they were written: NaN for every null in the dictionaries and lists of
    `value`.
    """
    if isinstance(value, dict):
        return {key: nan_for_null(item) for key, item in value.items()}
    if isinstance(value, list):
        return [nan_for_null(item) for item in value]
    return math.nan if value is None else value


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the dictionaries in dictionaries and lists, `value` among them, however deeply nested."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _null_for_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _null_for_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_null_for_nan(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {field.name: _null_for_nan(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _null_for_nan(value.tolist()) if hasattr(value, "tolist") else value  # an array, or a number of NumPy's
