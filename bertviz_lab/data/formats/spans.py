"""Entities as character spans, of doccano, spaCy, Prodigy, Label Studio, Argilla and the like, to labels of words.

A record holds a text and a list of spans, `[0, 11, "PER"]` or `{"start": 0, "end": 11, "label": "PER"}` under many
names. The text is split into words and punctuation marks; a word that a span covers in part gets its label whole.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from bertviz_lab.data.examples import LabelledWords
from bertviz_lab.data.formats.raw import PREVIEW_ROWS, DropReport, RawSentences, preview

_WORD = re.compile(r"\w+|[^\w\s]")
_TEXT_NAMES = ("text", "sentence", "content", "data", "tweet", "query", "utterance")
_START = ("start", "start_offset", "begin", "start_char", "startoffset", "from")
_END = ("end", "end_offset", "stop", "end_char", "endoffset", "to")
_LABEL = ("label", "labels", "entity", "type", "tag", "entity_group", "category")
_CUT = "word was cut by a span and labeled whole", "words were cut by spans and labeled whole"
_OVERLAPPING = "span overlapped another and was left out", "spans overlapped others and were left out"


class Span(NamedTuple):
    """An entity: offsets of its first character and after its last, and its label."""

    start: int
    end: int
    label: str


def plain_record(record: Any) -> Any:
    """Return a record of spaCy, Label Studio or a chat as an object with `entities` or `label`; others as they are."""
    if isinstance(record, list) and len(record) == 2 and isinstance(record[0], str) and isinstance(record[1], dict):
        return {"text": record[0], **record[1]}
    if not isinstance(record, dict):
        return record
    if isinstance(record.get("data"), dict) and isinstance(record.get("annotations"), list):
        results = [r for a in record["annotations"] if isinstance(a, dict) for r in a.get("result") or ()]
        values = [r["value"] for r in results if isinstance(r, dict) and isinstance(r.get("value"), dict)]
        choices = [choice for value in values for choice in value.get("choices") or ()]
        texts = {key: value for key, value in record["data"].items() if isinstance(value, str)}
        return texts | ({"label": choices} if choices else {"entities": [v for v in values if "start" in v]})
    if isinstance(record.get("cats"), dict) and isinstance(record.get("text"), str):
        return {"text": record["text"], "label": [name for name, share in record["cats"].items() if share >= 0.5]}
    messages = record.get("messages") or record.get("conversations")
    if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
        said: dict[str, Any] = {
            str(m.get("role") or m.get("from")): m.get("content") or m.get("value") for m in messages
        }
        question, answer = said.get("user") or said.get("human"), said.get("assistant") or said.get("gpt")
        if question and answer:
            return {"text": question, "label": answer}
    return record


def span_fields(rows: Sequence[Mapping[str, Any]], text: str = "") -> tuple[str, str] | None:
    """Return the fields with the text and with its spans; None where the records hold no spans."""
    sample = rows[:200]
    names = list(dict.fromkeys(name for row in sample for name in row))
    texts = [name for name in (text, *_TEXT_NAMES, *names) if any(isinstance(row.get(name), str) for row in sample)]
    for name in names:
        lists = [row[name] for row in sample if isinstance(row.get(name), list)]
        if any(lists) and all(_span(item) for items in lists for item in items):
            return (texts[0], name) if texts else None
    return None


def sentences_of_spans(
    rows: Iterable[Mapping[str, Any]], text: str, spans: str, raw: RawSentences, report: DropReport
) -> RawSentences:
    """Add the texts of the records as words with labels in the BIO scheme; every record gives one or is counted."""
    shown: list[list[str]] = []
    for number, row in enumerate(rows, 1):
        value = row.get(text)
        if not isinstance(value, str) or not value.strip():
            report.drop(f"field {text} is empty", raw, number)
            continue
        if row.get("answer") in ("reject", "ignore"):
            report.drop("it was rejected or ignored in Prodigy", raw, number)
            continue
        given = [span for item in row.get(spans) or () if (span := _span(item))]
        if any(not 0 <= span.start < span.end <= len(value) for span in given):
            report.drop("a span lies outside its text", raw, number)
            continue
        words = [match.span() for match in _WORD.finditer(value)]
        labels = ["O"] * len(words)
        starts, ends = [start for start, _ in words], [end for _, end in words]
        for span in sorted(given, key=lambda span: (span.start, span.start - span.end)):
            inside = range(bisect_right(ends, span.start), bisect_left(starts, span.end))
            if any(labels[n] != "O" for n in inside):
                report.repair(*_OVERLAPPING, raw, number)
                continue
            for place, n in enumerate(inside):
                labels[n] = f"{'I' if place else 'B'}-{span.label}"
                if words[n][0] < span.start or words[n][1] > span.end:
                    report.repair(*_CUT, raw, number)
        raw.sentences.append(LabelledWords(tuple(value[start:end] for start, end in words), tuple(labels), number))
        if len(shown) < PREVIEW_ROWS:
            shown.append([value, str(row.get(spans))])
    raw.info = replace(raw.info, text_a=text, label=spans, rows=preview(shown))
    return raw


def _span(item: Any) -> Span | None:
    if isinstance(item, (list, tuple)) and len(item) == 3:
        numbers = [value for value in item if isinstance(value, (int, float)) and not isinstance(value, bool)]
        label = next((value for value in item if isinstance(value, str)), None)
        return Span(int(numbers[0]), int(numbers[1]), label) if len(numbers) == 2 and label else None
    if not isinstance(item, dict):
        return None
    lower = {str(key).lower(): value for key, value in item.items()}
    start, end = (next((lower[name] for name in names if name in lower), None) for names in (_START, _END))
    label = next((lower[name] for name in _LABEL if lower.get(name)), None)
    label = label[0] if isinstance(label, list) and label else label
    if not isinstance(start, (int, float)) or not isinstance(end, (int, float)) or not isinstance(label, (str, int)):
        return None
    return Span(int(start), int(end), str(label))
