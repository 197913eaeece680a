"""Paths and names in, parts out: every file found, its format recognised, and read by the chapter for that format."""

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.formats.hub import PREFIX as DATASET_PREFIX
from bertviz_lab.data.corpora.formats.hub import DatasetName
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
from bertviz_lab.data.tasks.reading.conll import read_conll, read_conllu
from bertviz_lab.data.tasks.reading.drop_report import Ledger
from bertviz_lab.data.tasks.reading.file_formats import format_of_text
from bertviz_lab.data.tasks.reading.raw_rows import Part
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
