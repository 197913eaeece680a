"""Tables (.csv, .tsv and the like) and lines that begin with a label: files to rows of cells, rows to examples."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.formats.tables import LONGEST_LINE, Dialect, guess_dialect
from bertviz_lab.data.tasks.examples import LabelledText, Reading
from bertviz_lab.data.tasks.reading.columns import Columns, column_names
from bertviz_lab.data.tasks.reading.labels import is_missing, number_of
from bertviz_lab.data.tasks.reading.load_files import FASTTEXT
from bertviz_lab.data.tasks.reading.raw_data import Ledger, Repairs, Sheet, place, preview
from bertviz_lab.data.tasks.reading.read_options import Wishes
from bertviz_lab.data.tasks.reading.text_file import TextFile
from bertviz_lab.errors import InputError

_DELIMITERS = (",", "\t", ";", "|")
#: Labels before a text; only fastText has more than one.
_LABEL, _TEXT = "label", "text"


def read_table(file: TextFile, wishes: Wishes, ledger: Ledger) -> Sheet:
    """The rows of a table.

    Raises:
        InputError: it cannot be parsed, has one column, or has more rows than may be read.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))  # the process's limit: raise it only
    sample = file.sample_with_quotes()
    dialect = _dialect(file.name, sample, wishes)
    # Without quoting a carriage return inside a line is a character of its cell; with it, `csv` knows.
    feeds = dialect.quoting or not any(line.endswith("\n") for line in sample)
    rows: list[list[str]] = []
    numbers: list[int] = []
    number = 0
    with file.lines("" if feeds else "\n") as lines:
        try:
            for number, row in enumerate(dialect.rows(lines), 1):
                if any(row):
                    rows.append(row)
                    numbers.append(number)
                    if len(rows) > wishes.max_examples + 1:
                        raise too_many(file.name, wishes)
        except csv.Error as error:
            raise InputError(
                f"{place(file.name, 'row', number + 1)} cannot be read ({error}); check the quotation marks there, "
                "or say that the table has no quoting."
            ) from None
    file.tell(ledger)
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
    reading = Reading(
        file.name, "table", file.encoding, dialect.delimiter if width > 1 else "", quoting=dialect.quoting
    )
    return Sheet(reading, "row", rows, numbers, width, extend=dialect.delimiter)


def _dialect(name: str, sample: list[str], wishes: Wishes) -> Dialect:
    first = "\t" if name.lower().endswith((".tsv", ".tab")) else ","
    delimiters: Iterable[str] = wishes.delimiter or sorted(_DELIMITERS, key=lambda s: s != first)
    guess = guess_dialect(sample, delimiters)
    if wishes.delimiter and guess.delimiter != wishes.delimiter:  # uneven rows, but somebody knows
        guess = Dialect(wishes.delimiter, any(line.startswith('"') for line in sample))
    if wishes.quoting == "auto":
        return guess
    quoting = wishes.quoting == "yes"
    spaced = quoting and f'{guess.delimiter} "' in "".join(sample)
    return replace(guess, quoting=quoting, spaced=spaced)


def read_label_lines(file: TextFile, wishes: Wishes, ledger: Ledger) -> Sheet:
    """Lines of a label and a text: "0 How far is it?", "__label__spam You have won".

    Raises:
        InputError: there are more lines than may be read.
    """
    rows: list[list[str]] = []
    numbers: list[int] = []
    with file.lines("\n") as lines:
        for number, row in _label_rows(lines, file.name, ledger):
            rows.append(row)
            numbers.append(number)
            if len(rows) > wishes.max_examples:
                raise too_many(file.name, wishes)
    file.tell(ledger)
    reading = Reading(file.name, "label-text", file.encoding, " ")
    return Sheet(reading, "line", rows, numbers, 2, names=[_LABEL, _TEXT])


def _label_rows(lines: Iterator[str], name: str, ledger: Ledger) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if not line.strip():
            continue
        label, *rest = line.split(None, 1)
        text = rest[0] if rest else ""
        if label.startswith(FASTTEXT):
            if text.startswith(FASTTEXT):
                ledger.drop("it has several labels, and the lab learns one", name, "line", number)
                continue
            label = label.removeprefix(FASTTEXT)
        yield number, [label, text]


def too_many(name: str, wishes: Wishes) -> InputError:
    """More examples than may be read."""
    return InputError(
        f"{quoted(name)} holds more than {wishes.max_examples:,} examples; take a part of it, or allow more."
    )


#: With a larger share of uneven rows, the delimiter or the quoting is not what was taken for it.
_UNEVEN = 0.5


def reading_of(sheet: Sheet, columns: Columns) -> Reading:
    """How the sheet was read, complete."""
    names = column_names(sheet)
    return replace(
        sheet.reading,
        header=sheet.names is not None and sheet.reading.format == "table",
        columns=names,
        text_a=names[columns.text_a],
        text_b="" if columns.text_b is None else names[columns.text_b],
        label=names[columns.label],
        rows=preview(sheet.rows),
    )


def label_counts(sheet: Sheet, columns: Columns) -> Counter[str]:
    """How often each value stands in the column of the label, as it is written, over the even rows."""
    column = columns.label
    return Counter(row[column] for row in sheet.rows if len(row) == sheet.width)


def texts_of(sheet: Sheet, columns: Columns, classes: Mapping[str, str] | None, ledger: Ledger) -> list[LabelledText]:
    """The examples of a sheet, in order.

    Args:
        sheet: its rows, header aside.
        columns: those to use.
        classes: the class that each value of the label's column names; None takes labels for numbers.
        ledger: hears which rows are dropped, and why.

    Raises:
        InputError: most rows are uneven, or most labels are no numbers where numbers are wanted.
    """
    text_a, text_b, label = columns.text_a, columns.text_b, columns.label
    where_label, where_a = sheet.labels_of(label), sheet.labels_of(text_a)
    where_b = "" if text_b is None else sheet.labels_of(text_b)
    unlabelled = "-" if column_names(sheet)[label].lower() == "gold_label" else ""  # people did not agree
    longer, shorter = Repairs(sheet.name, sheet.unit), Repairs(sheet.name, sheet.unit)
    examples: list[LabelledText] = []
    broken = 0
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        if len(row) != sheet.width:
            mended = _mended(row, sheet, columns, classes)
            if mended is None:
                broken += 1
                ledger.drop(_uneven(len(row), sheet.width), sheet.name, sheet.unit, number)
                continue
            (longer if len(row) > sheet.width else shorter).add(number)
            row = mended
        first, second, value = row[text_a], None if text_b is None else row[text_b], row[label]
        if is_missing(value) or value == unlabelled:
            ledger.drop(f"the label is missing ({where_label})", sheet.name, sheet.unit, number)
        elif not first.strip():
            ledger.drop(f"the text is empty ({where_a})", sheet.name, sheet.unit, number)
        elif second is not None and not second.strip():
            ledger.drop(f"the second text is empty ({where_b})", sheet.name, sheet.unit, number)
        elif "\n" in value:
            ledger.drop(
                f"it has several labels, and the lab learns one ({where_label})", sheet.name, sheet.unit, number
            )
        elif classes is not None:
            examples.append(LabelledText(first, second, classes.get(value) or value.strip(), number))
        elif (amount := number_of(value)) is not None:
            examples.append(LabelledText(first, second, amount, number))
        else:
            ledger.drop(f"the label is no finite number ({where_label})", sheet.name, sheet.unit, number)
    if broken > _UNEVEN * len(sheet.rows):
        raise InputError(
            f"{broken:,} of {len(sheet.rows):,} rows of {quoted(sheet.name)} have not {sheet.width} cells as the "
            "others have; say which delimiter it has, and whether quotation marks wrap its cells."
        )
    _tell(longer, shorter, ledger, columns)
    return examples


def check_numbers(sheet: Sheet, columns: Columns) -> None:
    """Raises `InputError`, naming the first, where half the labels or more are no numbers."""
    counts = {label: n for label, n in label_counts(sheet, columns).items() if not is_missing(label)}
    wrong = sum(n for label, n in counts.items() if number_of(label) is None)
    if counts and 2 * wrong >= sum(counts.values()):
        for number, row in zip(sheet.numbers, sheet.rows, strict=True):
            value = row[columns.label] if len(row) == sheet.width else ""
            if not is_missing(value) and number_of(value) is None:
                raise InputError(
                    f"{quoted(value)} in {place(sheet.name, sheet.unit, number)}, {sheet.labels_of(columns.label)}, "
                    "is no number, as regression needs; name another column, or choose classification."
                )


def _uneven(cells: int, width: int) -> str:
    return f"it has {cells} {'cell' if cells == 1 else 'cells'}, and most rows have {width}"


def _mended(row: list[str], sheet: Sheet, columns: Columns, classes: Mapping[str, str] | None) -> list[str] | None:
    """An uneven row as one that can be read; None where it is not clear which cell is which.

    Too short a row will do if all cells that are needed are there. In too long a one the text held the delimiter if a
    label stands where it would stand then; otherwise what is over at the end is left out if a label stands in its
    place.
    """
    over = len(row) - sheet.width
    if over < 0:
        needed = max(columns.text_a, columns.label, columns.text_b or 0)
        return row if needed < len(row) else None
    at = columns.text_a
    if columns.text_b is None and sheet.extend:
        joined = [*row[:at], sheet.extend.join(row[at : at + over + 1]), *row[at + over + 1 :]]
        if _is_label(joined[columns.label], classes):
            return joined
    return row[: sheet.width] if _is_label(row[columns.label], classes) else None


def _is_label(value: str, classes: Mapping[str, str] | None) -> bool:
    if is_missing(value):
        return False
    return number_of(value) is not None if classes is None else value in classes


def _tell(longer: Repairs, shorter: Repairs, ledger: Ledger, columns: Columns) -> None:
    what = "were taken for text" if columns.text_b is None else "were left out"
    longer.tell(
        ledger,
        f"row of {quoted(longer.name)} has more cells than the others; those over {what}",
        f"rows of {quoted(longer.name)} have more cells than the others; those over {what}",
    )
    shorter.tell(
        ledger,
        f"row of {quoted(shorter.name)} has fewer cells than the others, but those that are needed",
        f"rows of {quoted(shorter.name)} have fewer cells than the others, but those that are needed",
    )
