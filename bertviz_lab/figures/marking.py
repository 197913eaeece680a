"""A running text with stretches of it marked: entities, or the answers to a question."""

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

from bertviz_lab.figures.payload import Payload, to_json


class SpanLike(Protocol):
    """A stretch text[start:end], what it is, and how likely (None where nobody knows)."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def label(self) -> str: ...
    @property
    def score(self) -> float | None: ...


class AlternativeLike(Protocol):
    """One of several answers: text[start:end] and its probability; an empty `text` says that there is no answer."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def probability(self) -> float: ...


def marked_payload(
    text: str,
    spans: Sequence[SpanLike] = (),
    alternatives: Sequence[AlternativeLike] = (),
    *,
    title: str,
    sentence: str = "",
    alternatives_title: str = "Top answers",
    chosen: int | None = 0,
    mark_name: str = "answer",
    file: str = "marked",
) -> Payload:
    """The payload of the marked text. Offsets count characters of `text` as Python does, one a code point.

    `alternatives` are answers, the likeliest first; `chosen` is the place of the one that is marked at first, None
    for none. Raises `ValueError` where a span or an answer lies outside the text, or two spans overlap.
    """
    ordered = sorted(spans, key=lambda span: span.start)
    stretches = [(span.start, span.end) for span in ordered]
    for start, end in [*stretches, *((one.start, one.end) for one in alternatives if one.text)]:
        if not 0 <= start < end <= len(text):
            raise ValueError(f"The span {start} to {end} is not in a text of {len(text)} characters.")
    if any(end > start for (_, end), (start, _) in itertools.pairwise(stretches)):
        raise ValueError("Two spans overlap.")
    marks: list[dict[str, Any]] = [
        {"start": int(span.start), "end": int(span.end), "label": span.label, "score": _number(span.score)}
        for span in ordered
    ]
    answers = [
        {"text": one.text, "start": int(one.start), "end": int(one.end), "probability": _number(one.probability)}
        for one in alternatives
    ]
    return to_json(
        {
            "title": title,
            "sentence": sentence,
            "text": text,
            "spans": marks,
            "alternatives": answers,
            "alternatives_title": alternatives_title,
            "chosen": chosen if answers else None,
            "mark_name": mark_name,
            "file": file,
        }
    )


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
