"""A word and its label a line, a blank line between sentences: CoNLL columns and CoNLL-U.

The word is the first column and the label the last, unless they are named by number. Sources: the shared tasks of
CoNLL-2003 (columns, `-DOCSTART-`) and Universal Dependencies (CoNLL-U: ten columns; ranges such as 1-2 and empty
nodes such as 1.1 are no words of their own).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.tasks.examples import Reading
from bertviz_lab.data.tasks.reading.load_files import columns_delimiter
from bertviz_lab.data.tasks.reading.raw_data import Ledger, Repairs, Sentences, listed, place, preview
from bertviz_lab.data.tasks.reading.read_options import Wishes
from bertviz_lab.data.tasks.reading.tables import too_many
from bertviz_lab.data.tasks.reading.text_file import TextFile
from bertviz_lab.errors import InputError

CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
#: Of the sentences, a file may have this share with lines that are no word and label; with more it is no such file.
_BROKEN = 0.2
Row = tuple[int, list[str]]


def read_conll(file: TextFile, wishes: Wishes, ledger: Ledger) -> Sentences:
    """Sentences of words in columns; those with a line that has not its columns are dropped.

    Raises:
        InputError: there is one column only, a column is named that is not there, or too many lines are broken.
    """
    sample = file.sample()
    delimiter = wishes.delimiter.strip(" ") or columns_delimiter(sample)
    rows = [_cells(line, delimiter) for line in sample if line.strip() and not line.startswith(("#", "-DOCSTART-"))]
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
    if width < 2:
        raise InputError(
            f"{quoted(file.name)} has one column only; give a word and its label a line, with a tab or a blank between."
        )
    columns = tuple(str(n) for n in range(1, width + 1))
    word = _column(wishes.text_a, columns, 0, file.name)
    label = _column(wishes.label, columns, width - 1, file.name)
    tags = {row[label] for row in rows if len(row) == width}
    reading = Reading(
        file.name, "conll", file.encoding, delimiter or " ", columns=columns,
        text_a=columns[word], label=columns[label], rows=preview(rows),
    )  # fmt: skip
    part, broken, first = Sentences(reading, "line"), 0, ""
    wordless = Repairs(file.name, "line")
    for block in _blocks(file, lambda line: _is_comment(line, delimiter, width, label, tags)):
        cells = [(number, _cells(line, delimiter)) for number, line in block]
        wrong = next(((number, row) for number, row in cells if len(row) != width), None)
        if wrong:
            number, row = wrong
            broken += 1
            first = first or f"{place(file.name, 'line', number)} has {len(row)}"
            ledger.drop(f"its sentence has a line of {len(row)} columns, not {width}", file.name, "line", number)
            continue
        _add(part, cells, word, label, wordless, ledger)
        if len(part.words) > wishes.max_examples:
            raise too_many(file.name, wishes)
    if broken > _BROKEN * (broken + len(part.words)):
        raise InputError(
            f"{broken:,} of {broken + len(part.words):,} sentences of {quoted(file.name)} have a line that is not "
            f"{width} columns (first: {first}); correct them, or give the delimiter."
        )
    wordless.tell(ledger, "line without a word was left out", "lines without a word were left out")
    file.tell(ledger)
    return part


def read_conllu(file: TextFile, wishes: Wishes, ledger: Ledger) -> Sentences:
    """Sentences of CoNLL-U with the universal part of speech, or what `wishes.label` names ("xpos", "deprel", "5")."""
    label = _column(wishes.label.lower(), CONLLU_COLUMNS, CONLLU_COLUMNS.index("upos"), file.name)
    word = _column(wishes.text_a.lower(), CONLLU_COLUMNS, CONLLU_COLUMNS.index("form"), file.name)
    reading = Reading(
        file.name, "conllu", file.encoding, "\t", columns=CONLLU_COLUMNS,
        text_a=CONLLU_COLUMNS[word], label=CONLLU_COLUMNS[label],
    )  # fmt: skip
    part = Sentences(reading, "line")
    wordless = Repairs(file.name, "line")
    first: list[list[str]] = []
    for block in _blocks(file, lambda line: line.startswith("#")):
        cells = [(number, line.rstrip("\r\n").split("\t")) for number, line in block]
        first = first or [row for _, row in cells]
        wrong = next(((number, row) for number, row in cells if len(row) != len(CONLLU_COLUMNS)), None)
        if wrong:
            reason = f"its sentence has a line of {len(wrong[1])} columns, not {len(CONLLU_COLUMNS)}"
            ledger.drop(reason, file.name, "line", wrong[0])
            continue
        words = [(number, row) for number, row in cells if "-" not in row[0] and "." not in row[0]]
        if any(row[label] == "_" for _, row in words):
            ledger.drop(f"a word has no {CONLLU_COLUMNS[label]}", file.name, "line", block[0][0])
            continue
        _add(part, words, word, label, wordless, ledger)
        if len(part.words) > wishes.max_examples:
            raise too_many(file.name, wishes)
    wordless.tell(ledger, "line without a word was left out", "lines without a word were left out")
    file.tell(ledger)
    part.reading = replace(reading, rows=preview(first))
    return part


def _blocks(file: TextFile, is_comment: Callable[[str], bool]) -> Iterable[list[tuple[int, str]]]:
    """The lines between blank lines, with their numbers; comments left out."""
    block: list[tuple[int, str]] = []
    with file.lines("\n") as lines:
        for number, line in enumerate(lines, 1):
            if line.isspace() or line.startswith("-DOCSTART-"):
                if block:
                    yield block
                block = []
            elif not (line[0] == "#" and is_comment(line)):
                block.append((number, line))
    if block:
        yield block


def _cells(line: str, delimiter: str) -> list[str]:
    if not delimiter:
        return line.split()
    return [cell.strip() for cell in line.rstrip().split(delimiter)]


def _is_comment(line: str, delimiter: str, width: int, label: int, tags: set[str]) -> bool:
    """A line that begins with # and is no word: "#" may be one, with a label that other words have."""
    cells = _cells(line, delimiter)
    return len(cells) != width or cells[label] not in tags


def _add(part: Sentences, cells: list[Row], word: int, label: int, wordless: Repairs, ledger: Ledger) -> None:
    kept = [(number, row[word], row[label]) for number, row in cells if row[word].strip()]
    if len(kept) < len(cells):
        for number, row in cells:
            if not row[word].strip():
                wordless.add(number)
    if not kept:
        return
    missing = next((number for number, _, tag in kept if not tag), None)
    if missing is not None:
        ledger.drop("its sentence has a word without a label", part.reading.name, "line", missing)
        return
    part.words.append(tuple(text for _, text, _ in kept))
    part.labels.append(tuple(tag for _, _, tag in kept))
    part.rows.append(kept[0][0])


def _column(wanted: str, columns: tuple[str, ...], default: int, name: str) -> int:
    if not wanted:
        return default
    if wanted in columns:
        return columns.index(wanted)
    if wanted.isdigit() and 1 <= int(wanted) <= len(columns):
        return int(wanted) - 1
    raise InputError(f"{quoted(name)} has no column {quoted(wanted)}; it has {listed(list(columns))}.")


PLAIN = "plain"
OUTSIDE = "O"
_BEGIN, _SINGLE, _INSIDE, _LAST = "B", ("S", "U"), ("I", "M"), ("E", "L")
_PREFIXES = frozenset("BIOESLUM")


def scheme_of(sentences: Iterable[Sequence[str]]) -> str:
    """ "IOB1", "BIO", "BIOES", "BILOU", or "plain" for labels that mark no spans."""
    sentences = list(sentences)
    labels = set(chain.from_iterable(sentences))
    marks = labels - {OUTSIDE}
    if not marks or not all(label[0] in _PREFIXES - {OUTSIDE} and label[1:2] in ("-", "") for label in marks):
        return PLAIN
    prefixes = {label[0] for label in marks}
    bare = {label for label in marks if len(label) == 1}
    if not prefixes & {"B", "I"} or (bare and OUTSIDE not in labels):
        return PLAIN  # part-of-speech tags of one letter
    if prefixes & {"L", "U"}:
        return "BILOU"
    if prefixes & {"E", "S", "M"}:
        return "BIOES"
    return "IOB1" if _is_iob1(sentences) else "BIO"


def _is_iob1(sentences: Iterable[Sequence[str]]) -> bool:
    """Spans begin with I-, and B- stands only right behind a word of its type."""
    begins_inside = False
    for labels in sentences:
        before = OUTSIDE
        for label in labels:
            if label != OUTSIDE:
                follows = before != OUTSIDE and before[1:] == label[1:]
                if label[0] == _BEGIN and not follows:
                    return False
                begins_inside = begins_inside or not follows
            before = label
    return begins_inside


def to_bio(labels: Sequence[str], scheme: str) -> tuple[tuple[str, ...], int]:
    """The labels of a sentence as BIO, and how many of them could not follow the one before and begin a span now."""
    if scheme == PLAIN:
        return tuple(labels), 0
    result, repaired = [], 0
    open_type: str | None = None  # of the span that may go on
    for label in labels:
        prefix, kind = label[0], label[1:]  # the kind keeps its hyphen
        if label == OUTSIDE:
            result.append(OUTSIDE)
            open_type = None
            continue
        if prefix == _BEGIN or prefix in _SINGLE or open_type != kind:
            repaired += prefix not in (_BEGIN, *_SINGLE) and scheme != "IOB1"
            result.append(_BEGIN + kind)
        else:
            result.append("I" + kind)
        open_type = None if prefix in _SINGLE + _LAST else kind
    return tuple(result), repaired
