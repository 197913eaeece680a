"""Files of labeled texts with some labels corrected, in the format that they came in.

Only the cells of corrected labels change, and dropped rows disappear: every other byte stays the same. Each new file is
read back like the old one and returned only if it holds the expected examples. What cannot be written this way
(Parquet, a workbook, a folder or zip, nested records, columns of 0 and 1) becomes CSV.
"""

import base64
import contextlib
import csv
import io
import json
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from bertviz_lab.data.corpora.formats.tables import whole_lines
from bertviz_lab.data.corpora.formats.text import column_title
from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import find_sources
from bertviz_lab.data.examples import FileInfo, Label, LabelledText, TaskData
from bertviz_lab.data.formats.labels import NAMES_FILE, label_separator
from bertviz_lab.data.formats.raw import ReadOptions, open_text
from bertviz_lab.data.formats.read import read_each
from bertviz_lab.data.formats.tables import FASTTEXT_PREFIX, LABELS_OF_LINE, Layout, layout_of
from bertviz_lab.errors import InputError

#: The newest decision about each example: its label, or None to leave it out (`tasks.corrections.newest`).
Decisions = Mapping[LabelledText, Label | None]


@dataclass(frozen=True)
class CorrectedFile:
    """A file with corrected labels."""

    name: str
    base64: str  # its bytes
    changed: int  # examples that have another label, or are left out
    note: str = ""  # a sentence where it is not in the format that it came in

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return base64.b64decode(self.base64)


def corrected_files(
    paths: Sequence[str | Path], task: str, decisions: Decisions, **options: Any
) -> list[CorrectedFile]:
    """Return each file with what was decided about its examples. Options and errors are those of `read_task`."""
    files = read_each(paths, task, **options)
    task = files[0].task
    with tempfile.TemporaryDirectory() as folder:
        written = []
        for number, (path, data) in enumerate(zip(map(Path, paths), files, strict=True)):
            place = Path(folder, str(number), path.name)
            place.parent.mkdir()
            if (path.parent / NAMES_FILE).is_file():
                shutil.copyfile(path.parent / NAMES_FILE, place.parent / NAMES_FILE)
            # Whatever a file is like, there is a way to write it.
            with contextlib.suppress(OSError, ValueError, LookupError, csv.Error, InputError):
                if path.is_file() and len(data.files) == 1:
                    place.write_bytes(_rewritten(path, data, decisions, ReadOptions(task, **options)))
            written.append(place if place.is_file() else path)
        again: Sequence[TaskData | None] = [None] * len(files)
        with contextlib.suppress(InputError):
            again = read_each(written, task, **options)
        return [_file(*each, decisions) for each in zip(written, files, again, strict=True)]


def _file(place: Path, data: TaskData, read: TaskData | None, decisions: Decisions) -> CorrectedFile:
    """Return the file that was written, where it is `read` as it should be, or else its examples in a table."""
    texts = cast(Sequence[LabelledText], data.examples)
    changed = sum(text in decisions for text in texts)
    labels = [(text, decisions.get(text, text.label)) for text in texts]
    decided = [replace(text, label=label) for text, label in labels if label is not None]
    written = cast(Sequence[LabelledText], read.examples) if read else ()
    if read and [(*text.inputs, text.label) for text in decided] == [(*text.inputs, text.label) for text in written]:
        content, name, note = place.read_bytes(), f"{place.stem}-corrected{place.suffix}", ""
    else:
        content, name = _as_csv(decided), f"{place.stem}-corrected.csv"
        note = f"{quoted(place.name)} cannot be written back in its format: its examples are in a table (CSV)."
    return CorrectedFile(name, base64.b64encode(content).decode(), changed, note)


def _as_csv(texts: Sequence[LabelledText]) -> bytes:
    pairs = any(text.text_b is not None for text in texts)
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["text_a", "text_b", "label"] if pairs else ["text", "label"])
    for text in texts:
        label = "|".join(text.label) if isinstance(text.label, tuple) else text.label
        writer.writerow([text.text_a, text.text_b, label] if pairs else [text.text_a, label])
    return table.getvalue().encode()


class Piece(NamedTuple):
    """A row of a file as it is written, with what follows it up to the next one."""

    raw: str
    number: int = 0  # of the row; 0 for what is none
    value: Any = ""  # of its label: the text of a cell, or a JSON value
    with_value: Callable[[Any], str] = str  # the row with another value; `ValueError` where that is impossible


def _rewritten(path: Path, data: TaskData, decisions: Decisions, options: ReadOptions) -> bytes:
    """Return the bytes of a file with the decided labels. Raises one of many errors where that is impossible."""
    (info,) = data.files
    texts = {text.row: text for text in cast(Sequence[LabelledText], data.examples)}
    (source,) = find_sources(path, ReadingNotes(), options.max_bytes)
    file, content = open_text(source, options), path.read_bytes()
    text = content.decode(file.encoding, "surrogateescape")
    if text.encode(file.encoding, "surrogateescape") != content:
        raise ValueError("Bytes would be lost.")
    if info.format == "table":
        pieces = list(_table(text, info, layout_of(file, options)))
    else:
        readers = {"label-text": _label_lines, "jsonl": _json_records, "json": _json_records}
        pieces = list(readers[info.format](text, info))
    value_of = _values((texts[piece.number].label, piece.value) for piece in pieces if piece.number in texts)
    written = []
    for piece in pieces:
        example = texts.get(piece.number)
        if example is None or example not in decisions:
            written.append(piece.raw)
        elif (label := decisions[example]) is not None:
            written.append(piece.with_value(value_of(label)))
    result = "".join(written)
    if info.format == "json":  # what was last may have been left out
        result = re.sub(r",(\s*\]\s*)\Z", r"\1", result)
    return result.encode(file.encoding, "surrogateescape")


def _values(known: Iterable[tuple[Label, Any]]) -> Callable[[Label], Any]:
    """Return what gives a label as the file has it, most often; a label that it does not have is like the others."""
    counts: dict[Label, Counter[str]] = defaultdict(Counter)
    for label, value in known:
        counts[label][json.dumps(value)] += 1
    values = [json.loads(value) for of_label in counts.values() for value in of_label]
    cells = [value for value in values if isinstance(value, str) and value]
    prefix = FASTTEXT_PREFIX if cells and all(cell.startswith(FASTTEXT_PREFIX) for cell in cells) else ""

    def value_of(label: Label) -> Any:
        if label in counts:
            return json.loads(counts[label].most_common(1)[0][0])
        if not isinstance(label, tuple):
            return f"{prefix}{label}"
        parts = [value_of((part,)) if not prefix and (part,) in counts else f"{prefix}{part}" for part in label]
        if len(cells) < len(values) and any(isinstance(value, list) for value in values):
            return list(label)
        if any(cell.lstrip().startswith("[") for cell in cells):
            return str(list(label))
        return (" " if prefix else label_separator(dict.fromkeys(cells, 1)) or ",").join(parts)

    return value_of


class _Recorded(io.StringIO):
    """A text that remembers the lines which were read of it since it was last asked."""

    def __init__(self, text: str, newline: str) -> None:
        super().__init__(text, newline)
        self.lines: list[str] = []

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        self.lines.append(super().readline(-1 if size is None else size))
        return self.lines[-1]

    def take(self) -> str:
        taken = "".join(self.lines)
        self.lines.clear()
        return taken


def _table(text: str, info: FileInfo, layout: Layout) -> Iterator[Piece]:
    stream = _Recorded(text, layout.newline)
    lines = whole_lines(stream, info.name)
    for _ in range(layout.said):
        next(lines)
        yield Piece(stream.take())
    width, column = len(info.columns), info.columns.index(info.label)
    for number, row in enumerate(layout.dialect.rows(lines), 1 + layout.said):
        if number < 10 and info.header and info.label in (names := [*map(column_title, row)]):
            column = names.index(info.label) + (width - len(names) == 1)  # R leaves the first name out
            width = max(width, len(names))
        # Surplus cells of a row are before its label where they are part of the text.
        place = column + max(0, len(row) - width) if info.columns.index(info.text_a) < column else column
        place = place if place < len(row) else column
        raw = stream.take()
        yield Piece(raw, number, row[place] if place < len(row) else "", partial(_with_cell, raw, row, place, layout))
    yield Piece(stream.take())


def _with_cell(raw: str, row: list[str], place: int, layout: Layout, cell: str) -> str:
    """Return a row with another cell: the one way to replace its text that gives the other cells unchanged."""
    expected = [*row[:place], cell, *row[place + 1 :]]
    quote = layout.dialect.quote
    for new in (cell, f"{quote}{cell.replace(quote, 2 * quote)}{quote}"):
        for match in reversed([*re.finditer(f"(?={re.escape(row[place])})", raw)]):
            changed = raw[: match.start()] + new + raw[match.start() + len(row[place]) :]
            if list(layout.dialect.rows(whole_lines(_Recorded(changed, layout.newline), ""))) == [expected]:
                return changed
    raise ValueError("The cell is written in a way of its own.")


def _between(before: str, after: str, value: Any) -> str:
    return f"{before}{value}{after}"


def _label_lines(text: str, info: FileInfo) -> Iterator[Piece]:
    for number, line in enumerate(io.StringIO(text, "\n"), 1):
        match = cast(re.Match[str], LABELS_OF_LINE.match(line))
        start, end = match.span(1)
        yield Piece(line, number, match[1], partial(_between, line[:start], line[end:]))


def _json_records(text: str, info: FileInfo) -> Iterator[Piece]:
    """Yield the objects of a list, or those of JSON lines, each with the comma or the line ends after it."""
    decoder, number = json.JSONDecoder(), 0
    start = end = text.index("[") + 1 if info.format == "json" else 0
    yield Piece(text[:start])
    while match := re.compile(r"[\s\ufeff]*\{").match(text, end):
        _, end = decoder.raw_decode(text, match.end() - 1)
        end = cast(re.Match[str], re.compile(r"\s*,?").match(text, end)).end()
        number += 1
        yield _record(text[start:end], text[match.end() - 1 : end].rstrip(" \t\r\n,"), number, info.label)
        start = end
    yield Piece(text[end:])


def _record(raw: str, written: str, number: int, field: str) -> Piece:
    """Return the piece of an object that is `written` in `raw`."""
    record = json.loads(written)
    key = re.compile("|".join(re.escape(json.dumps(field, ensure_ascii=ascii)) for ascii in (True, False)))

    def with_value(value: Any) -> str:
        for match in re.finditer(rf"(?:{key.pattern})\s*:\s*", raw):
            with contextlib.suppress(ValueError):
                _, end = json.JSONDecoder().raw_decode(raw, match.end())
                changed = raw[: match.end()] + json.dumps(value, ensure_ascii=raw.isascii()) + raw[end:]
                if json.loads(changed.lstrip("\ufeff").rstrip(" \t\r\n,")) == record | {field: value}:
                    return changed
        raise ValueError("The label is in a record inside this one.")

    return Piece(raw, number, record.get(field), with_value)
