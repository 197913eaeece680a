"""Paths and names of data sets to raw data: finds every file, detects its format and reads it.

CoNLL files have blank lines between sentences and the same few columns in every other line. Label-text lines begin
with one of a few words. A file with the same delimiters in every line is a table. The ending decides where the first
lines do not.
"""

import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from bertviz_lab.data.corpora.formats.hub import PREFIX as DATASET_PREFIX
from bertviz_lab.data.corpora.formats.hub import DatasetName
from bertviz_lab.data.corpora.formats.tables import guess_dialect
from bertviz_lab.data.corpora.meter import Meter, megabytes
from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import Kinds, Source, close_archives, each_once, find_sources, given_twice
from bertviz_lab.data.formats.conll import looks_like_conll, read_conll
from bertviz_lab.data.formats.options import ReadOptions
from bertviz_lab.data.formats.raw import DropReport, RawData
from bertviz_lab.data.formats.records import PARQUET_MAGIC, read_dataset, read_json, read_parquet
from bertviz_lab.data.formats.tables import DELIMITERS, FASTTEXT_PREFIX, read_label_lines, read_table
from bertviz_lab.data.formats.text_files import open_text
from bertviz_lab.errors import InputError

#: The endings under which task data is found in folders and zips. A file that is named may have any ending.
_ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json", ".parquet",
    ".conll", ".conllu", ".iob", ".iob2", ".bio", ".bioes",
)  # fmt: skip
_READABLE = "a .csv, .tsv, .txt, .jsonl, .json, .parquet, .conll or .conllu file, or a .zip of these"
_TASK_FILES = Kinds(dict.fromkeys(_ENDINGS, "labelled"), _READABLE)
_CONLL_ENDINGS = (".conll", ".conll03", ".conll2003", ".iob", ".iob2", ".bio", ".bioes", ".ner", ".pos", ".annotated")
_TABLE_ENDINGS = (".csv", ".tsv", ".tab")
_CONLLU_LINE = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]*){9}\s*$")
_MAX_LINE_LABELS = 200  # different words that label-text lines may begin with


def load_raw_data(
    paths: Sequence[str | Path] | str | Path,
    options: ReadOptions,
    report: DropReport,
) -> list[RawData]:
    """What the files, folders, zips, patterns and data sets hold, in the order given, each once.

    Raises:
        InputError: as `find_sources`, and where a file that is named cannot be read. Files that came with a folder or
            zip are skipped and noted instead, unless nothing is left.
    """
    entries = [paths] if isinstance(paths, (str, Path)) else list(paths)
    notes = ReadingNotes()
    inputs: list[DatasetName | Source] = []
    sources: list[Source] = []
    try:
        if not entries:
            find_sources([], notes, options.max_bytes, _TASK_FILES)  # raises an error that says what to choose
        for entry in entries:
            if isinstance(entry, str) and entry.startswith(DATASET_PREFIX):
                dataset = DatasetName.parse(entry)
                if dataset in inputs:
                    notes.skipped.append(given_twice(entry))
                else:
                    inputs.append(dataset)
                continue
            sources_of_entry = find_sources(entry, notes, options.max_bytes, _TASK_FILES)
            new = each_once([*sources, *sources_of_entry], notes)[len(sources) :]
            sources += new
            inputs += new
        total = sum(source.size for source in sources)
        if total > options.max_bytes:
            raise InputError(
                f"The files hold {megabytes(total)} together, more than {megabytes(options.max_bytes)}; take fewer."
            )
        meter = Meter(total, options.max_bytes)
        raw_files = list(_read_all(inputs, meter, options, report, notes))
        if not raw_files:
            raise InputError(f"None of these files could be read; the first: {notes.skipped[0]}")
        for sentence in notes.left_out():
            report.note(sentence)
        return raw_files
    finally:
        close_archives(sources)


def _read_all(
    inputs: list[DatasetName | Source], meter: Meter, options: ReadOptions, report: DropReport, notes: ReadingNotes
) -> Iterator[RawData]:
    for entry in inputs:
        if isinstance(entry, DatasetName):
            yield read_dataset(entry, options, report)
            continue
        try:
            yield _read(entry, meter, options, report)
        except InputError as error:
            if entry.named:
                raise
            notes.skipped.append(str(error))


def _read(source: Source, meter: Meter, options: ReadOptions, report: DropReport) -> RawData:
    try:
        return _read_source(source, meter, options, report)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        if source.archive is None:
            raise
        raise InputError(f"{quoted(source.name)} is damaged inside its zip; make the zip again.") from error
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 5)
        raise InputError(f"{quoted(source.name)} could not be read ({reason}); try again.") from error


def _read_source(source: Source, meter: Meter, options: ReadOptions, report: DropReport) -> RawData:
    with source.open() as stream:
        if stream.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC:
            return read_parquet(source, options, report)
    file = open_text(source, meter, options)
    file_format = detect_format(source.name, file.sample(), options)
    if file_format in ("json", "jsonl"):
        return read_json(file, file_format, options, report)
    if file_format in ("conll", "conllu"):
        return read_conll(file, file_format, options, report)
    if file_format == "label-text":
        return read_label_lines(file, options, report)
    return read_table(file, options, report)


def detect_format(file_name: str, lines: Sequence[str], options: ReadOptions) -> str:
    """ "table", "label-text", "jsonl", "json", "conll" or "conllu", by the ending and the first lines of a file.

    Raises:
        InputError: the lines show no labels.
    """
    ending = PurePath(file_name).suffix.lower()
    if not (filled := [line for line in lines if line.strip()]):
        raise InputError(f"{quoted(file_name)} holds only blank lines; choose a file with labeled examples.")
    if ending in (".json", ".jsonl", ".ndjson"):
        return "json" if ending == ".json" else "jsonl"
    tokens = [line for line in filled if line[0] != "#"]
    is_conllu = [bool(_CONLLU_LINE.match(line)) for line in tokens]
    # A table of ten columns may have a number in the first, too, as GLUE's STS-B has, but it begins with its header.
    if ending == ".conllu" or (is_conllu[:1] == [True] and sum(is_conllu) > 0.9 * len(tokens)):
        return "conllu"
    if options.task in ("auto", "tokens") and (ending in _CONLL_ENDINGS or looks_like_conll(lines)):
        return "conll"
    if options.task == "tokens" and ending not in _TABLE_ENDINGS:
        return "conll"
    if all(line.lstrip().startswith(FASTTEXT_PREFIX) for line in filled) or options.delimiter == " ":
        return "label-text"
    if options.delimiter:
        return "table"
    if ending in _TABLE_ENDINGS:
        is_column = guess_dialect(filled, DELIMITERS).cells == 1
        return "label-text" if is_column and _begin_with_labels(filled) else "table"
    if filled[0].lstrip().startswith(("{", "[")) and '"' in filled[0]:
        return "jsonl" if filled[0].rstrip().endswith("}") else "json"
    if sum("\t" in line for line in filled) > 0.9 * len(filled):
        return "table"
    if _begin_with_labels(filled):
        return "label-text"
    if guess_dialect(filled, DELIMITERS).cells > 1:
        return "table"
    raise InputError(
        f"{quoted(file_name)} shows no labels: its lines neither begin with one of a few labels nor have columns; "
        "give a table (.csv, .tsv), lines such as “spam You have won”, or a word and its label a line."
    )


def _begin_with_labels(lines: Sequence[str]) -> bool:
    """Does every line begin with one of a few words, all of them numbers or each of them frequent?"""
    words_and_rests = [line.split(None, 1) for line in lines]
    if any(len(split) < 2 for split in words_and_rests):
        return False
    labels = Counter(split[0] for split in words_and_rests)
    if len(labels) < 2 or len(labels) > _MAX_LINE_LABELS:
        return False
    if all(re.fullmatch(r"-?\d+", label) for label in labels):
        return len(labels) <= max(2, len(lines) // 2)
    # A tenth of the sentences of a text may begin with "The", but not all of them with one of three words.
    return len(labels) <= max(2, len(lines) // 20) and all(n > 1 for n in labels.values())
