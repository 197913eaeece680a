"""Tables (.csv, .tsv and the like) and lines that begin with a label: files to rows of cells, rows to examples."""

import ast
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple, cast

from bertviz_lab.data.corpora.formats.tables import DELIMITERS, Dialect, guess_dialect
from bertviz_lab.data.corpora.reading_notes import pluralized, quoted
from bertviz_lab.data.corpora.streams import suffix_of
from bertviz_lab.data.examples import FileInfo, LabelledText
from bertviz_lab.data.formats.columns import Columns
from bertviz_lab.data.formats.labels import ClassCells, is_missing, list_of_labels, number_of
from bertviz_lab.data.formats.questions import joined_texts, literal
from bertviz_lab.data.formats.raw import MAX_COLUMNS, DropReport, RawFile, RawTable, ReadOptions, TextFile
from bertviz_lab.errors import InputError

#: Unusual delimiters: two signs or more that hardly a text has, or one before a label at the end of a line.
_LONG_DELIMITER = re.compile(r" [|]{3} |::|\t\t|[~|^#@$%*=+;§]{2,5}|[~^#@$§]")
#: Cells below a header: Markdown's rule, SurveyMonkey's kinds of answers, and Qualtrics' ids below its questions.
_BELOW_HEADER = re.compile(r':?-{2,}:?|(?:Open-Ended )?Response|\{"ImportId":.*|')
_ESTIMATED_AFTER = 100_000  # rows
_TOTALS = ("total", "totals", "grand total", "sum", "average", "mean", "gesamt", "summe", "mittelwert", "итого", "合计")
#: Bytes as Python prints them, which PAWS and tables of encoded tweets hold.
_BYTES = re.compile(r"""b(['"])(?:(?!\1)[ -\[\]-~]|\\(?:x[0-9a-f]{2}|[\\'"nrt]))*+\1""")
_DECODED = "cell<s> held bytes (b'...'), and <was|were> read as their text"
_JOINED = "cell<s> held lists of texts, and <was|were> read as these, a line each"
#: Before each label in fastText's files; and the label, or such labels, with which a line begins.
FASTTEXT_PREFIX = "__label__"
LABELS_OF_LINE = re.compile(rf"\s*((?:{FASTTEXT_PREFIX}\S+\s+)*{FASTTEXT_PREFIX}\S+|\S*)")


def read_table(file: TextFile, options: ReadOptions, report: DropReport) -> RawTable:
    """Return the rows of a table. Raises `InputError` where it cannot be parsed, or has more rows than may be read."""
    layout = layout_of(file, options)
    rows: list[list[str]] = []
    numbers: list[int] = []
    number, before = 0, file.meter.done
    place = RawFile(FileInfo(file.name, "table", file.encoding))
    with file.lines(layout.newline, report) as lines:
        try:
            for _ in range(layout.said):
                next(lines)
            for number, row in enumerate(layout.dialect.rows(lines), 1 + layout.said):
                if any(row):
                    if len(row) > MAX_COLUMNS:
                        too_many = f"{place.at(number)} has more than {MAX_COLUMNS:,} cells"
                        raise InputError(f"{too_many}; give a table with fewer columns.")
                    rows.append(row)
                    numbers.append(number)
                    options.check_count(len(rows) - 1, file.name)  # one may be the header
                    if len(rows) == _ESTIMATED_AFTER:  # so that no large table is read for its refusal
                        expected = len(rows) * file.source.size / (file.meter.done - before)
                        options.check_count(int(0.9 * expected), file.name)
        except csv.Error as error:
            raise InputError(
                f"{place.at(number + 1)} cannot be read ({error}); check the quotation marks "
                "there, or say that the table has no quoting."
            ) from None
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
    delimiter = layout.dialect.delimiter
    info = replace(place.info, delimiter=delimiter if width > 1 else "")
    return without_titles(RawTable(info, "row", rows, numbers, width, delimiter=delimiter), report)


class Layout(NamedTuple):
    """How the lines of a table are rows of cells."""

    dialect: Dialect
    said: int  # lines above the table: one of Excel's that names the delimiter, comments, a title
    newline: str  # as for `open`


def layout_of(file: TextFile, options: ReadOptions) -> Layout:
    """Return how a table is laid out, by its first lines."""
    sample = file.sample_with_quotes()
    separator = re.fullmatch(r'"?sep=(.)"?\s*', sample[0], re.IGNORECASE) if sample else None
    said = 1 if separator else _lines_above(sample)
    if separator and not options.delimiter:
        options = replace(options, delimiter=separator[1])
    long = "" if options.delimiter else long_delimiter(sample)
    sample = sample[said:]
    dialect = Dialect(long, False) if long else _dialect(file.name, sample, options)
    # Without quoting a carriage return inside a line is a character of its cell; with quoting, `csv` decides.
    universal_newlines = dialect.quoting or not any(line.endswith("\n") for line in sample)
    if not dialect.quoting and sum(line[0] == line.rstrip()[-1:] == '"' for line in sample[1:]) > 0.9 * len(sample):
        whole = f"Each line of {quoted(file.name)} is enclosed in quotation marks as a whole"
        raise InputError(f"{whole}, so that nothing divides its cells; save the table as CSV again.")
    return Layout(dialect, said, "" if universal_newlines else "\n")


def _lines_above(lines: Sequence[str]) -> int:
    """Return how many lines above a table are comments, or a title that a blank line ends."""
    comments = sum(1 for _ in takewhile(lambda line: line.startswith("# "), lines))
    title = sum(1 for _ in takewhile(lambda line: line.strip() and not re.search(r"[,;\t|]", line), lines[:4]))
    blank = sum(1 for _ in takewhile(lambda line: not line.strip(), lines[title:]))
    return comments or (title + blank if 0 < title < 4 and blank and title + blank < len(lines) - 2 else 0)


def long_delimiter(lines: Sequence[str]) -> str:
    """Return the unusual delimiter that nearly all lines hold, and equally often; "" for none.

    One sign repeated is none where it also occurs alone, as next to an empty cell: `7;late;;bad`.
    """
    filled = [line for line in lines if line.strip()]
    for delimiter in sorted(set(_LONG_DELIMITER.findall("".join(filled[:2]))), key=len, reverse=True):
        (most, times), *_ = Counter(line.count(delimiter) for line in filled).most_common(1)
        signs, ends = set(delimiter.strip(" ")), {line.rsplit(delimiter, 1)[-1].strip() for line in filled}
        alone = sum(not signs.isdisjoint(line.replace(delimiter, "")) for line in filled) if len(signs) == 1 else 0
        are_labels = len(ends) <= max(3, len(filled) // 5) and not any(re.search("[,;\t|]", end) for end in ends)
        if times > 0.9 * len(filled) > 1 and most > 0 and alone < 0.1 * len(filled) and (delimiter[1:] or are_labels):
            return delimiter
    return ""


def without_titles(table: RawTable, report: DropReport) -> RawTable:
    """Leave out what people add to a table: titles above the header, a row of totals at the end, empty columns."""
    if table.width > 1 and len(table.rows) > 3:
        _leave_out_titles(table, report)
    if table.rows and not all(map(str.strip, table.rows[0])):
        _leave_out_empty_columns(table, report)
    return table


def _leave_out_titles(table: RawTable, report: DropReport) -> None:
    """Leave out rows above the header with one cell of text, and below the table its totals and what is said of it."""
    are_titles = (sum(map(bool, map(str.strip, row))) == 1 and len(row) <= table.width for row in table.rows[:3])
    titles = sum(1 for _ in takewhile(bool, are_titles))
    if titles and all(cell.strip() for cell in table.rows[titles]):
        table.leave_out(range(titles), report, "title<s> above the header <was|were> left out")
    cells = [[cell.strip() for cell in row] for row in table.rows[:3]]
    under = next((n for n in (1, 2) if any(cells[n]) and all(map(_BELOW_HEADER.fullmatch, cells[n]))), 0)
    if under:  # drawn for the eye, as in Markdown, with cells that are filled up with blanks
        table.leave_out(range(1, under + 1), report, "row<s> below the header <was|were> left out")
        table.rows = [[cell.strip() for cell in row] for row in table.rows]
    last, place = table.rows[-1], table.numbers[-1]
    is_apart = place > table.numbers[-2] + 1 and " " in last[0] and not any(map(str.strip, last[1:]))
    totals = sum(1 for _ in takewhile(_is_total, reversed(table.rows)))
    if is_apart or 0 < totals < 4:
        what = "sentence below the table" if is_apart else "row of totals"
        below = range(len(table.rows) - max(1, totals), len(table.rows))
        table.leave_out(below, report, f"<{what} was|rows below the table were> left out")


def _is_total(row: list[str]) -> bool:
    """Return whether a row holds numbers only, and what they are: a total, or a mean."""
    words = [cell.strip().lower().rstrip(":") for cell in row if cell.strip() and number_of(cell) is None]
    return bool(words) and set(words) <= set(_TOTALS)


def _leave_out_empty_columns(table: RawTable, report: DropReport) -> None:
    """Leave out columns without a name in which hardly a row has anything, as spreadsheets write them."""
    kept = [
        number
        for number, cells in enumerate(table.columns)
        if number == 0 or "".join(cells[:1]).strip() or sum(bool(c.strip()) for c in cells) > 0.02 * len(cells)
    ]
    empty = table.width - len(kept)
    if not empty or len(kept) < 2:
        return
    report.note(pluralized(empty, f"empty column<s> of {quoted(table.name)} <was|were> left out."))
    table.rows = [[row[c] for c in kept] if len(row) == table.width else row for row in table.rows]
    table.width = len(kept)


def _dialect(name: str, sample: list[str], options: ReadOptions) -> Dialect:
    filled = [line for line in sample if line.strip()]
    ending = suffix_of(name)
    tabs = sum("\t" in line for line in filled) > 0.9 * len(filled) and ending != ".csv"
    likeliest = "\t" if tabs or ending in (".tsv", ".tab") else ","
    delimiters: Iterable[str] = options.delimiter or sorted(DELIMITERS, key=lambda d: d != likeliest)
    guess = guess_dialect(sample, delimiters)
    if options.delimiter and guess.delimiter != options.delimiter:  # rows are uneven, but it was given
        guess = Dialect(options.delimiter, any(line.startswith('"') for line in sample))
    if options.quoting == "auto":
        return guess
    quoting = options.quoting == "yes"
    spaced = quoting and f'{guess.delimiter} "' in "".join(sample)
    return replace(guess, quoting=quoting, spaced=spaced)


def read_label_lines(file: TextFile, options: ReadOptions, report: DropReport) -> RawTable:
    """Return lines of a label, or several, and a text: "0 How far is it?", "__label__spam You have won"."""
    rows: list[list[str]] = []
    numbers: list[int] = []
    with file.lines("\n", report) as lines:
        for number, line in enumerate(lines, 1):
            match = cast(re.Match[str], LABELS_OF_LINE.match(line))
            if labels := match[1].split():
                text = line[match.end() :].rstrip("\r\n").lstrip()
                rows.append(["\n".join(label.removeprefix(FASTTEXT_PREFIX) for label in labels), text])
                numbers.append(number)
                options.check_count(len(rows), file.name)
    info = FileInfo(file.name, "label-text", file.encoding, " ")
    return RawTable(info, "line", rows, numbers, 2, names=["label", "text"])


def decode_bytes(table: RawTable, report: DropReport) -> None:
    """Replace cells that hold bytes as Python prints them, such as b'caf\\xc3\\xa9', by their text."""
    for number, row in zip(table.numbers, table.rows, strict=True):
        if printed := [column for column, cell in enumerate(row) if _BYTES.fullmatch(cell)]:
            report.repair(_DECODED, table, number, len(printed))
        for column in printed:
            row[column] = ast.literal_eval(row[column]).decode("utf-8", "replace")


def join_nested_texts(table: RawTable, report: DropReport) -> None:
    """Replace cells that hold lists of texts in lists, such as [[title, [sentence, sentence]]], by these texts."""
    for number, row in zip(table.numbers, table.rows, strict=True):
        for column, cell in enumerate(row):
            if cell[:1] in ("[", "{") and "[" in cell[1:]:
                value = literal(cell)
                is_nested = isinstance(value, dict) or any(isinstance(part, list) for part in value)
                if is_nested and (joined := joined_texts(value)):
                    report.repair(_JOINED, table, number)
                    row[column] = joined


def label_counts(tables: Iterable[tuple[RawTable, Columns]]) -> Counter[str]:
    """Return how often each value occurs in the label columns, as it is written, over the rows of the usual width."""
    return Counter(row[columns.label] for table, columns in tables for _, row in table.complete_rows)


def split_lists(table: RawTable, column: int) -> int:
    """Put the labels of cells that are written as lists a line each, as those of records are; return how many cells."""
    lists = 0
    for _, row in table.complete_rows:
        if (labels := list_of_labels(row[column])) is not None:
            row[column] = "\n".join(labels)
            lists += 1
    return lists


def write_points(table: RawTable, column: int, report: DropReport) -> None:
    """Write numbers with a decimal comma with a point."""
    report.note(f"Numbers with a comma in {table.describe_column(column, of_file=True)} were read as decimals.")
    for row in table.rows:
        if column < len(row):
            row[column] = row[column].replace(",", ".")


def labelled_texts(table: RawTable, columns: Columns, cells: ClassCells, report: DropReport) -> list[LabelledText]:
    """Return the examples of a table with its header split; every row gives one or is counted with its reason."""
    text_a, text_b, label = columns.text_a, columns.text_b, columns.label
    label_column, first_column = table.describe_column(label), table.describe_column(text_a)
    second_column = "" if text_b is None else table.describe_column(text_b)
    no_majority = "-" if table.column_names[label].lower() == "gold_label" else None  # in SNLI and MultiNLI
    rows = list(even_rows(table, columns, lambda row: cells.is_known(row[label]), report))
    uneven = len(table.rows) - len(rows)
    if uneven > len(table.rows) / 2:  # the delimiter or the quoting was inferred wrongly
        raise InputError(
            f"{uneven:,} of {len(table.rows):,} rows of {quoted(table.name)} do not have {table.width} cells as "
            "the others do; give its delimiter, and whether quotation marks enclose its cells."
        )
    examples: list[LabelledText] = []
    for number, row in rows:
        reason = ""
        first, second, value = row[text_a], None if text_b is None else row[text_b], row[label]
        target = cells.label(value)
        if cells.is_missing(value) or value == no_majority:
            reason = f"the label is missing ({label_column})"
        elif not first.strip():
            reason = f"the text is empty ({first_column})"
        elif second is not None and not second.strip():
            reason = f"the second text is empty ({second_column})"
        elif "\n" in value and not isinstance(target, tuple):
            reason = f"it has several labels, which the task multilabel learns ({label_column})"
        elif target is None:
            reason = f"the label is no finite number ({label_column})"
        else:
            examples.append(LabelledText(first, second, target, number, table.name))
        if reason:
            report.drop(reason, table, number)
    return examples


def even_rows(
    table: RawTable, used: Sequence[int | None], fits: Callable[[list[str]], bool], report: DropReport
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with their numbers; one of another width is repaired if its labels fit then, else dropped.

    The columns that are `used` are those of the text, of the second text, and of what else is needed.
    """
    name = quoted(table.name)
    for number, row in zip(table.numbers, table.rows, strict=True):
        if len(row) == table.width:
            yield number, row
            continue
        repairs = _repairs(row, table, used)
        repaired, which = next(((repaired, which) for repaired, which in repairs if fits(repaired)), (None, ""))
        if repaired is None:
            reason = f"it has {pluralized(len(row), 'cell<s>')}, and most rows have {table.width}"
            report.drop(reason, table, number)
        else:
            report.repair(f"row<s> of {name} <has|have> {which}", table, number)
            yield number, repaired


def _repairs(row: list[str], table: RawTable, used: Sequence[int | None]) -> Iterator[tuple[list[str], str]]:
    """Yield what a row of another width may be meant to be, the likeliest first, each with what is wrong with it."""
    surplus = len(row) - table.width
    text_a = used[0] or 0
    if surplus < 0:
        if all((column or 0) < len(row) for column in used):
            yield row, "fewer cells than the others, but those that are needed"
        return
    if used[1] is None and table.delimiter:
        end = text_a + surplus + 1
        joined = [*row[:text_a], table.delimiter.join(row[text_a:end]), *row[end:]]
        yield joined, "more cells than the others; those over were taken for text"
    yield row[: table.width], "more cells than the others; those over were left out"


def check_numbers(table: RawTable, column: int, needed: str = "regression needs") -> None:
    """Raise `InputError`, naming the first, where half the labels or more are not numbers; `needed` says for what."""
    labels = [(number, row[column]) for number, row in table.complete_rows if not is_missing(row[column])]
    not_numbers = [(number, label) for number, label in labels if number_of(label) is None]
    if not_numbers and 2 * len(not_numbers) >= len(labels):
        number, label = not_numbers[0]
        raise InputError(
            f"{quoted(label)} in {table.at(number)}, {table.describe_column(column)}, is no number, as {needed}; name "
            "another column, or choose another task."
        )
