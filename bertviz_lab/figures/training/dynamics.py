"""Payloads of the training-dynamics scrubber: its opening, the loss curve, and one small frame per snapshot."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.figures.interpret.attention import METRIC_TITLES, sqrt_codes
from bertviz_lab.figures.payload import Payload, base64_array, to_json
from bertviz_lab.figures.training.snapshot_charts import SnapshotAxis, loss_chart, snapshot_charts

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import MaskedToken, SnapshotAnalysis

#: Maximum points of a curve; more cannot be distinguished on a screen.
MAX_POINTS = 400
_VECTOR_TOP = 32767  # scale of a number in -1..1 as 16 bits


def frame_payload(analysis: "SnapshotAnalysis", step: int) -> Payload:
    """Return one frame: attention with 8 bits per weight, other numbers as precise as the page shows them."""
    answer = None
    if analysis.answer is not None:
        text, best = analysis.answer.text, analysis.answer.best
        answer = {"text": text, "probability": best[0].probability if best else 0.0, "none": not text}
    return to_json(
        {
            "step": step,
            "cells": base64_array(sqrt_codes(analysis.attentions, 8)),
            "metrics": {name: np.round(values, 4).tolist() for name, values in analysis.heads.metrics.items()},
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


def _masked_token(masked: "MaskedToken") -> dict[str, Any]:
    return {
        "position": masked.position,
        "candidates": [[candidate.token, _rounded(candidate.probability, 5)] for candidate in masked.candidates],
        "watched": [[float(f"{candidate.probability:.3g}"), candidate.rank] for candidate in masked.tracked],
        "layers": [[candidate.token, _rounded(candidate.probability, 4)] for candidate in masked.layers],
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
    metric_descriptions: Mapping[str, str],
    labels: Sequence[str],
    vocab_size: int,
    live: bool,
    first: Payload,
) -> Payload:
    """Return the opening of a run: what all its frames share, and `first`, the frame of the last step.

    `analysis` is that of the last step, whatever is tracked. `question` is sent back to the server with every step that
    is requested. With `live` the page polls for new snapshots.
    """
    encoding = analysis.encoding
    layers, heads = analysis.attentions.shape[:2]
    words = [readable(token) for token in tracked]
    follows, names = _followed(analysis, words, labels)
    mapped = [readable(token) for token in projected]
    charts = snapshot_charts(follows, names, steps, mapped, words, layers, vocab_size)
    body = to_json(
        {
            "question": dict(question),
            "title": title,
            "tokens": list(encoding.tokens),
            "segments": [int(value) for value in encoding.token_type_ids],
            "special": [bool(value) for value in encoding.special_tokens_mask],
            "layers": layers,
            "heads": heads,
            "windows": list(analysis.windows),
            "watched": list(tracked),
            "mapped": list(projected),
            "plane": dict(plane),
            "metrics": {
                name: {"title": METRIC_TITLES.get(name, name), "says": description}
                for name, description in metric_descriptions.items()
            },
            "labels": list(labels),
            "words": [word.text for word in analysis.words],
            "follows": follows,
            "names": names,
            "charts": {name: _drawn(chart) for name, chart in charts.items()},
        }
    )
    body = body.having(**progress_body(steps, curve, live))
    return Payload(f'{body[:-1]},"first":{first}}}')


def progress_body(steps: Sequence[int], curve: Mapping[str, Any], live: bool) -> dict[str, Any]:
    """Return the progress of a run: its snapshots, their axis, and its loss curve."""
    reached = [rows[-1][0] for rows in (curve["trained"], curve["forwards"]) if rows]
    axis = SnapshotAxis(steps, max(reached, default=0))
    return {"steps": list(steps), "axis": axis.layout(), "loss": _drawn(loss_chart(curve, axis)), "live": live}


def readable(token: str) -> str:
    """Return a token without the marks of its place in a word."""
    return token.removeprefix("##").lstrip("Ġ▁") or token


def _followed(analysis: "SnapshotAnalysis", words: list[str], labels: Sequence[str]) -> tuple[str, list[str]]:
    """Return what is tracked over the steps, and the names of its lines; see `snapshot_charts`."""
    if analysis.masked_tokens:
        return ("words" if words else ""), words
    if analysis.labels:
        return ("labels" if len(labels) > 1 else "value"), list(labels)
    if analysis.is_next is not None:
        return "next", ["B follows A"]
    return ("answer", ["best answer"]) if analysis.answer is not None else ("", [])


def _drawn(chart: Mapping[str, Any]) -> dict[str, Any]:
    return {**chart, "figure": chart["figure"].to_dict()}


def plane_body(mean: NDArray[np.floating], axes: NDArray[np.floating], explained: float) -> dict[str, Any]:
    """Return the plane of the word map: (hidden,) and (2, hidden), packed."""
    return {
        "middle": base64_array(mean.astype(np.float32)),
        "axes": base64_array(axes.astype(np.float32)),
        "explained": explained,
    }


#: objective -> the field and the name of its loss; other objectives are those of tasks.
_LOSSES = {"mlm": ("mlm_loss", "MLM loss"), "rtd": ("rtd_loss", "RTD loss")}
#: Of each loss the field and the name of its baseline.
_BASELINES = {"mlm_loss": ("unigram_entropy", "unigram-entropy baseline"), "loss": ("loss", "class-prior baseline")}


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
    field, name = _LOSSES.get(str(started.get("objective", "mlm")).partition("+")[0], ("loss", "loss"))
    baseline, baseline_name = _BASELINES.get(field, ("", ""))
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
    return [
        [
            bin_rows[-1]["step"],
            round(sum(row[field] for row in bin_rows) / len(bin_rows), 4),
            round(float(bin_rows[-1].get("seconds") or 0.0), 1),
            int(bin_rows[-1].get("tokens") or 0),
        ]
        for _, bin_rows in sorted(bins.items())
    ]
