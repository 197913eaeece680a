"""A text with highlighted spans: entities, or the answers to a question."""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bertviz_lab.figures.payload import Payload, to_json

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.data.tasks.answer_spans import SpanAnswer


@dataclass(frozen=True)
class Span:
    """The span text[start:end], its label and its probability (None where unknown)."""

    start: int
    end: int
    label: str
    score: float | None


def marked_payload(
    text: str,
    spans: Sequence[Span] = (),
    alternatives: Sequence["SpanAnswer"] = (),
    *,
    title: str,
    sentence: str = "",
    chosen: int | None = 0,
    file: str = "marked",
) -> Payload:
    """The payload of the highlighted text. Offsets are in code points of `text`, as in Python.

    `alternatives` are answers, the most probable first; `chosen` is the index of the one to highlight first, or None.
    Raises `ValueError` where a span or an answer lies outside the text, or two spans overlap.
    """
    ordered = sorted(spans, key=lambda span: span.start)
    offsets = [(span.start, span.end) for span in ordered]
    for start, end in [*offsets, *((answer.start, answer.end) for answer in alternatives if answer.text)]:
        if not 0 <= start < end <= len(text):
            raise ValueError(f"The span {start} to {end} is not in a text of {len(text)} characters.")
    if any(end > start for (_, end), (start, _) in itertools.pairwise(offsets)):
        raise ValueError("Two spans overlap.")
    answers = [
        {"text": answer.text, "start": answer.start, "end": answer.end, "probability": answer.probability}
        for answer in alternatives
    ]
    return to_json(
        {
            "title": title,
            "sentence": sentence,
            "text": text,
            "spans": [asdict(span) for span in ordered],
            "alternatives": answers,
            "chosen": chosen if answers else None,
            "file": file,
        }
    )
