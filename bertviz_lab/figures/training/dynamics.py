"""What the scrubber is given: how a history begins, the curve over it, and one small frame for each snapshot."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.interpret.attention import METRIC_TITLES
from bertviz_lab.figures.payload import Payload, base64_array, sqrt_codes, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import MaskedToken, SnapshotAnalysis

#: Points of a curve that go out; more cannot be told apart on a screen.
MOST_POINTS = 400
_VECTOR_TOP = 32767  # of a number in -1..1 as 16 bits


def frame_payload(found: "SnapshotAnalysis", step: int) -> Payload:
    """One frame: attention with 8 bits a weight, everything else in numbers as precise as the page shows them."""
    answer = found.answer
    best = answer.best[0] if answer is not None and answer.best else None
    return to_json(
        {
            "step": step,
            "cells": base64_array(sqrt_codes(found.attentions, 8)),
            "metrics": {name: np.round(values, 4).tolist() for name, values in found.heads.metrics.items()},
            "masked_tokens": [_masked_token(blank) for blank in found.masked_tokens],
            "is_next": found.is_next,
            "losses": None if found.losses is None else [_rounded(float(value), 3) for value in found.losses],
            "loss": found.loss,
            "labels": [float(label.score) for label in found.labels],
            "words": [[word.label, _rounded(word.probability, 4)] for word in found.words],
            "answer": None
            if answer is None
            else {"text": answer.text, "probability": best.probability if best else 0.0, "none": not answer.text},
            "vectors": base64_array(np.rint(np.clip(found.vectors, -1, 1) * _VECTOR_TOP).astype(np.int16)),
        }
    )


def _masked_token(blank: "MaskedToken") -> dict[str, Any]:
    return {
        "position": blank.position,
        "candidates": [[one.token, _rounded(one.probability, 5)] for one in blank.candidates],
        "watched": [[float(f"{one.probability:.3g}"), one.rank] for one in blank.watched],
        "layers": [[one.token, _rounded(one.probability, 4)] for one in blank.layers],
    }


def _rounded(value: float, digits: int) -> float | None:
    return round(value, digits) if math.isfinite(value) else None


def opening_payload(
    *,
    question: Mapping[str, Any],
    title: str,
    encoding: Any,
    shape: tuple[int, int],
    steps: Sequence[int],
    watched: Sequence[str],
    mapped: Sequence[str],
    plane: Mapping[str, Any],
    curve: Mapping[str, Any],
    says: Mapping[str, str],
    labels: Sequence[str],
    words: Sequence[str],
    vocab_size: int,
    live: bool,
    first: Payload,
) -> Payload:
    """How a history begins: what is the same in all frames, and `first`, the frame of the last step.

    `question` goes back to the server with every step that is asked for. `shape` is (layers, heads), `says` what each
    metric of the heads means. With `live` the page asks for news.
    """
    body = to_json(
        {
            "question": dict(question),
            "title": title,
            "tokens": list(encoding.tokens),
            "segments": [int(one) for one in encoding.token_type_ids],
            "special": [bool(one) for one in encoding.special_tokens_mask],
            "layers": shape[0],
            "heads": shape[1],
            "steps": list(steps),
            "watched": list(watched),
            "mapped": list(mapped),
            "plane": dict(plane),
            "curve": dict(curve),
            "metrics": {name: {"title": METRIC_TITLES.get(name, name), "says": what} for name, what in says.items()},
            "labels": list(labels),
            "words": list(words),
            "vocab_size": vocab_size,
            "live": live,
        }
    )
    return Payload(f'{body[:-1]},"first":{first}}}')


def plane_body(middle: NDArray[np.floating], axes: NDArray[np.floating], explained: float) -> dict[str, Any]:
    """The plane of the word map: (hidden,) and (2, hidden), packed."""
    return {
        "middle": base64_array(middle.astype(np.float32)),
        "axes": base64_array(axes.astype(np.float32)),
        "explained": explained,
    }


def curve_body(rows: Iterable[Mapping[str, Any]], most: int = MOST_POINTS) -> dict[str, Any]:
    """The loss over a run out of its log: {"name", "chance", "trained", "forwards", "held"}.

    `trained` are [step, loss, seconds, tokens], `forwards` and `held` [step, loss]: of the part that reads forwards,
    and of held-out text. Rows that lie together in the logarithm of the step are taken together by their mean.
    """
    kept = [row for row in rows if isinstance(row.get("step"), int)]
    started = next((row for row in kept if row.get("event") == "RunStarted"), {})
    field = "mlm_loss" if str(started.get("objective", "mlm")).startswith("mlm") else "loss"
    baselines = started.get("baselines") or {}
    done = [row for row in kept if row.get("event") == "StepDone"]
    held = [row for row in kept if row.get("event") == "EvalDone"]
    trained = _points(done, field, most)
    return {
        "name": "MLM loss" if field == "mlm_loss" else "loss",
        "chance": baselines.get("unigram_entropy" if field == "mlm_loss" else "loss"),
        "chance_name": "unigram-entropy baseline" if field == "mlm_loss" else "class-prior baseline",
        "trained": trained,
        "forwards": [point[:2] for point in _points(done, "causal_loss", most)],
        "held": [point[:2] for point in _points(held, field, most)],
    }


def _points(rows: Sequence[Mapping[str, Any]], field: str, most: int) -> list[list[float]]:
    """[step, value, seconds, tokens], evenly spread over the logarithm of the step."""
    found = [row for row in rows if isinstance(row.get(field), (int, float)) and math.isfinite(row[field])]
    if not found:
        return []
    top = math.log1p(max(row["step"] for row in found)) or 1.0
    bins: dict[int, list[Mapping[str, Any]]] = {}
    for row in found:
        bins.setdefault(int(most * math.log1p(row["step"]) / top), []).append(row)
    return [
        [
            together[-1]["step"],
            round(sum(row[field] for row in together) / len(together), 4),
            round(float(together[-1].get("seconds") or 0.0), 1),
            int(together[-1].get("tokens") or 0),
        ]
        for _, together in sorted(bins.items())
    ]
