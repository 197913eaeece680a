"""Tables of text (.csv, .tsv and their like) and lines that begin with a label, as rows of cells."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.formats.tables import LONGEST_LINE, Dialect, guess_dialect
from bertviz_lab.data.tasks.examples import Reading
from bertviz_lab.data.tasks.reading.drop_report import Ledger, place
from bertviz_lab.data.tasks.reading.file_formats import FASTTEXT
from bertviz_lab.data.tasks.reading.raw_rows import Sheet
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
