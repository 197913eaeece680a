"""One word and its label a line, a blank line between sentences: CoNLL columns and CoNLL-U; and such words in tables.

`word_and_label_columns` says which columns are the word and the label, unless they are given. Sources: the shared
tasks of CoNLL-2003 (columns, `-DOCSTART-`) and Universal Dependencies (CoNLL-U: ten columns; ranges such as 1-2 and
empty nodes such as 1.1 are not words of their own).
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice, pairwise

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.examples import FileInfo, LabelledWords
from bertviz_lab.data.formats.raw import DropReport, RawSentences, RawTable, ReadOptions, TextFile
from bertviz_lab.data.formats.words.span_labels import OUTSIDE, canonical_labels, mark_spans, span_parts
from bertviz_lab.errors import InputError

_DOCUMENT_START = "-DOCSTART-"
_CONLLU_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_MOST_OF_ONE = 100  # words of a file's only sentence
_WORDLESS = "line<s> without a word <was|were> left out"


def looks_like_conll(lines: Sequence[str], plain: bool = True) -> bool:
    """Are there blank lines between blocks, and in nearly all other lines as many columns, of one word each?

    Unless `plain` labels will do, one column has to mark spans.
    """
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    token_lines = _token_lines(lines)
    blank_lines = sum(not line.strip() for line in lines)
    if not token_lines or blank_lines == 0 or blank_lines > len(token_lines):
        return False
    delimiter = _find_delimiter(token_lines)
    rows = [_cells(line, delimiter) for line in token_lines]
    width, count = Counter(map(len, rows)).most_common(1)[0]
    if width < 2 or count < 0.9 * len(rows):
        return False
    rows = [row for row in rows if len(row) == width]
    word_column, label_column = word_and_label_columns(rows)
    words, labels = [row[word_column] for row in rows], [row[label_column].strip() for row in rows]
    if any(" " in label for label in labels):
        return False
    is_label_set = plain and len(set(labels)) <= max(3, len(labels) // 3) and delimiter not in tuple(",;")
    return (is_label_set or mark_spans(labels)) and sum(" " in word.strip() for word in words) < 0.1 * len(words)


def read_conll(file: TextFile, options: ReadOptions, report: DropReport, format_name: str) -> RawSentences:
    """Return sentences in columns, or in CoNLL-U for the format "conllu", where the label is `upos` unless another is
    given.

    Sentences with a line of another width, or with a word without a label, are dropped. Raises `InputError` where there
    is only one column, a given one is missing, too many sentences are malformed, or nothing divides them.
    """
    is_conllu = format_name == "conllu"
    sample = _token_lines(file.sample())
    delimiter = "\t" if is_conllu else options.delimiter.strip(" ") or _find_delimiter(sample)
    sample_rows = [_cells(line, delimiter) for line in sample]
    width = Counter(map(len, sample_rows)).most_common(1)[0][0] if sample_rows else 1
    if width < 2:
        raise InputError(
            f"{quoted(file.name)} has one column only; give a word and its label a line, with a tab or a blank between."
        )
    columns = _CONLLU_COLUMNS if is_conllu else tuple(str(n) for n in range(1, width + 1))
    even = [row for row in sample_rows if len(row) == len(columns)]
    likely = (1, 3) if is_conllu else word_and_label_columns(even)
    raw = RawSentences(FileInfo(file.name, format_name, file.encoding, delimiter or " ", columns=columns), "line")
    word, label = raw.column(options.text_a or columns[likely[0]]), raw.column(options.label or columns[likely[1]])
    if not is_conllu and (rival := _rival_column(even, word, label)) is not None:
        taken = f"Column {columns[label]} of {quoted(file.name)} was taken for the label"
        report.doubt(
            f"{taken}, but column {columns[rival]} marks such spans too: name the label with --label.", "label"
        )
    labels, header = {row[label] for row in even}, _header(sample_rows, word, label)
    columns = tuple(header or columns)
    raw.info = replace(raw.info, columns=columns, header=bool(header), text_a=columns[word], label=columns[label])
    if prefix := _common_prefix([row[word] for row in sample_rows if len(row) == len(columns)]):
        report.note(f"{quoted(prefix)} before each word of {quoted(file.name)} was left out.")
    missing = {"", "_"} if is_conllu else {""}

    def is_comment(line: str) -> bool:
        """Return whether a line with # is a comment, not a word "#" whose label other words have too."""
        cells = _cells(line, delimiter)
        return len(cells) != len(columns) or cells[label] not in labels

    malformed, first_malformed = 0, ""
    for block in _blocks(file, is_comment, report):
        rows = [(number, cells) for number, line in block if (cells := _cells(line, delimiter)) != header]
        uneven = next(((number, len(row)) for number, row in rows if len(row) != len(columns)), None)
        if uneven:
            number, width = uneven
            report.drop(f"its sentence has a line of {width} columns, not {len(columns)}", raw, number)
            malformed += 1
            first_malformed = first_malformed or f"{raw.at(number)} has {width}"
            continue
        if is_conllu:
            rows = [(number, row) for number, row in rows if row[0].isdigit()]  # neither ranges nor empty nodes
        for number, row in rows:
            if not row[word]:
                report.repair(_WORDLESS, raw, number)
        rows = [(number, row) for number, row in rows if row[word]]
        unlabelled = next((number for number, row in rows if row[label] in missing), None)
        if unlabelled:
            report.drop("its sentence has a word without a label", raw, unlabelled)
        elif rows:
            words = tuple(row[word].removeprefix(prefix) for _, row in rows)
            labels_of_words = _without_brackets([row[label] for _, row in rows])
            raw.sentences.append(LabelledWords(words, labels_of_words, rows[0][0]))
            options.check_count(len(raw.sentences), file.name)
    if malformed > 0.2 * (malformed + len(raw.sentences)):
        raise InputError(
            f"{malformed:,} of {malformed + len(raw.sentences):,} sentences of {quoted(file.name)} have a line that "
            f"is not {len(columns)} columns (first: {first_malformed}); correct them, or give the delimiter."
        )
    if len(raw.sentences) == 1 and len(raw.sentences[0].words) > _MOST_OF_ONE:
        raise InputError(f"No blank line says where the sentences of {quoted(file.name)} end: put one between them.")
    return raw


def tagged_delimiter(lines: Sequence[str]) -> str:
    """Return what stands between words and their tags in lines such as "The/DT dog/NN"; "" for other lines."""
    tokens = [token for line in lines for token in line.split()]
    if len(tokens) < 2 * sum(map(bool, map(str.strip, lines))):  # a word a line: nothing says where sentences end
        return ""
    for delimiter in "|/":
        tags = [token.rsplit(delimiter, 1)[1] for token in tokens if delimiter in token[1:-1]]
        if len(tags) > 0.99 * len(tokens) > 9 and len(set(tags)) <= max(3, len(tags) // 3):
            return delimiter
    return ""


def read_tagged_lines(file: TextFile, options: ReadOptions, report: DropReport) -> RawSentences:
    """Read sentences a line, each word with its tag: "The/DT dog/NN", or "Ana|NN|I-PER ran|VB|O" as in WikiNER."""
    delimiter = tagged_delimiter(file.sample())
    raw = RawSentences(FileInfo(file.name, "tagged", file.encoding, delimiter, text_a="1", label="2"), "line")
    with file.lines("\n", report) as lines:
        for number, line in enumerate(lines, 1):
            if tokens := line.split():
                words = [token.split("|")[0] if delimiter == "|" else token.rsplit("/", 1)[0] for token in tokens]
                raw.add(words, [token.rsplit(delimiter, 1)[-1] for token in tokens], number, report)
                options.check_count(len(raw.sentences), file.name)
    return raw


def word_and_label_columns(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the column of the words and that of the labels, by what the columns of token lines hold.

    Columns that number the words or name the document come before the words. The labels are in the last column with
    spans; in the one before it where the last marks spans inside those (GermEval); in the eleventh where that has
    brackets (CoNLL-2012); else in the last column.
    """
    columns = [[cell.strip() for cell in column] for column in zip(*rows, strict=True)]
    width = len(columns)
    spans = [n for n in range(width) if mark_spans(columns[n])]
    word = next((n for n in range(width) if n not in spans and not _is_reference(columns[n])), 0)
    spans = [n for n in spans if n > word] or spans
    if not spans:
        brackets = (
            width > 10 and any("(" in cell for cell in columns[10]) and all(map(_BRACKETS.fullmatch, columns[10]))
        )
        return min(word, width - 2), 10 if brackets else width - 1
    label, types = spans[-1], [{name[1:] for name in canonical_labels(columns[n])} - {""} for n in spans]
    if len(spans) > 1 and spans[-2] == label - 1 and types[-1] <= types[-2]:
        label = max(spans[-2:], key=lambda n: (sum(name != OUTSIDE for name in columns[n]), -n))
    return word, label


def _rival_column(rows: Sequence[Sequence[str]], word: int, label: int) -> int | None:
    """Return another column that marks spans, half as many at least and some of the same types, but not the same."""
    columns = [canonical_labels(cell.strip() for cell in column) for column in zip(*rows, strict=True)]
    types = [[name[1:] for name in column if name != OUTSIDE] for column in columns]
    others = [n for n in range(len(columns)) if n not in (word, label) and columns[n] != columns[label]]
    shared = [n for n in others if 2 * len(types[n]) >= len(types[label]) and {*types[n]} & {*types[label]}]
    return next((n for n in shared if mark_spans(columns[n])), None)


def _header(rows: Sequence[Sequence[str]], word: int, label: int) -> list[str] | None:
    """Return the first row where it names the columns: its label occurs nowhere else and is the name of one."""
    first = list(rows[0]) if rows else []
    if len(first) <= max(word, label) or any(row[label:][:1] == [first[label]] for row in rows[1:]):
        return None
    names = {cell.lower() for cell in first}
    marks = mark_spans(row[label] for row in rows[1:] if len(row) > label)
    is_name = marks and re.fullmatch(r"[^\W\d_][\w -]{2,}", first[label]) and not span_parts(first[label])
    return first if is_name or (names & {*_WORDS} and first[label].lower() in _TAGS) else None


def _common_prefix(words: Sequence[str]) -> str:
    """Return the language that stands before all words, as "en:" in WikiANN."""
    match = re.match(r"[a-z]{2,3}:(?=.)", words[0]) if len(words) > 3 else None
    return match[0] if match and all(word.startswith(match[0]) for word in words) else ""


_BRACKETS = re.compile(r"\*\)?|\([A-Z_]+\*?\)?")


def _without_brackets(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels such as `(ORG* * *)` of CoNLL-2012 in the BIO scheme, and others as they are."""
    if not all(map(_BRACKETS.fullmatch, labels)):
        return tuple(labels)
    bio, inside = [], ""
    for label in labels:
        name = label.strip("(*)")
        bio.append(f"B-{name}" if name else f"I-{inside}" if inside else OUTSIDE)
        inside = "" if label.endswith(")") else name or inside
    return tuple(bio)


def _is_reference(cells: Sequence[str]) -> bool:
    """Return whether a column numbers the words, or names a document or part: no words of a text."""
    if all(re.fullmatch(r"\d+([-.]\d+)?", cell) for cell in cells):
        return True
    runs = 1 + sum(a != b for a, b in pairwise(cells))
    return len(cells) >= 8 and (runs <= len(cells) // 4 or all(re.search(r"[/_\d]", cell) for cell in cells))


def _token_lines(lines: Sequence[str]) -> list[str]:
    return [line.rstrip("\r\n") for line in lines if line.strip() and not line.startswith(("#", _DOCUMENT_START))]


def _find_delimiter(lines: Sequence[str]) -> str:
    """Return a tab, a comma or semicolon in lines without blanks, or "" for white space of any kind."""
    filled = [line.rstrip() for line in lines if line.strip()]
    if sum("\t" in line for line in filled) > 0.9 * len(filled):
        return "\t"
    spaced = any(" " in line or "\t" in line for line in filled)
    return next((d for d in ",;" if not spaced and sum(d in line for line in filled) > 0.9 * len(filled)), "")


def _blocks(file: TextFile, is_comment: Callable[[str], bool], report: DropReport) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines between blank lines, with their numbers and without comments."""
    with file.lines("\n", report) as lines:
        numbered = enumerate(lines, 1)
        for is_border, run in groupby(numbered, lambda each: each[1].isspace() or each[1].startswith(_DOCUMENT_START)):
            block = [(number, line) for number, line in run if not (line[0] == "#" and is_comment(line))]
            if block and not is_border:
                yield block


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter in (",", ";"):
        return next(csv.reader([line], delimiter=delimiter))
    if not delimiter:
        return re.split(r"[ \t]+", line.strip(" \t\r\n"))  # other blanks may be part of a word
    return [cell.strip(" \r\n") for cell in line.rstrip("\r\n").split(delimiter)]


_WORDS = ("word", "words", "token", "tokens", "form", "text", "sentence")
_TAGS = ("tag", "tags", "ner", "ner_tag", "ner_tags", "label", "labels", "word_labels", "iob", "bio", "entity", "pos")
_SENTENCES = ("sentence #", "sentence_id", "sentence_idx", "sent_id", "sentence", "sent", "sentence id",
              "sentence_number")  # fmt: skip


def sentences_of_table(table: RawTable, options: ReadOptions, report: DropReport) -> RawSentences | None:
    """Return the labeled words of a table; None where no labels mark spans, unless the task is given as tokens.

    Raises `InputError` for a word a row where nothing says where sentences end.
    """
    names = [name.lower() for name in table.column_names]
    sample = [row for _, row in islice(table.complete_rows, 500)]
    marking = [n for n in range(table.width) if _cells_mark_spans([row[n] for row in sample])]
    may_be = [name if options.task == "tokens" or n in marking else "" for n, name in enumerate(names)]
    tag = table.column(options.label) if options.label else _first_of(_TAGS, may_be)
    tag = marking[-1] if tag is None and marking else tag
    if tag is None or not sample or (tag not in marking and options.task != "tokens"):
        return None
    if table.names is None and not _cells_mark_spans([sample[0][tag]]) and set(_split(sample[0][tag])) != {OUTSIDE}:
        table.names = table.rows[0]
        table.leave_out([0])
        sample = sample[1:]
    counts = [len(_split(row[tag])) for row in sample]
    is_word = max(counts) == 1
    word = table.column(options.text_a) if options.text_a else _first_of(_WORDS, [*names[:tag], "", *names[tag + 1 :]])
    if word is None and is_word:
        word = word_and_label_columns(sample)[0]
    elif word is None:
        alike = ([len(_split(row[n])) for row in sample] == counts if n != tag else False for n in range(table.width))
        word = next((n for n, same in enumerate(alike) if same), None)
    if word is None or word == tag:
        return None
    number = _first_of(_SENTENCES, [name if n != word else "" for n, name in enumerate(names)])
    if is_word and number is None:
        if tag not in marking:
            return None
        raise InputError(
            f"{quoted(table.name)} has a word and its label a row, and nothing says where sentences end; add a column "
            '"sentence_id", or blank lines between sentences.'
        )
    raw = RawSentences(table.info_with_columns(word, None, tag), table.unit)
    sentences: list[tuple[int, list[str], list[str]]] = []
    current = ""
    for row_number, row in table.complete_rows:
        if not is_word or number is None:
            sentences.append((row_number, _split(row[word]), _split(row[tag])))
            continue
        begins = row[number].strip() and row[number] != current  # it may be numbered in its first row only
        if begins or not sentences:
            current = row[number] if begins else ""
            sentences.append((row_number, [], []))
        for part, column in zip(sentences[-1][1:], (word, tag), strict=True):
            part.append(row[column].strip())
    for first, words, labels in sentences:
        raw.add(words, labels, first, report)
    return raw if raw.sentences else None


def _cells_mark_spans(cells: Sequence[str]) -> bool:
    """Return whether the parts of cells mark spans; a few may be misspelled."""
    some = [part for cell in cells[:20] for part in _split(cell)]
    if 2 * sum(part in ("O", "o", "0") or span_parts(part) is not None for part in some) < len(some):
        return False
    return mark_spans(part for cell in cells for part in _split(cell))


def _first_of(usual: Sequence[str], names: Sequence[str]) -> int | None:
    return next((names.index(name) for name in usual if name in names), None)


def _split(cell: str) -> list[str]:
    """Return the parts of a cell: between blanks, or of a list in brackets, or between commas."""
    inner = cell.strip()
    if inner[:1] == "[" and inner[-1:] == "]":
        return [part.strip(" '\"\n") for part in inner[1:-1].replace("' '", "','").split(",")]
    return inner.split("," if "," in inner and " " not in inner else None)
