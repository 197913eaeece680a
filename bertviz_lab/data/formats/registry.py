"""Paths and names of data sets to raw data: finds every file and asks each reader whether the file is its own.

A reader claims a file by positive signs. CoNLL files have blank lines between sentences and the same few columns in
every other line. Label-text lines begin with one of a few words. A file with the same delimiters in every line is a
table. Two equal claims, or none, are a question to the person.

Of a folder or zip with a training file, test, validation and submission files are left out and named.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple

from bertviz_lab.data.corpora.formats.hub import PREFIX as DATASET_PREFIX
from bertviz_lab.data.corpora.formats.hub import DatasetName
from bertviz_lab.data.corpora.formats.tables import DELIMITERS, guess_dialect
from bertviz_lab.data.corpora.reading_notes import ReadingNotes, quoted, quoted_list
from bertviz_lab.data.corpora.sources import (
    Kinds,
    Source,
    close_archives,
    each_once,
    find_sources,
    given_twice,
    reading_errors,
    total_size,
)
from bertviz_lab.data.corpora.streams import Meter, suffix_of
from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.annotations import are_trees, is_rasa
from bertviz_lab.data.formats.binary_tables import BINARY_READERS, WORKBOOKS
from bertviz_lab.data.formats.raw import DropReport, RawData, RawTable, ReadOptions, TextFile, open_text
from bertviz_lab.data.formats.records import read_dataset, read_json
from bertviz_lab.data.formats.tables import FASTTEXT_PREFIX, decode_bytes, long_delimiter, read_label_lines, read_table
from bertviz_lab.data.formats.words.character_spans import ANNOTATIONS, annotated_texts, read_standoff
from bertviz_lab.data.formats.words.conll import looks_like_conll, read_conll, read_tagged_lines, tagged_delimiter
from bertviz_lab.errors import InputError

#: The endings under which task data is found in folders and zips. A file that is named may have any ending.
_ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather", ".yml", ".yaml",
    ".conll", ".conllu", ".iob", ".iob2", ".bio", ".bioes", ANNOTATIONS,
)  # fmt: skip
_READABLE = "a .csv, .tsv, .txt, .xlsx, .jsonl, .json, .parquet, .arrow, .conll or .conllu file, or a .zip of these"
_FORMATS = dict.fromkeys(_ENDINGS, "labelled") | dict.fromkeys(WORKBOOKS, "workbook")
_TASK_FILES = Kinds(_FORMATS, _READABLE)
_CONLL_ENDINGS = (".conll", ".conll03", ".conll2003", ".iob", ".iob2", ".bio", ".bioes", ".ner", ".pos", ".annotated")
_JSON_LINES = (".jsonl", ".ndjson")
_JSON = (".json", *_JSON_LINES)
_TABLE_ENDINGS = (".csv", ".tsv", ".tab")
_CONLLU_LINE = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]*){9}\s*$")
#: Formats that no reader has: how such a file begins, or its ending, and what to do with it.
_NOT_READ = {"#FORMAT=WebAnno": "is in WebAnno's own format; export it as CoNLL 2003"} | dict.fromkeys(
    ("<?xml", ".xml"), "is XML, which may hold examples anywhere; give them as a table (.csv, .tsv) or as JSON lines"
)
_ROLES = {
    "submission": {"submission", "submissions", "submit", "solution"},
    "unlabeled": {"unlabeled", "unlabelled", "unsup", "unsupervised"},
    "about": {"readme", "license", "licence", "labels", "classes", "categories", "description"},
    "train": {"train", "training"},
    "test": {"test", "testing", "tests"},
    "validation": {"dev", "val", "valid", "validation", "eval"},
}
_ABOUT = re.compile(r"(dataset_infos?|state|dataset_dict)\.json|cache-.*\.arrow")  # next to what `datasets` saves
_MAX_LINE_LABELS = 200  # different words that label-text lines may begin with


def load_raw_data(
    paths: Sequence[str | Path] | str | Path, options: ReadOptions, report: DropReport, wanted: str = "train"
) -> list[RawData]:
    """Return what the files, folders, zips, patterns and data sets hold, in the order given, each once.

    Raises `InputError` as `find_sources`, and where a file that is named cannot be read. Files that came with a folder
    or zip are skipped and noted instead, unless nothing is left.
    """
    entries = [paths] if isinstance(paths, (str, Path)) else list(paths)
    notes = ReadingNotes()
    inputs: list[DatasetName | Source] = []
    sources: list[Source] = []
    try:
        if not entries:
            find_sources([], notes, options.max_bytes, _TASK_FILES)  # raises an error that says what to choose
        for entry in entries:
            if not (isinstance(entry, str) and entry.startswith(DATASET_PREFIX)):
                chosen = _of_role(find_sources(entry, notes, options.max_bytes, _TASK_FILES), wanted, report)
                new = each_once([*sources, *chosen], notes)[len(sources) :]
                sources += new
                inputs += new
            elif (dataset := DatasetName.parse(entry)) in inputs:
                notes.skipped.append(given_twice(entry))
            else:
                inputs.append(dataset)
        meter = Meter(total_size(sources, options.max_bytes), options.max_bytes)
        raw_files: list[RawData] = []
        if documents := annotated_texts(sources):
            raw_files.append(read_standoff(documents, meter, options, report))
            read = {id(source) for pair in documents for source in pair}
            inputs = [source for source in inputs if id(source) not in read]
        elif texts := _texts_in_class_folders(sources, options):
            raw_files.append(_read_class_folders(texts, meter, options, report))
            inputs = [source for source in inputs if isinstance(source, DatasetName) or source.named]
        for source in inputs:
            try:
                if isinstance(source, DatasetName):
                    raw_files.append(read_dataset(source, options, report))
                else:
                    raw_files.append(_read(source, meter, options, report))
            except InputError as error:
                if isinstance(source, DatasetName) or source.named:
                    raise
                notes.skipped.append(str(error))
        if not raw_files:
            raise InputError(f"None of these files could be read; the first: {notes.skipped[0]}")
        for sentence in notes.left_out():
            report.note(sentence)
        for raw in raw_files:
            if isinstance(raw, RawTable):
                decode_bytes(raw, report)
        return raw_files
    finally:
        close_archives(sources)


def _of_role(sources: list[Source], wanted: str, report: DropReport) -> list[Source]:
    """Return the sources of a folder or zip that are `wanted` by name; where none is, all but those without labels."""
    roles = [_role(source) for source in sources]
    others = {"submission", "unlabeled", "about"} if wanted not in roles else {*roles} - {wanted}
    chosen = [source for source, role in zip(sources, roles, strict=True) if role not in others] or sources
    left_out = [s for s, role in zip(sources, roles, strict=True) if role in others and len(chosen) < len(sources)]
    if left_out:
        open_archives = {id(source.archive) for source in chosen}
        close_archives([source for source in left_out if id(source.archive) not in open_archives])
        report.note(
            f"Of the files only {quoted_list([source.name for source in chosen], 3)} "
            f"{'is' if len(chosen) == 1 else 'are'} read by name, not "
            f"{quoted_list([source.name for source in left_out], 5)}: give a file itself to read it."
        )
    return chosen


def _role(source: Source) -> str:
    """Return what a file of a folder or zip is for, by its name or its folders'; "" where they do not say."""
    if source.named:
        return ""
    path = PurePath(source.name if source.member is None else source.member.filename)
    if _ABOUT.fullmatch(path.name):
        return "about"
    said = ((_role_in(part), part == path.name) for part in reversed(path.parts))
    return next((role for role, is_file in said if role and (is_file or role not in ("submission", "about"))), "")


def _role_in(name: str) -> str:
    words = set(re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))
    return next((role for role, names in _ROLES.items() if words & names), "")


def _class_of(source: Source) -> str:
    """Return the name of a text's folder; "" where that says what its files are for."""
    folder = PurePath(source.name).parent.name
    return folder if _role_in(folder) in ("", "about") else ""


def _texts_in_class_folders(sources: list[Source], options: ReadOptions) -> list[Source]:
    """Return the files that are a text each, in a folder for each class such as `pos/1.txt`; none in other layouts."""
    found = [source for source in sources if not source.named]
    texts = [source for source in found if suffix_of(source.name) == ".txt" and _class_of(source)]
    classes = set(map(_class_of, texts))
    if len(classes) < 2 or len(texts) < max(2 * len(classes), 0.9 * len(found)):
        return []
    sample = texts[:: -(-len(texts) // 10)]
    return texts if 2 * sum(_has_layout(source, options) for source in sample) < len(sample) else []


def _has_layout(source: Source, options: ReadOptions) -> bool:
    """Return whether a text looks like a file of examples."""
    try:
        lines = open_text(source, options).sample()
        return recognize(source.name, lines, options).claim(suffix_of(source.name), lines, options) > 1
    except InputError:
        return False


def _read_class_folders(sources: list[Source], meter: Meter, options: ReadOptions, report: DropReport) -> RawData:
    """Read a text from each file, with its folder's name as its label."""
    options.check_count(len(sources), (name := PurePath(sources[0].name).parent.parent.name or "the folder"))
    rows = []
    for source in sources:
        with reading_errors(source), (file := open_text(source, options, meter)).text(None) as stream:
            rows.append([stream.read().strip(), _class_of(source)])
    classes = quoted_list(sorted({label for _, label in rows}))
    report.note(f"Each file was read as a text whose label is its folder's name: {classes}.")
    info = FileInfo(name, "class folders", file.encoding)
    return RawTable(info, "file", rows, range(1, len(rows) + 1), 2, names=["text", "label"])


def _read(source: Source, meter: Meter, options: ReadOptions, report: DropReport) -> RawData:
    with reading_errors(source):
        with source.open() as stream:
            head = stream.read(8)
        for magic, read in BINARY_READERS.items():
            if head.startswith(magic):
                return read(source, meter, options, report)
        file = open_text(source, options, meter)
        return recognize(source.name, file.sample(), options).read(file, options, report)


class Reader(NamedTuple):
    """The reader of a format."""

    name: str  # of the format, for people
    # how sure the reader is that a file with this ending and these first lines is its own: 0 (not), 1 (it can be read
    # so), 2 (it looks so) or 3 (it is)
    claim: Callable[[str, list[str], ReadOptions], int]
    read: Callable[[TextFile, ReadOptions, DropReport], RawData]  # the file as raw data
    decided_by: str  # the option that says that a file is of this format


def recognize(file_name: str, lines: Sequence[str], options: ReadOptions) -> Reader:
    """Return the reader that is surest of a file with these first lines; `InputError` for none, or two alike."""
    if not any(line.strip() for line in lines):
        raise InputError(f"{quoted(file_name)} holds only blank lines; choose a file with labeled examples.")
    ending = suffix_of(file_name)
    for begins, is_not_read in _NOT_READ.items():
        if lines[0].startswith(begins) or begins == ending:
            raise InputError(f"{quoted(file_name)} {is_not_read}.")
    claims = [(reader.claim(ending, list(lines), options), reader) for reader in READERS]
    most = max(claim for claim, _ in claims)
    surest = [reader for claim, reader in claims if claim == most]
    if most == 0:
        raise InputError(
            f"{quoted(file_name)} shows no labels: its lines neither begin with one of a few labels nor have columns; "
            "give a table (.csv, .tsv), lines such as “spam You have won”, or a word and its label a line."
        )
    if len(surest) > 1:
        choices = ", or ".join(f"as {reader.name} with {reader.decided_by}" for reader in surest)
        raise InputError(f"{quoted(file_name)} can be read in {len(surest)} ways: read it {choices}.")
    return surest[0]


def _claim_json(ending: str, lines: list[str], options: ReadOptions) -> int:
    first = _filled(lines)[0].strip("\ufeff \t\r\n")
    if ending in _JSON_LINES:  # a list of records may be under this name
        return 4 * (re.match(r"\[\s*(?:\{|$)", first) is not None)
    return 3 if ending == ".json" else 2 if _is_marked(lines) and not first.endswith("}") else 0


def _claim_json_lines(ending: str, lines: list[str], options: ReadOptions) -> int:
    first = _filled(lines)[0]
    begins = _is_marked(lines) and first.lstrip("\ufeff ").startswith("{") and first.rstrip().endswith("}")
    return 3 if ending in _JSON_LINES else 2 if begins and ending != ".json" else 0


def _claim_trees(ending: str, lines: list[str], options: ReadOptions) -> int:
    return 4 * are_trees(_filled(lines))


def _claim_rasa(ending: str, lines: list[str], options: ReadOptions) -> int:
    return 4 * is_rasa(lines)


def _claim_conllu(ending: str, lines: list[str], options: ReadOptions) -> int:
    tokens = [line for line in _filled(lines) if line[0] != "#"]
    matches = [bool(_CONLLU_LINE.match(line)) for line in tokens]
    # A table of ten columns may have a number in the first, too, as GLUE's STS-B has, but it begins with its header.
    is_conllu = matches[:1] == [True] and sum(matches) > 0.9 * len(tokens)
    return 4 if is_conllu or ending == ".conllu" else 0


def _claim_conll(ending: str, lines: list[str], options: ReadOptions) -> int:
    if options.task not in ("auto", "tokens") or ending in _JSON:
        return 0
    if ending in _CONLL_ENDINGS or looks_like_conll(lines, plain=ending != ".csv"):
        return 3
    return 3 if options.task == "tokens" and ending not in _TABLE_ENDINGS and not _is_marked(lines) else 0


def _claim_tagged(ending: str, lines: list[str], options: ReadOptions) -> int:
    return 3 if options.task in ("auto", "tokens") and ending not in _TABLE_ENDINGS and tagged_delimiter(lines) else 0


def _claim_label_lines(ending: str, lines: list[str], options: ReadOptions) -> int:
    filled = _filled(lines)
    if options.delimiter == " " or all(line.lstrip().startswith(FASTTEXT_PREFIX) for line in filled):
        return 3
    if options.delimiter or options.task == "tokens" or not _begin_with_labels(filled):
        return 0
    if ending in _TABLE_ENDINGS:
        return 3 if guess_dialect(filled, DELIMITERS).cells == 1 else 0
    return 1 if _is_divided(filled) else 2


def _claim_table(ending: str, lines: list[str], options: ReadOptions) -> int:
    filled = _filled(lines)
    if ending in _JSON or options.delimiter == " ":
        return 0
    if options.delimiter:
        return 2
    if ending in _TABLE_ENDINGS:
        is_column = guess_dialect(filled, DELIMITERS).cells == 1
        return 1 if is_column and _begin_with_labels(filled) else 2
    if _is_marked(lines):
        return 0
    if _is_divided(filled):
        return 2
    return 1 if guess_dialect(filled, DELIMITERS).cells > 1 and not _begin_with_labels(filled) else 0


def _filled(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def _is_divided(lines: list[str]) -> bool:
    """Return whether tabs, or delimiters of several characters, divide the lines."""
    return sum("\t" in line for line in lines) > 0.9 * len(lines) or long_delimiter(lines) != ""


def _is_marked(lines: list[str]) -> bool:
    """Return whether a text begins as JSON does, or as records that Python has printed."""
    return re.match(r"[\ufeff ]*[{\[]\s*(?:[\"'{\[(]|$)", _filled(lines)[0]) is not None


#: One reader per format of text; others are known by their first bytes.
READERS = (
    Reader("JSON", _claim_json, partial(read_json, format_name="json"), "the ending .json"),
    Reader("JSON lines", _claim_json_lines, partial(read_json, format_name="jsonl"), "the ending .jsonl"),
    Reader("training data of Rasa", _claim_rasa, partial(read_json, format_name="rasa"), "the ending .yml"),
    Reader("trees of labeled phrases", _claim_trees, partial(read_json, format_name="trees"), "its trees"),
    Reader("CoNLL-U", _claim_conllu, partial(read_conll, format_name="conllu"), "the ending .conllu"),
    Reader("words with a label each", _claim_conll, partial(read_conll, format_name="conll"), "--task tokens"),
    Reader("words with a tag each", _claim_tagged, read_tagged_lines, "--task tokens"),
    Reader("lines that begin with a label", _claim_label_lines, read_label_lines, "--delimiter blank"),
    Reader("a table", _claim_table, read_table, "--delimiter and the character between its cells"),
)


def _begin_with_labels(lines: Sequence[str]) -> bool:
    """Does every line begin with one of a few words, all of them numbers or each of them frequent?"""
    words_and_rests = [line.split(None, 1) for line in lines]
    if any(len(split) < 2 for split in words_and_rests):
        return False
    labels = Counter(split[0] for split in words_and_rests)
    if len(labels) < 2 or len(labels) > _MAX_LINE_LABELS:
        return False
    if all(re.fullmatch(r"-?\d+|[A-Z]{2,}:\w+", label) for label in labels):  # numbers, or TREC's classes
        return len(labels) <= max(2, len(lines) // 2)
    # A tenth of the sentences of a text may begin with "The", but not all of them with one of three words.
    return len(labels) <= max(2, len(lines) // 20) and all(n > 1 for n in labels.values())
