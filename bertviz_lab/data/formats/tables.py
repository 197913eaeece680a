"""Tables (.csv, .tsv and the like) and lines that begin with a label: files to rows of cells, rows to examples."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from bertviz_lab.data.corpora.formats.tables import LONGEST_LINE, Dialect, guess_dialect
from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.examples import FileInfo, LabelledText
from bertviz_lab.data.formats.columns import Columns
from bertviz_lab.data.formats.label_sets import LabelCells
from bertviz_lab.data.formats.labels import is_missing, list_of_labels, number_of
from bertviz_lab.data.formats.raw import (
    MAX_COLUMNS,
    DropReport,
    RawTable,
    ReadOptions,
    pluralized,
    preview,
    row_location,
)
from bertviz_lab.data.formats.text_files import TextFile
from bertviz_lab.errors import InputError

#: Delimiters that are tried.
DELIMITERS = (",", "\t", ";", "|")
#: Delimiters of several characters, which become a tab.
LONG_DELIMITERS = ("|||", "::", "\t\t", "||", "~~")
_TOTALS = ("total", "totals", "sum", "gesamt", "summe", "grand total")
#: Before each label in fastText's files.
FASTTEXT_PREFIX = "__label__"
#: With a larger fraction of rows of another width, the delimiter or the quoting was inferred wrongly.
_MAX_UNEVEN = 0.5


def read_table(file: TextFile, options: ReadOptions, report: DropReport) -> RawTable:
    """The rows of a table.

    Raises:
        InputError: it cannot be parsed, has one column, or has more rows than may be read.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))  # the process's limit: raise it only
    sample = file.sample_with_quotes()
    said = re.fullmatch(r'"?sep=(.)"?\s*', sample[0], re.IGNORECASE) if sample else None  # a line of Excel's
    if said and not options.delimiter:
        options = replace(options, delimiter=said[1])
    long = "" if options.delimiter else next((d for d in LONG_DELIMITERS if _divides(sample, d)), "")
    sample = [line.replace(long, "\t") for line in sample[bool(said) :]] if long else sample[bool(said) :]
    dialect = Dialect("\t", False) if long else _dialect(file.name, sample, options)
    # Without quoting a carriage return inside a line is a character of its cell; with quoting, `csv` decides.
    universal_newlines = dialect.quoting or not any(line.endswith("\n") for line in sample)
    rows: list[list[str]] = []
    numbers: list[int] = []
    number = 0
    with file.lines("" if universal_newlines else "\n") as lines:
        try:
            if said:
                next(lines)
            whole = (line.replace(long, "\t") for line in lines) if long else lines
            for number, row in enumerate(dialect.rows(whole), 1 + bool(said)):
                if any(row):
                    if len(row) > MAX_COLUMNS:
                        location = row_location(file.name, "row", number)
                        raise InputError(
                            f"{location} has more than {MAX_COLUMNS:,} cells; give a table with fewer columns."
                        )
                    rows.append(row)
                    numbers.append(number)
                    options.check_count(len(rows) - 1, file.name)  # one may be the header
        except csv.Error as error:
            raise InputError(
                f"{row_location(file.name, 'row', number + 1)} cannot be read ({error}); check the quotation marks "
                "there, or say that the table has no quoting."
            ) from None
    file.note_losses(report)
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
    shown = (long or dialect.delimiter) if width > 1 else ""
    info = FileInfo(file.name, "table", file.encoding, shown, quoting=dialect.quoting)
    table = RawTable(info, "row", rows, numbers, width, delimiter=long or dialect.delimiter)
    _leave_out_titles(table, report)
    _leave_out_empty_columns(table, report)
    return table


def has_long_delimiter(lines: Sequence[str]) -> bool:
    """Return whether a delimiter of several characters divides the lines."""
    return any(_divides(lines, delimiter) for delimiter in LONG_DELIMITERS)


def _divides(lines: Sequence[str], delimiter: str) -> bool:
    """Return whether nearly all lines hold a long delimiter, and equally often."""
    counts = Counter(line.count(delimiter) for line in lines if line.strip())
    (most, times), *_ = counts.most_common(1) or [(0, 0)]
    tidy = delimiter != "\t\t" or not any("\t" in line.replace(delimiter, "") for line in lines)
    return most > 0 and times > 0.9 * counts.total() > 1 and tidy


def _leave_out_titles(table: RawTable, report: DropReport) -> None:
    """Leave out a title above the header, which has one cell with text, and a row of totals at the end."""
    if table.width < 2 or len(table.rows) < 4:
        return
    titles = 0
    while (
        titles < 3
        and sum(map(bool, map(str.strip, table.rows[titles]))) == 1
        and len(table.rows[titles]) <= table.width
    ):
        titles += 1
    if titles and all(cell.strip() for cell in table.rows[titles]):
        for number in table.numbers[:titles]:
            report.repair("title above the header was left out", "titles above the header were left out",
                          table.file_name, table.unit, number)  # fmt: skip
        table.rows, table.numbers = table.rows[titles:], table.numbers[titles:]
    if table.rows[-1][0].strip().lower().rstrip(":") in _TOTALS and table.rows[-2][0].strip().lower() not in _TOTALS:
        report.repair("row of totals was left out", "rows of totals were left out",
                      table.file_name, table.unit, table.numbers[-1])  # fmt: skip
        table.rows, table.numbers = table.rows[:-1], table.numbers[:-1]


def _leave_out_empty_columns(table: RawTable, report: DropReport) -> None:
    """Leave out columns without a name in which hardly a row has anything, as spreadsheets write them."""
    if not table.rows or all(map(str.strip, table.rows[0])):
        return
    complete = [row for row in table.rows if len(row) == table.width]
    empty = [
        column
        for column in range(1, table.width)
        if complete
        and not complete[0][column].strip()
        and sum(bool(row[column].strip()) for row in complete) <= 0.02 * len(complete)
    ]
    if not empty or table.width - len(empty) < 2:
        return
    kept = [column for column in range(table.width) if column not in empty]
    columns = pluralized(len(empty), "empty column", "empty columns")
    report.note(f"{columns} of {quoted(table.file_name)} {'was' if len(empty) == 1 else 'were'} left out.")
    table.rows = [[row[c] for c in kept] if len(row) == table.width else row for row in table.rows]
    table.width = len(kept)


def _dialect(name: str, sample: list[str], options: ReadOptions) -> Dialect:
    filled = [line for line in sample if line.strip()]
    tabs = sum("\t" in line for line in filled) > 0.9 * len(filled) and not name.lower().endswith(".csv")
    likeliest = "\t" if tabs or name.lower().endswith((".tsv", ".tab")) else ","
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
    """Lines of a label and a text: "0 How far is it?", "__label__spam You have won"; of several such labels too.

    Raises:
        InputError: there are more lines than may be read.
    """
    rows: list[list[str]] = []
    numbers: list[int] = []
    with file.lines("\n") as lines:
        for number, line in enumerate(lines, 1):
            label, text = [*line.rstrip("\r\n").split(None, 1), "", ""][:2]
            labels = [label.removeprefix(FASTTEXT_PREFIX)]
            while label.startswith(FASTTEXT_PREFIX) and text.startswith(FASTTEXT_PREFIX):
                following, text = [*text.split(None, 1), ""][:2]
                labels.append(following.removeprefix(FASTTEXT_PREFIX))
            if label:
                rows.append(["\n".join(labels), text])
                numbers.append(number)
                options.check_count(len(rows), file.name)
    file.note_losses(report)
    info = FileInfo(file.name, "label-text", file.encoding, " ")
    return RawTable(info, "line", rows, numbers, 2, names=["label", "text"])


def file_info(table: RawTable, columns: Columns) -> FileInfo:
    """How a table was read, with its columns."""
    names = table.column_names
    return replace(
        table.info,
        header=table.names is not None and table.info.format == "table",
        columns=names,
        text_a=names[columns.text_a],
        text_b="" if columns.text_b is None else names[columns.text_b],
        label=names[columns.label],
        rows=preview(table.rows),
    )


def label_counts(tables: Iterable[tuple[RawTable, Columns]]) -> Counter[str]:
    """How often each value occurs in the label columns, as it is written, over the rows of the usual width."""
    return Counter(row[columns.label] for table, columns in tables for row in table.rows if len(row) == table.width)


def split_lists(table: RawTable, columns: Columns) -> int:
    """Put the labels of cells that are written as lists a line each, as the lists of records are; how many there are.

    Rows of another width are left as they are.
    """
    lists = 0
    for row in table.rows:
        if len(row) == table.width and (labels := list_of_labels(row[columns.label])) is not None:
            row[columns.label] = "\n".join(labels)
            lists += 1
    return lists


def labelled_texts(table: RawTable, columns: Columns, cells: LabelCells, report: DropReport) -> list[LabelledText]:
    """The examples of a table, in order; every row gives one or is counted in the report with its reason.

    Args:
        table: its rows, after `split_header`.
        columns: those to use.
        cells: how the label column is read.
        report: counts the rows that are dropped.

    Raises:
        InputError: most rows have another width.
    """
    text_a, text_b, label = columns.text_a, columns.text_b, columns.label
    label_column, first_column = table.describe_column(label), table.describe_column(text_a)
    second_column = "" if text_b is None else table.describe_column(text_b)
    no_majority = "-" if table.column_names[label].lower() == "gold_label" else None  # in SNLI and MultiNLI
    needed = max(text_a, text_b or 0, label)
    rows = list(even_rows(table, text_a, text_b, needed, lambda row: cells.is_known(row[label]), report))
    uneven = len(table.rows) - len(rows)
    if uneven > _MAX_UNEVEN * len(table.rows):
        raise InputError(
            f"{uneven:,} of {len(table.rows):,} rows of {quoted(table.file_name)} do not have {table.width} cells as "
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
            examples.append(LabelledText(first, second, target, number))
        if reason:
            report.drop(reason, table.file_name, table.unit, number)
    return examples


def even_rows(
    table: RawTable,
    text_a: int,
    text_b: int | None,
    last_needed: int,
    fits: Callable[[list[str]], bool],
    report: DropReport,
) -> Iterator[tuple[int, list[str]]]:
    """The rows with their numbers; one of another width is repaired if it fits then, else dropped with its reason.

    Args:
        table: its rows, after `split_header`.
        text_a, text_b: the columns of the texts.
        last_needed: the last column that is needed.
        fits: whether the labels of a row stand where those of the others do.
        report: counts the rows that are repaired or dropped.
    """
    name = quoted(table.file_name)
    for number, row in zip(table.numbers, table.rows, strict=True):
        if len(row) == table.width:
            yield number, row
            continue
        repairs = _repairs(row, table, text_a, text_b, last_needed)
        repaired, which = next(((repaired, which) for repaired, which in repairs if fits(repaired)), (None, ""))
        if repaired is None:
            reason = f"it has {pluralized(len(row), 'cell', 'cells')}, and most rows have {table.width}"
            report.drop(reason, table.file_name, table.unit, number)
        else:
            rows = f"row of {name} has {which}", f"rows of {name} have {which}"
            report.repair(*rows, table.file_name, table.unit, number)
            yield number, repaired


def _repairs(
    row: list[str], table: RawTable, text_a: int, text_b: int | None, last_needed: int
) -> Iterator[tuple[list[str], str]]:
    """What a row of another width may be meant to be, the likeliest first, each with what is wrong with the row.

    A short row may lack cells that are not needed. The text of a long one may contain the delimiter; or its last cells
    are surplus.
    """
    surplus = len(row) - table.width
    if surplus < 0:
        if last_needed < len(row):
            yield row, "fewer cells than the others, but those that are needed"
        return
    if text_b is None and table.delimiter:
        end = text_a + surplus + 1
        joined = [*row[:text_a], table.delimiter.join(row[text_a:end]), *row[end:]]
        yield joined, "more cells than the others; those over were taken for text"
    yield row[: table.width], "more cells than the others; those over were left out"


def check_numbers(table: RawTable, columns: Columns, needed: str = "regression needs") -> None:
    """Raises `InputError`, naming the first, where half the labels or more are not numbers; `needed` says for what."""
    rows = [
        (n, row[columns.label]) for n, row in zip(table.numbers, table.rows, strict=True) if len(row) == table.width
    ]
    labels = [(number, label) for number, label in rows if not is_missing(label)]
    not_numbers = [(number, label) for number, label in labels if number_of(label) is None]
    if not_numbers and 2 * len(not_numbers) >= len(labels):
        number, label = not_numbers[0]
        raise InputError(
            f"{quoted(label)} in {row_location(table.file_name, table.unit, number)}, "
            f"{table.describe_column(columns.label)}, is no number, as {needed}; name another column, or choose "
            "another task."
        )
