"""Payloads of the training-dynamics scrubber: its opening, the loss curve, and one small frame per snapshot."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.attention import attention_body
from bertviz_lab.figures.payload import Payload, base64_array, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import EmbeddingPlane, MaskedToken, SnapshotAnalysis
    from bertviz_lab.tokenization import Encoding

#: Maximum points of a curve; more cannot be distinguished on a screen.
MAX_POINTS = 400
_VECTOR_TOP = 32767  # scale of a number in -1..1 as 16 bits


def frame_payload(analysis: "SnapshotAnalysis", step: int) -> Payload:
    """Return one frame: attention with 8 bits per weight, other numbers as precise as the page shows them."""
    encoding, answer = analysis.encoding, None
    if analysis.answer is not None:
        best = analysis.answer.best
        answer = {"text": analysis.answer.text, "probability": best[0].probability if best else 0.0}
    grid = attention_body(encoding, analysis.attentions, f"step {step:,}", bits=8, windows=analysis.windows)
    metrics = {
        name: values.round(5)  # 8 bits of a weight are too few for them
        for name, values in analysis.heads.items()
        if name != "across" or 1 in encoding.token_type_ids
    }
    return to_json(
        {
            "step": step,
            "spoken": _spoken(analysis),
            "grid": {**grid, "cells": base64_array(grid["cells"]), "metrics": metrics},
            "joined": list(analysis.joined),
            "masked_tokens": [_masked_token(token) for token in analysis.masked_tokens],
            "is_next": analysis.is_next,
            "losses": None if analysis.losses is None else [_rounded(float(value), 3) for value in analysis.losses],
            "loss": analysis.loss,
            "labels": [float(label.score) for label in analysis.labels],
            "words": [[word.label, _rounded(word.probability, 4)] for word in analysis.words],
            "answer": answer,
            "vectors": base64_array(np.rint(np.clip(analysis.vectors, -1, 1) * _VECTOR_TOP).astype(np.int16)),
        }
    )


def _spoken(analysis: "SnapshotAnalysis") -> str:
    """Return what a snapshot predicts in a few words, for a screen reader."""
    told = [
        (readable(best.token), best.probability) for masked in analysis.masked_tokens for best in masked.candidates[:1]
    ]
    if len(analysis.labels) > 1:
        best = max(analysis.labels, key=lambda label: label.score)
        told.append((best.label, best.score))
    if (follows := analysis.is_next) is not None:
        told.append(("B follows A" if follows > 0.5 else "B does not follow A", max(follows, 1 - follows)))
    return ", ".join(f"{what} {share:.0%}" for what, share in told)


def _masked_token(masked: "MaskedToken") -> dict[str, Any]:
    return {
        "position": masked.position,
        "candidates": [[candidate.token, _rounded(candidate.probability, 5)] for candidate in masked.candidates],
        "watched": [[float(f"{candidate.probability:.3g}"), candidate.rank] for candidate in masked.tracked],
        "layers": [[candidate.token, _rounded(candidate.probability, 4)] for candidate in reversed(masked.layers)],
    }


def _rounded(value: float, digits: int) -> float | None:
    return round(value, digits) if math.isfinite(value) else None


def opening_payload(
    analysis: "SnapshotAnalysis",
    *,
    question: Mapping[str, Any],
    title: str,
    steps: Sequence[int],
    tracked: Sequence[str],
    projected: Sequence[str],
    plane: Mapping[str, Any],
    curve: Mapping[str, Any],
    labels: Sequence[str],
    vocab_size: int,
    live: bool,
    first: Payload,
) -> Payload:
    """Return the opening of a run: what all its frames share, and `first`, the frame of the last step.

    `analysis` is that of the last step, whatever is tracked. `question` is sent back to the server with every step that
    is requested. "start" is where the grid of heads begins: at the head that looks most at a neighbor, and the first
    [MASK]. With `live` the page polls for new snapshots.
    """
    layers, heads = analysis.attentions.shape[:2]
    neighbors = np.maximum(analysis.heads["previous"], analysis.heads["next"])
    layer, head = divmod(int(neighbors.argmax()), heads)
    body = to_json(
        {
            "question": dict(question),
            "title": title,
            "tokens": list(analysis.encoding.tokens),
            "sentence": _sentence(analysis.encoding),
            "layers": layers,
            "heads": heads,
            "start": {"layer": layer, "head": head, "rows": [token.position for token in analysis.masked_tokens[:1]]},
            "watched": list(tracked),
            "mapped": list(projected),
            "plane": dict(plane),
            "labels": list(labels),
            "words": [word.text for word in analysis.words],
            "vocab_size": vocab_size,
            "follows": _followed(analysis, tracked, labels),
            **progress_body(steps, curve, live),
        }
    )
    return Payload(f'{body[:-1]},"first":{first}}}')


def progress_body(steps: Sequence[int], curve: Mapping[str, Any], live: bool) -> dict[str, Any]:
    """Return the progress of a run: its snapshots, and its loss curve."""
    return {"steps": list(steps), "curve": dict(curve), "live": live}


def readable(token: str) -> str:
    """Return a token without the marks of its place in a word."""
    return token.removeprefix("##").lstrip("Ġ▁") or token


def _sentence(encoding: "Encoding") -> list[tuple[str, str]]:
    """Return what stands before each token, "|" between the texts, and the token as it reads, "" for a special one."""
    pieces: list[tuple[str, str]] = []
    seam = ""
    for at, token in enumerate(encoding.tokens):
        if encoding.special_tokens_mask[at]:
            seam = "|" if any(text for _, text in pieces) else ""
            pieces.append(("", ""))
        else:
            text, start = (encoding.text_a, encoding.text_b)[encoding.token_type_ids[at]] or "", encoding.offsets[at][0]
            pieces.append((seam or " " * text[:start][-1:].isspace(), readable(token)))
            seam = ""
    return pieces


def _followed(analysis: "SnapshotAnalysis", tracked: Sequence[str], labels: Sequence[str]) -> str:
    """Return what is followed over the steps; see `views/dynamics/snapshot_charts.js`."""
    if analysis.masked_tokens:
        return "words" if tracked else ""
    if analysis.labels:
        return "labels" if len(labels) > 1 else "value"
    return "next" if analysis.is_next is not None else "answer" if analysis.answer is not None else ""


def plane_body(vectors: NDArray[np.floating], plane: "EmbeddingPlane") -> dict[str, Any]:
    """Return the plane of the word map, and its ranges "across" and "up", which the `vectors` fill."""
    points = plane.project(vectors)
    low, high = points.min(0), points.max(0)
    across, up = np.stack([low - 0.08 * (high - low), high + 0.14 * (high - low)], 1).tolist()
    middle, axes = np.round(plane.mean, 5).tolist(), np.round(plane.axes, 5).tolist()
    return {"middle": middle, "axes": axes, "explained": plane.explained, "across": across, "up": up}


#: objective -> the field and the name of its loss, and of its baseline; other objectives are those of tasks.
_LOSSES = {
    "mlm": ("mlm_loss", "MLM loss", "unigram_entropy", "unigram-entropy baseline"),
    "rtd": ("rtd_loss", "RTD loss", "", ""),
}
_TASK_LOSS = ("loss", "loss", "loss", "class-prior baseline")


def curve_body(rows: Iterable[Mapping[str, Any]], max_points: int = MAX_POINTS) -> dict[str, Any]:
    """Return the loss curves of a log: {"name", "chance", "trained", "forwards", "held"}.

    `trained` are [step, loss, seconds, tokens]; `forwards` (causal-LM warm-up) and `held` (held-out text) are
    [step, loss]. Rows are averaged in bins that are equal in the logarithm of the step.
    """
    events: dict[str, list[Mapping[str, Any]]] = {"RunStarted": [], "StepDone": [], "EvalDone": []}
    for row in rows:
        if isinstance(row.get("step"), int):
            events.setdefault(row.get("event", ""), []).append(row)
    started, done = next(iter(events["RunStarted"]), {}), events["StepDone"]
    objective = str(started.get("objective", "mlm")).partition("+")[0]
    field, name, baseline, baseline_name = _LOSSES.get(objective, _TASK_LOSS)
    return {
        "name": name,
        "chance": (started.get("baselines") or {}).get(baseline),
        "chance_name": baseline_name,
        "trained": _points(done, field, max_points),
        "forwards": [point[:2] for point in _points(done, "causal_loss", max_points)],
        "held": [point[:2] for point in _points(events["EvalDone"], field, max_points)],
    }


def _points(rows: Sequence[Mapping[str, Any]], field: str, max_points: int) -> list[list[float]]:
    """Return [step, value, seconds, tokens], evenly spaced in the logarithm of the step."""
    values = [row for row in rows if isinstance(row.get(field), (int, float)) and math.isfinite(row[field])]
    if not values:
        return []
    top = math.log1p(max(row["step"] for row in values)) or 1.0
    bins: dict[int, list[Mapping[str, Any]]] = {}
    for row in values:
        bins.setdefault(int(max_points * math.log1p(row["step"]) / top), []).append(row)
    points = []
    for _, bin_rows in sorted(bins.items()):
        mean, last = sum(row[field] for row in bin_rows) / len(bin_rows), bin_rows[-1]
        seconds, tokens = round(float(last.get("seconds") or 0.0), 1), int(last.get("tokens") or 0)
        points.append([last["step"], round(mean, 4), seconds, tokens])
    return points
