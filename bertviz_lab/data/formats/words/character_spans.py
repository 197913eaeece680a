"""Entities that are character spans, as labels of words.

A record holds a text and a list of spans, `[0, 11, "PER"]` or `{"start": 0, "end": 11, "label": "PER"}` under many
names, as doccano and others write them; or a row has the text and one of its spans. The text is split into words and
punctuation marks, and a word that a span covers in part gets its label whole. Characters of scripts without blanks are
words by themselves. Standoff annotations as brat saves them are records too: the entities of `doc.txt` in `doc.ann`,
`T1<tab>PER 0 10<tab>Anna Smith`.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, NamedTuple

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import Source, reading_errors
from bertviz_lab.data.corpora.streams import Meter, suffix_of
from bertviz_lab.data.examples import FileInfo, LabelledWords
from bertviz_lab.data.formats.questions import in_characters, offset
from bertviz_lab.data.formats.raw import DropReport, RawSentences, ReadOptions, open_text
from bertviz_lab.errors import InputError

# Ideographs, kana, and the letters of Thai, Lao, Burmese and Khmer; marks that belong to the letter before them
_ALONE = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e45\u0e81-\u0eb0\u0ec0-\u0ec4\u1000-\u102a\u1780-\u17b3"
    "\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff"
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3\u200c\u200d"
)
_WORD = re.compile(rf"[{_ALONE}][{_MARKS}]*|(?:(?![{_ALONE}])\w|[{_MARKS}])+|[^\w\s]")
_TEXT_NAMES = ("text", "sentence", "content", "data", "tweet", "query", "utterance")
_START = ("start", "start_offset", "begin", "start_char", "startoffset", "from")
_END = ("end", "end_offset", "stop", "end_char", "endoffset", "to")
_LABEL = ("label", "labels", "entity", "type", "tag", "entity_group", "category")
_CUT = "word<s> <was cut by a span|were cut by spans> and labeled whole"
_MOVED = "span<s> <was moved to the text that it states|were moved to the texts that they state>"
#: What offsets may count other than characters: an encoding, its bytes in a unit, and what the end is short of.
_UNITS = {"UTF-16 units": ("utf-16-le", 2, 0), "bytes": ("utf-8", 1, 0), "inclusive": ("utf-32-le", 4, 1)}
_MOST_CUT = 0.2  # fraction of spans that cut words
_MOST_TRIED = 1_000  # spans whose offsets are tried in each unit
#: The ending of files with annotations.
ANNOTATIONS = ".ann"
#: An entity. One of several parts, `0 3;8 12`, has gaps.
_ENTITY = re.compile(r"T\d+\t(?P<label>\S+) (?P<start>\d+) (?P<gaps>(?:\d+;\d+ )*)(?P<end>\d+)\t(?P<text>[^\r\n]*)")
_GAPS = "<entity of several parts was read as one span|entities of several parts were read as one span each>"
_OVERLAPPING = "span<s> overlapped <another and was|others and were> left out"


class Span(NamedTuple):
    """An entity: offsets of its first character and after its last, its label, and its text where that is given."""

    start: int
    end: int
    label: str
    text: str = ""

    def placed(self, text: str) -> "Span":
        """Return the span at its own text, where its offsets count bytes or UTF-16 units, or its last character."""
        if not self.text or text[self.start : self.end] == self.text:
            return self
        start = in_characters(self.text, self.start, text)
        return self._replace(start=start, end=start + len(self.text)) if text.startswith(self.text, start) else self

    def converted(self, text: str, unit: str) -> "Span":
        """Return the span in characters, where its offsets are in a unit and it states no text."""
        if not unit or self.text:
            return self
        encoding, width, short = _UNITS[unit]
        encoded = text.encode(encoding, "surrogatepass")
        start, end = (len(encoded[: n * width].decode(encoding, "ignore")) for n in (self.start, self.end + short))
        return self._replace(start=start, end=end if self.end * width <= len(encoded) else len(text) + 1)

    def cuts(self, starts: Sequence[int], ends: Sequence[int], length: int) -> bool:
        """Return whether the span begins or ends inside a word of a text with these words, or lies outside it."""
        inside = any(bisect_left(starts, edge) > bisect_right(ends, edge) for edge in self[:2])
        return inside or not 0 <= self.start < self.end <= length


def _unit(rows: Sequence[Mapping[str, Any]], text: str, spans: str, raw: RawSentences, report: DropReport) -> str:
    """Return what the offsets of spans count, "" for characters, by how many spans cut words then."""
    cuts, count = dict.fromkeys(("", *_UNITS), 0), 0
    for value, row in ((row.get(text), row) for row in rows[:200]):
        if isinstance(value, str) and count < _MOST_TRIED:
            starts, ends = _words(value)
            for span in (span.placed(value) for span in _spans_of(row, spans)[:_MOST_TRIED]):
                count += 1
                for unit in cuts:
                    cuts[unit] += span.converted(value, unit).cuts(starts, ends, len(value))
    few = _MOST_CUT * count
    best = "" if cuts[""] <= few else min(cuts, key=lambda unit: cuts[unit])
    if cuts[best] > few:
        cut = f"{cuts['']:,} of {count:,} spans in {quoted(raw.name)} cut words or lie outside their texts"
        report.doubt(f"{cut}: check their offsets, or give --task tokens to read them so.", "task")
    elif best:
        report.note(f"The offsets of spans in {quoted(raw.name)} were read as {best}, since they cut words otherwise.")
    return "" if cuts[best] > few else best


def _words(text: str) -> tuple[list[int], list[int]]:
    """Return where the words of a text start, and where they end."""
    words = [match.span() for match in _WORD.finditer(text)]
    return [start for start, _ in words], [end for _, end in words]


def span_fields(sample: Sequence[Mapping[str, Any]], text: str) -> tuple[str, str] | None:
    """Return the fields with the text and with its spans; None where the records hold no spans."""
    names = list(dict.fromkeys(name for row in sample for name in row))
    texts = [name for name in (text, *_TEXT_NAMES, *names) if any(isinstance(row.get(name), str) for row in sample)]
    for name in names:
        lists = [row[name] for row in sample if isinstance(row.get(name), list)]
        if any(lists) and all(_span(item) for items in lists for item in items):
            return (texts[0], name) if texts else None
    return None


def grouped_spans(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a record for each text of rows that have it with one of its spans; none for other rows."""
    spans = [_span(row) for row in rows]
    if 2 * sum(map(bool, spans)) < len(rows):
        return []
    last = [0 if span is None else span.end for span in spans]
    for name in [name for name in rows[0] if isinstance(rows[0][name], str)]:
        if all(len(str(row.get(name))) >= end for row, end in zip(rows, last, strict=True)) and any(last):
            texts: list[dict[str, Any]] = []
            for row, span in zip(rows, spans, strict=True):
                entities = texts[-1]["entities"] if texts and texts[-1]["text"] == row.get(name) else []
                if not entities or not span or span.start <= entities[-1][0]:
                    entities = []
                    texts.append({"text": row.get(name), "entities": entities})
                entities += [span[:3]] if span else []
            return texts
    return []


def sentences_of_spans(
    rows: Sequence[Mapping[str, Any]], text: str, spans: str, raw: RawSentences, report: DropReport
) -> RawSentences:
    """Add the texts of the records as words with labels in the BIO scheme; every record gives one or is counted."""
    unit = _unit(rows, text, spans, raw, report)
    for number, row in enumerate(rows, 1):
        value = row.get(text)
        if not isinstance(value, str) or not value.strip():
            report.drop(f"field {text} is empty", raw, number)
            continue
        if row.get("answer") in ("reject", "ignore"):
            report.drop("it was rejected or ignored in Prodigy", raw, number)
            continue
        stated = _spans_of(row, spans)
        given = [span.placed(value).converted(value, unit) for span in stated]
        if moved := sum(bool(old.text) and old != new for old, new in zip(stated, given, strict=True)):
            report.repair(_MOVED, raw, number, moved)
        if any(not 0 <= span.start < span.end <= len(value) for span in given):
            report.drop("a span lies outside its text", raw, number)
            continue
        starts, ends = _words(value)
        labels = ["O"] * len(starts)
        for span in sorted(given, key=lambda span: (span.start, span.start - span.end)):
            inside = range(bisect_right(ends, span.start), bisect_left(starts, span.end))
            if any(labels[n] != "O" for n in inside):
                report.repair(_OVERLAPPING, raw, number)
                continue
            for place, n in enumerate(inside):
                labels[n] = f"{'I' if place else 'B'}-{span.label}"
                if starts[n] < span.start or ends[n] > span.end:
                    report.repair(_CUT, raw, number)
        words = tuple(value[start:end] for start, end in zip(starts, ends, strict=True))
        raw.sentences.append(LabelledWords(words, tuple(labels), number))
    raw.info = replace(raw.info, text_a=text, label=spans)
    return raw


def _spans_of(row: Mapping[str, Any], field: str) -> list[Span]:
    """Return the spans in a field of a record; none where it holds no list, such as NaN."""
    items = row.get(field)
    return [span for item in (items if isinstance(items, list) else ()) if (span := _span(item))]


def _span(item: Any) -> Span | None:
    if isinstance(item, (list, tuple)) and len(item) == 3:
        numbers = [value for value in item if isinstance(value, (int, float)) and not isinstance(value, bool)]
        labels = [value for value in item if isinstance(value, str)]
        item = dict(zip(("start", "end", "label"), (*numbers, *labels), strict=False)) if len(numbers) == 2 else None
    if not isinstance(item, dict):
        return None
    lower = {str(key).lower(): value for key, value in item.items()}
    start, end = (next((lower[name] for name in names if name in lower), None) for names in (_START, _END))
    label = next((lower[name] for name in _LABEL if lower.get(name)), None)
    label = label[0] if isinstance(label, list) and label else label
    first, last = offset(start), offset(end)
    if first < 0 or last < 0 or not isinstance(label, (str, int)):
        return None
    text = next((lower[name] for name in ("text", "value", "surface", "word", "span") if lower.get(name)), "")
    return Span(first, last, str(label), text if isinstance(text, str) else "")


def annotated_texts(sources: Sequence[Source]) -> list[tuple[Source, Source]]:
    """Return each text that has annotations next to it, with these.

    Raises `InputError` for annotations that are named without their text.
    """
    texts = [source for source in sources if suffix_of(source.name) == ".txt"]
    by_name = {source.name: source for source in texts}  # uploads are in a folder each
    by_place = {(source.path.parent, source.name): source for source in texts}
    pairs = []
    for source in sources:
        if suffix_of(source.name) == ANNOTATIONS:
            name = str(PurePath(source.name).with_suffix(".txt"))
            if text := by_place.get((source.path.parent, name)) or by_name.get(name):
                pairs.append((text, source))
            elif source.named:
                raise InputError(f"{quoted(source.name)} annotates {quoted(name)}: give both files.")
    return pairs


def read_standoff(
    documents: Sequence[tuple[Source, Source]], meter: Meter, options: ReadOptions, report: DropReport
) -> RawSentences:
    """Return the words of each text with the labels of its entities."""
    first = PurePath(documents[0][0].name)
    name = first.name if len(documents) == 1 else first.parent.name or f"{len(documents):,} texts"
    raw = RawSentences(FileInfo(name, "brat", columns=("text", "entities")), "document")
    records = []
    for number, pair in enumerate(documents, 1):
        text, annotations = (_content(source, meter, options) for source in pair)
        entities = [match.groupdict() for match in _ENTITY.finditer(annotations)]
        if gaps := sum(bool(entity["gaps"]) for entity in entities):
            report.repair(_GAPS, raw, number, gaps)
        records.append({"text": text, "entities": entities})
    return sentences_of_spans(records, "text", "entities", raw, report)


def _content(source: Source, meter: Meter, options: ReadOptions) -> str:
    with reading_errors(source), open_text(source, options, meter).text() as stream:
        return stream.read()
