"""CSV and TSV: a row is a document; the dialect and the text column are inferred.

`csv.Sniffer` is wrong too often on prose, where commas and quotation marks are common, so each delimiter is tried on
the first rows, and the one with the most even table is kept.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, TextIO

from bertviz_lab.data.corpora.formats.text import (
    TEXT_NAMES,
    Paragraphs,
    cell_documents,
    column_title,
    known_name,
    sample_lines,
)
from bertviz_lab.data.corpora.reading_notes import FileNotes, quoted, quoted_list
from bertviz_lab.errors import InputError

#: Maximum length of a line of a table or of JSON lines, in characters.
LONGEST_LINE = 32 << 20
DELIMITERS = (",", "\t", ";", "|")  # that are tried
_NO_SEPARATOR = "\x1f"  # a control character that does not occur in text: for a table of one column


@dataclass(frozen=True)
class Dialect:
    """How a line is split into cells."""

    delimiter: str  # one character; without quoting several, too
    quoting: bool  # False where a quotation mark is an ordinary character
    cells: int = 1  # number of cells in most rows
    spaced: bool = False  # a space may follow the delimiter before a quotation mark
    # a backslash before a quotation mark, or without quoting before a delimiter, makes it part of the cell
    escaped: bool = False
    quote: str = '"'  # the quotation mark
    bare: bool = False  # quotation marks inside quoted cells are not doubled

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return the cells of each row; none for an empty line. Raises `csv.Error` for invalid quoting."""
        if not self.quoting:
            plain = (line.rstrip("\r\n") for line in lines)
            if not self.escaped:
                return (line.split(self.delimiter) if line else [] for line in plain)
            mark, end = f"\\{self.delimiter}", re.compile(rf"(?<!\\){re.escape(self.delimiter)}")
            return ([cell.replace(mark, self.delimiter) for cell in end.split(line)] if line else [] for line in plain)
        return self._reader(lines, escapechar="\\" if self.escaped else None, skipinitialspace=self.spaced)

    def _reader(self, lines: Iterable[str], **options: Any) -> Iterator[list[str]]:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))  # the process's limit: raise it only
        lines = self._doubled(lines) if self.bare else lines
        return csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote, **options)

    def _doubled(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines with the quotation marks inside their quoted cells doubled."""
        end, mark = re.escape(self.delimiter), self.quote
        cell = re.compile(rf"((?:^|{end}){mark})(.*?)(?={mark}(?:{end}|[\r\n]*$))")
        for line in lines:
            yield cell.sub(lambda found: found[1] + found[2].replace(2 * mark, mark).replace(mark, 2 * mark), line)

    def is_strict(self, lines: Iterable[str]) -> bool:
        """Return whether each closing quotation mark ends its cell; the last row may be cut off."""
        try:
            list(self._reader(lines, strict=True))
        except csv.Error as error:
            return "unexpected end" in str(error)
        return True


def table_paragraphs(stream: TextIO, text_field: str | None, notes: FileNotes) -> Paragraphs:
    """Return the texts of a table, each ended by None. Raises `InputError` where there is no such column or table."""
    lines = whole_lines(stream, notes.name)
    sample = sample_lines(lines)
    tabs_first = notes.name.lower().endswith(".tsv")
    dialect = guess_dialect(sample, sorted(DELIMITERS, key=lambda s: s != "\t") if tabs_first else DELIMITERS)
    number = 0

    def texts() -> Iterator[str]:
        nonlocal number
        for number, row in enumerate(dialect.rows(chain(sample, lines)), 1):
            if number <= has_header or not any(row):
                continue
            if dialect.cells > 1 and len(row) != dialect.cells:
                notes.ragged_rows += 1
            if column == dialect.cells - 1 and len(row) > dialect.cells > 1:
                yield dialect.delimiter.join(row[column:])  # unquoted text that contains the delimiter
            else:
                yield row[column] if column < len(row) else ""

    try:
        head = list(islice(dialect.rows(sample), 200))
        column, has_header = _text_column(head, text_field, notes.name)
        label = quoted(head[0][column].strip()) if has_header else str(column + 1)
        notes.layout = f"A row is a document, its text is column {label}."
        yield from cell_documents((row[column] for row in head[has_header:] if column < len(row)), texts(), notes)
    except csv.Error as error:
        raise InputError(
            f"{quoted(notes.name)} cannot be read as a table near row {number + 1:,} ({error}); "
            "check the quotation marks there, or give the text as .txt."
        ) from None


def guess_dialect(lines: list[str], delimiters: Iterable[str]) -> Dialect:
    """Return the delimiter and quoting with the most even rows; in a tie, the first."""
    best, best_score = Dialect(_NO_SEPARATOR, True, 1), 0.0
    text = "".join(lines)
    for delimiter in delimiters:
        quote = "'" if has_single_quotes(lines, delimiter) else '"'
        escaped = escapes_quotes(text, delimiter, quote)
        for quoting in (False, True) if delimiter in "\t|" else (True, False):
            spaced = quoting and f"{delimiter} {quote}" in text
            has_escapes = escaped if quoting else f"\\{delimiter}" in text
            attempt = Dialect(delimiter, quoting, spaced=spaced, escaped=has_escapes, quote=quote)
            if quoting and not (escaped or spaced) and quote in text and not attempt.is_strict(lines):
                bare = replace(attempt, bare=True)
                attempt = bare if bare.is_strict(lines) else attempt
            try:
                rows = [row for row in attempt.rows(lines) if row]
            except csv.Error:
                continue
            if not rows or len(rows[0]) == 1:  # a header of one cell: a table of one column
                continue
            cells, common = Counter(map(len, rows)).most_common(1)[0]
            even = common / len(rows)
            # Stray quotation marks join lines into cells with line ends.
            joined = sum(cell.count("\n") for row in rows for cell in row) if quoting else 0
            joined = 0 if joined and even == 1 and attempt.is_strict(lines) else joined
            score = even * (1 - 0.5 * min(1.0, joined / len(lines))) - (0.0 if quoting else _missed_quoting(rows))
            if cells > 1 and score > best_score + 1e-9:
                best, best_score = replace(attempt, cells=cells), score
    if best_score < 0.5:  # no delimiter makes an even table: one column
        return Dialect(_NO_SEPARATOR, any(line.startswith('"') for line in lines), 1)
    return best


def escapes_quotes(text: str, delimiter: str, quote: str = '"') -> bool:
    """Return whether quotation marks inside cells have a backslash before them; `delimiter` may follow a cell's last.

    A backslash before the mark that ends a cell (`"C:\\",`) or before a doubled mark is a character of the cell.
    """
    ends = re.escape(delimiter)
    inside = re.search(rf"\\{quote}(?![{quote}{ends}\r\n]|$)", text)
    return inside is not None and re.search(rf"(?:^|{ends} ?|[\r\n]){quote}", text) is not None


def has_single_quotes(lines: Iterable[str], delimiter: str) -> bool:
    """Return whether cells are enclosed in single quotation marks: in nearly all lines, and no double ones are."""
    end = re.escape(delimiter)
    quoted_cell = re.compile(rf"(?:^|{end} ?)'(?:[^']|''|\\')*'(?={end}|\s*$)")
    filled = [line for line in lines if line.strip()][1:]
    found = sum(quoted_cell.search(line) is not None for line in filled)
    return found > 0.8 * len(filled) > 0 and not any(f'{delimiter}"' in line or line.startswith('"') for line in filled)


def _missed_quoting(rows: list[list[str]]) -> float:
    """Evidence of quoting in rows read without it: many quoted cells (few are direct speech), or doubled marks."""
    wrapped = [[c for c in row if len(c) > 1 and c[0] == c[-1] == '"'] for row in rows]
    share = sum(map(bool, wrapped)) / len(rows)
    doubled = any('""' in cell[1:-1] for cells in wrapped for cell in cells)
    return 0.5 * (share if share >= 0.2 else 0.0) + 0.1 * doubled


def _text_column(rows: list[list[str]], text_field: str | None, name: str) -> tuple[int, bool]:
    """Index of the text column, and whether the first row is a header."""
    rows = [row for row in rows if any(row)]
    if not rows:
        raise InputError(f"{quoted(name)} holds no text; choose a file with text in it.")
    first = [column_title(cell) for cell in rows[0]]
    if text_field is not None:
        lower = [cell.lower() for cell in first]
        if (wanted := column_title(text_field).lower()) in lower:
            return lower.index(wanted), True
        if text_field.isdigit() and 1 <= int(text_field) <= max(map(len, rows)):
            return int(text_field) - 1, False
        raise InputError(f"{quoted(name)} has no column {quoted(text_field)}; it has {quoted_list(first, 20)}.")
    text_column = known_name(first)
    if text_column is not None and len(rows) > 1 and all(len(cell) <= 40 for cell in first):
        return text_column, True
    body = rows[1:] or rows
    width = max(map(len, rows))
    sizes = [sum(len(row[c]) for row in body if c < len(row)) / len(body) for c in range(width)]
    column = max(range(width), key=lambda c: sizes[c])
    header_cell = first[column] if column < len(first) else ""
    is_header = (
        len(rows) > 1
        and 0 < len(header_cell) <= 40
        and sizes[column] > 2 * len(header_cell)
        and all(number_of(cell) is None for cell in first)
        and (header_cell.lower() in TEXT_NAMES or header_cell.count(" ") <= 2)
        and (len(first) > 1 or header_cell.lower() in TEXT_NAMES)
    )
    return column, is_header


def number_of(cell: str) -> float | None:
    """Return the finite number that a cell spells; None where it spells none."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def whole_lines(stream: TextIO, name: str, lost: Counter[str] | None = None) -> Iterator[str]:
    """Yield lines with their ends, and count what is `lost`. Raises `InputError` beyond `LONGEST_LINE` characters."""
    lost = Counter() if lost is None else lost
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), ""), 1):
        if len(line) >= LONGEST_LINE and not line.endswith("\n"):
            raise InputError(
                f"Line {number:,} of {quoted(name)} has over {LONGEST_LINE // 10**6} million characters; "
                "give the text as .txt."
            )
        lost["null character"] += line.count("\0")
        lost["line"] += "\ufffd" in line
        line = line.replace("\0", "")
        if line[:1] == "\ufeff":  # joined files have byte-order marks in the middle
            lost["byte-order mark"] += number > 1
            line = line.lstrip("\ufeff")
        yield line
