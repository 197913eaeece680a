"""Paths and names to raw data: finds every file, recognises its format and reads it."""

import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.formats.hub import PREFIX as DATASET_PREFIX
from bertviz_lab.data.corpora.formats.hub import DatasetName
from bertviz_lab.data.corpora.formats.tables import guess_dialect
from bertviz_lab.data.corpora.reading_notes import ReadingNotes
from bertviz_lab.data.corpora.sources import (
    Kinds,
    Meter,
    OnProgress,
    Source,
    close_archives,
    find_sources,
    megabytes,
)
from bertviz_lab.data.tasks.reading.conll import PLAIN, read_conll, read_conllu, scheme_of
from bertviz_lab.data.tasks.reading.raw_data import Ledger, Part
from bertviz_lab.data.tasks.reading.read_options import Wishes
from bertviz_lab.data.tasks.reading.records import PARQUET_MAGIC, read_dataset, read_json, read_parquet
from bertviz_lab.data.tasks.reading.tables import read_label_lines, read_table
from bertviz_lab.data.tasks.reading.text_file import open_text
from bertviz_lab.errors import InputError

#: The endings under which labelled examples are found in folders and zips. A file that is named may have any.
ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json", ".parquet",
    ".conll", ".conllu", ".iob", ".iob2", ".bio", ".bioes",
)  # fmt: skip
READABLE = "a .csv, .tsv, .txt, .jsonl, .json, .parquet, .conll or .conllu file, or a .zip of these"
LABELLED = Kinds(dict.fromkeys(ENDINGS, "labelled"), READABLE)


def read_parts(
    paths: Sequence[str | Path] | str | Path, wishes: Wishes, ledger: Ledger, on_progress: OnProgress | None = None
) -> list[Part]:
    """What the files, folders, zips, patterns and data sets hold, in the order given.

    Raises:
        InputError: as `find_sources`, and where a file that is named cannot be read. Files that came with a folder or
            zip are skipped and noted instead, unless nothing is left.
    """
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    notes = ReadingNotes()
    found: list[DatasetName | Source] = []
    sources: list[Source] = []
    try:
        if not given:
            find_sources([], notes, wishes.max_bytes, LABELLED)  # says what to choose
        for entry in given:
            if isinstance(entry, str) and entry.startswith(DATASET_PREFIX):
                found.append(DatasetName.parse(entry))
                continue
            more = find_sources(entry, notes, wishes.max_bytes, LABELLED)
            sources += more
            found += more
        total = sum(source.size for source in sources)
        if total > wishes.max_bytes:
            raise InputError(
                f"The files hold {megabytes(total)} together, more than {megabytes(wishes.max_bytes)}; take fewer."
            )
        meter = Meter(total, wishes.max_bytes, on_progress)
        parts = list(_read_all(found, meter, wishes, ledger, notes))
        if not parts:
            raise InputError(f"None of these files could be read; the first: {notes.skipped[0]}")
        for reason in notes.skipped:
            ledger.note(f"A file was left out: {reason}")
        meter.finish()
        return parts
    finally:
        close_archives(sources)


def _read_all(
    found: list[DatasetName | Source], meter: Meter, wishes: Wishes, ledger: Ledger, notes: ReadingNotes
) -> Iterator[Part]:
    for entry in found:
        if isinstance(entry, DatasetName):
            yield read_dataset(entry, wishes, ledger)
            continue
        try:
            yield _read(entry, meter, wishes, ledger)
        except InputError as error:
            if entry.named:
                raise
            notes.skipped.append(str(error))


def _read(source: Source, meter: Meter, wishes: Wishes, ledger: Ledger) -> Part:
    try:
        return _read_source(source, meter, wishes, ledger)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        if source.archive is None:
            raise
        raise InputError(f"{quoted(source.name)} is damaged inside its zip; make the zip again.") from error
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 5)
        raise InputError(f"{quoted(source.name)} could not be read ({reason}); try again.") from error


def _read_source(source: Source, meter: Meter, wishes: Wishes, ledger: Ledger) -> Part:
    with source.open() as stream:
        if stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC:
            return read_parquet(source, wishes, ledger)
    file = open_text(source, meter, wishes)
    kind = format_of_text(source.name, file.sample(), wishes)
    if kind in ("json", "jsonl"):
        return read_json(file, kind, wishes, ledger)
    if kind == "conllu":
        return read_conllu(file, wishes, ledger)
    if kind == "conll":
        return read_conll(file, wishes, ledger)
    if kind == "label-text":
        return read_label_lines(file, wishes, ledger)
    return read_table(file, wishes, ledger)


FASTTEXT = "__label__"
_CONLL_ENDINGS = (".conll", ".conll03", ".conll2003", ".iob", ".iob2", ".bio", ".bioes", ".ner", ".pos", ".annotated")
_TABLE_ENDINGS = (".csv", ".tsv", ".tab")
_CONLLU_LINE = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]*){9}\s*$")
_FEW_LABELS = 200


def format_of_text(name: str, lines: Sequence[str], wishes: Wishes) -> str:
    """ "table", "label-text", "jsonl", "json", "conll" or "conllu".

    Raises:
        InputError: the lines show no labels.
    """
    filled = [line for line in lines if line.strip()]
    ending = PurePath(name).suffix.lower()
    if not filled:
        raise InputError(f"{quoted(name)} holds only blank lines; choose a file with labelled examples.")
    if ending == ".json" or ending in (".jsonl", ".ndjson"):
        return "json" if ending == ".json" else "jsonl"
    if ending == ".conllu" or _share(bool(_CONLLU_LINE.match(line)) for line in filled if line[0] != "#") > 0.9:
        return "conllu"
    if wishes.task in ("auto", "tokens") and (ending in _CONLL_ENDINGS or _has_words(lines)):
        return "conll"
    if wishes.task == "tokens" and ending not in _TABLE_ENDINGS:
        return "conll"
    if all(line.lstrip().startswith(FASTTEXT) for line in filled) or wishes.delimiter == " ":
        return "label-text"
    if wishes.delimiter or ending in _TABLE_ENDINGS:
        return "table" if wishes.delimiter or not _one_column_with_labels(filled) else "label-text"
    if filled[0].lstrip().startswith(("{", "[")) and '"' in filled[0]:
        return "jsonl" if filled[0].rstrip().endswith("}") else "json"
    if _share("\t" in line for line in filled) > 0.9:
        return "table"
    if _begin_with_labels(filled):
        return "label-text"
    if guess_dialect(filled, (",", "\t", ";", "|")).cells > 1:
        return "table"
    raise InputError(
        f"{quoted(name)} shows no labels: its lines neither begin with one of a few labels nor have columns; "
        "give a table (.csv, .tsv), lines such as “spam You have won”, or a word and its label a line."
    )


def columns_delimiter(lines: Sequence[str]) -> str:
    """Between the columns of words and labels: a tab, or "" for blanks of any kind."""
    return "\t" if _share("\t" in line.rstrip() for line in lines if line.strip()) > 0.9 else ""


def _has_words(lines: Sequence[str]) -> bool:
    """Words and labels: blank lines between blocks, and in nearly all others as many columns, of one word each."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    filled = [line.rstrip("\r\n") for line in lines if line.strip() and not line.startswith(("#", "-DOCSTART-"))]
    blanks = sum(not line.strip() for line in lines)
    if not filled or blanks == 0 or blanks > len(filled):
        return False
    delimiter = columns_delimiter(filled)
    rows = [line.split(delimiter) if delimiter else line.split() for line in filled]
    width, even = Counter(map(len, rows)).most_common(1)[0]
    if width < 2 or even < 0.9 * len(rows):
        return False
    words = [row[0] for row in rows if len(row) == width]
    labels = [row[-1].strip() for row in rows if len(row) == width]
    if any(" " in label for label in labels):
        return False
    few = len(set(labels)) <= max(3, len(labels) // 3) or scheme_of([labels]) != PLAIN
    return few and _share(" " in word.strip() for word in words) < 0.1


def _begin_with_labels(lines: Sequence[str]) -> bool:
    """Every line is a word and more, and the words are few: all numbers, or each of them several times."""
    parts = [line.split(None, 1) for line in lines]
    if any(len(part) < 2 for part in parts):
        return False
    labels = Counter(part[0] for part in parts)
    if len(labels) < 2 or len(labels) > _FEW_LABELS:
        return False
    if all(re.fullmatch(r"-?\d+", label) for label in labels):
        return len(labels) <= max(2, len(lines) // 2)
    # A sentence may begin with "The" in a tenth of all lines, but not with one of three words in all of them.
    return len(labels) <= max(2, len(lines) // 20) and all(n > 1 for n in labels.values())


def _one_column_with_labels(lines: Sequence[str]) -> bool:
    return guess_dialect(list(lines), (",", "\t", ";", "|")).cells == 1 and _begin_with_labels(lines)


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0
