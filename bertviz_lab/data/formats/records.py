"""Records of JSON, JSON lines, columns and data sets by name: as rows of cells, as sentences or as questions."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from bertviz_lab.data.corpora.formats.hub import DatasetName
from bertviz_lab.data.corpora.formats.records import json_lines, json_values
from bertviz_lab.data.corpora.formats.tables import whole_lines
from bertviz_lab.data.corpora.formats.text import column_title
from bertviz_lab.data.corpora.reading_notes import quoted, quoted_list
from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.annotations import flat, plain_records, rasa_records, tree_records
from bertviz_lab.data.formats.columns import LABEL_NAMES, WEAK_NAMES
from bertviz_lab.data.formats.questions import is_squad, read_squad
from bertviz_lab.data.formats.raw import (
    MAX_COLUMNS,
    DropReport,
    RawData,
    RawFile,
    RawSentences,
    RawTable,
    ReadOptions,
    TextFile,
)
from bertviz_lab.data.formats.words.character_spans import grouped_spans, sentences_of_spans, span_fields
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization.pipeline import replace_surrogates

_SPLIT = re.compile(r"(oos_)?(train|val|dev|test)[a-z]*(_\w{1,12})?")
ClassNames = Mapping[str, Sequence[str]]
_WORD_NAMES = ("tokens", "words", "token", "word", "sentence", "text")
_TAG_NAMES = ("ner_tags", "ner", "tags", "labels", "label", "pos_tags", "upos", "xpos", "pos", "chunk_tags")
_CHOICES = ("options", "choices", "endings", "distractors")
_CHOICE = re.compile(r"(option|choice|ending)[ _]?[0-9a-e]|(answer[ _]?)?[a-e]", re.IGNORECASE)
_SAMPLE = 100  # records in which fields with words and labels are looked for


def read_json(file: TextFile, options: ReadOptions, report: DropReport, format_name: str) -> RawData:
    """Return a file of JSON, JSON lines, Rasa or trees.

    Raises `InputError` where it is none of these, or as `raw_data_of_records`.
    """
    info = FileInfo(file.name, format_name, file.encoding)
    with file.text(None) as stream:
        if format_name == "rasa":
            records, unit = rasa_records(whole_lines(stream, file.name)), "example"
        elif format_name == "trees":
            records, unit = tree_records(whole_lines(stream, file.name)), "tree"
            report.note("Each tree was read as its sentence with the label of its root, without those of its phrases.")
        else:
            is_lines, unit = format_name == "jsonl", "record"
            records = json_lines(stream, file.name) if is_lines else _json_records(file, stream, report)
        return raw_data_of_records(records, {}, RawFile(info, unit), options, report)


def _json_records(file: TextFile, stream: Any, report: DropReport) -> Iterator[Any]:
    """Yield the items of a list at the top, one by one; of an object at the top, those of its longest list."""
    with file.text(None, metered=False) as head:
        start = head.read(1 << 12).lstrip("\ufeff \t\r\n")
    if not start.startswith("{"):
        yield from json_values(stream, file.name)
        return
    try:
        value = json.load(stream)
    except (ValueError, RecursionError):  # several values in turn, or none: then the error has its line
        with file.text(None, metered=False) as again:
            yield from json_values(again, file.name, unpack=False)
    else:
        yield from _records_of(value, file.name, report)


def _records_of(value: dict[str, Any], name: str, report: DropReport, depth: int = 4) -> Iterator[Any]:
    """Yield the records of an object, in whichever layout it or one of its inner objects has, `depth` levels down."""
    if isinstance(value.get("intents"), dict):  # Snips NLU
        value = {
            name: intent.get("utterances") for name, intent in value["intents"].items() if isinstance(intent, dict)
        }
    lists = {key: v for key, v in value.items() if isinstance(v, list) and v}
    objects = {key: v for key, v in value.items() if isinstance(v, dict) and v and depth}
    are_splits = all(_SPLIT.fullmatch(key.lower()) for key in (*lists, *objects))
    tables = lists | objects if are_splits else {k: v for k, v in lists.items() if isinstance(v[0], (dict, list))}
    columns, data = value.get("columns"), value.get("data")
    if isinstance(columns, list) and isinstance(data, list):  # orient="split" of pandas
        yield from (dict(zip(map(str, columns), row, strict=False)) for row in data if isinstance(row, list))
    elif is_squad(value) or _choices([value], list(value)):
        yield value
    elif len(objects) == len(value) > 0 and not are_splits and _are_alike([*objects.values()]):
        keys = list(next(iter(objects.values())))
        by_column = len(keys) > len(objects) or (len(keys) == len(objects) and all(key.isdigit() for key in keys))
        if by_column:  # orient="columns" of pandas, else "index"
            yield from ({column: cells.get(key) for column, cells in value.items()} for key in keys)
        else:
            yield from objects.values()
    elif (
        lists
        and not are_splits
        and all(isinstance(r, dict) and _are_objects(r.get("data")) for v in lists.values() for r in v)
    ):
        for intent, records in lists.items():  # SNIPS
            for record in records:
                yield {"text": "".join(str(part.get("text", "")) for part in record["data"]), "label": intent}
    elif len(lists) == len(value) > 1 and not are_splits and _are_texts_by_label(lists.values()):
        report.note(f"The lists of {quoted(name)} were read as the texts of the labels {quoted_list(list(lists))}.")
        for label, items in lists.items():
            yield from ((item if isinstance(item, dict) else {"text": item}) | {"label": label} for item in items)
    elif tables:
        train = [key for key in tables if key.lower() in ("train", "oos_train")]
        chosen = (train or [*tables][:1]) if are_splits else [max(tables, key=lambda key: len(tables[key]))]
        if others := [key for key in tables if key not in chosen]:
            read = f"only {quoted_list(chosen)} {'is' if len(chosen) == 1 else 'are'} read, not {quoted_list(others)}"
            report.note(f"Of the {'splits' if are_splits else 'lists'} of {quoted(name)} {read}.")
        for part in (tables[key] for key in chosen):
            yield from part if isinstance(part, list) else _records_of(part, name, report, depth - 1)
    elif len(value) > 4 and all(isinstance(v, (str, int, float)) for v in value.values()) and _are_texts([*value]):
        yield from ({"text": text, "label": label} for text, label in value.items())
    elif value and len(lists) == len(value) and len({len(v) for v in lists.values()}) == 1:  # a list for each column
        yield from (dict(zip(value, row, strict=False)) for row in zip(*value.values(), strict=False))
    else:
        inner = [list(_records_of(v, name, report, depth - 1)) for v in objects.values()]
        several = [records for records in inner if len(records) > 1 or any(map(is_squad, records))]
        yield from several[0] if len(several) == 1 else [value]


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) for part in value)


def _are_alike(objects: Sequence[dict[str, Any]]) -> bool:
    """Return whether objects are the rows or the columns of one table: flat, or several with fields in common."""
    flat_ones = not any(isinstance(cell, (dict, list)) for record in objects for cell in record.values())
    return flat_ones or (len(objects) > 1 and all(not record.keys().isdisjoint(objects[0]) for record in objects))


def _are_texts_by_label(lists: Collection[Sequence[Any]]) -> bool:
    """Return whether lists hold texts, or objects with a text in one field and without a label of their own."""
    if all(map(_are_texts, lists)):
        return True
    items = list(chain.from_iterable(lists))
    if not all(isinstance(item, dict) for item in items):
        return False
    labelled = {name.lower() for item in items for name in item} & {*LABEL_NAMES} - {*WEAK_NAMES}
    shared = set(items[0]).intersection(*items)
    return not labelled and any(_are_texts([item[name] for item in items]) for name in shared)


def _are_texts(values: Sequence[Any]) -> bool:
    """Return whether nearly all values are strings of several words."""
    return sum(isinstance(v, str) and (" " in v.strip() or len(v) > 20) for v in values) > 0.8 * len(values)


def read_dataset(dataset: DatasetName, options: ReadOptions, report: DropReport) -> RawData:
    """Return a data set by name. Raises `InputError` for what cannot be found or read."""
    rows, names = dataset.rows_and_classes()
    return raw_data_of_records(rows, names, RawFile(FileInfo(dataset.name, "dataset")), options, report)


def raw_data_of_records(
    records: Iterator[Any], names: ClassNames, file: RawFile, options: ReadOptions, report: DropReport
) -> RawData:
    """Return what records hold: questions, sentences of words, or rows of cells.

    Args:
        records: objects, lists of cells, or texts; read once, to the end.
        names: of the classes, for fields that hold class numbers.
        file: where they are from.
        options: the limits, the task, and fields where they are given.
        report: counts what is dropped.

    Raises:
        InputError: there are no records, one is nothing of these, or there are too many or too large ones.
    """
    read: list[dict[str, Any]] = []
    titles: dict[str, str] = {}  # of the fields
    characters = 0
    plain = (each for n, record in enumerate(records, 1) for each in plain_records(record, n, file, report))
    for number, record in enumerate(plain, 1):
        if isinstance(record, str):
            record = {"text": record}
        if not isinstance(record, (dict, list)):
            raise InputError(
                f"{file.at(number)} is neither an object nor a list; "
                'give records such as {"text": "You have won", "label": "spam"}.'
            )
        record = record if isinstance(record, dict) else {str(n): value for n, value in enumerate(record, 1)}
        new = {name: column_title(name) for name in record.keys() - titles.keys()}
        titles |= {name: name if title in record else title for name, title in new.items()}
        record = {titles[name]: value for name, value in record.items()}
        read.append(record)
        characters += _clean_texts(record)
        if characters > options.max_bytes:
            raise InputError(f"{quoted(file.name)} holds more text than is read at once; give a part of it.")
        if len(titles) > MAX_COLUMNS:
            raise InputError(_many_fields(file))
        options.check_count(len(read), file.name)
    if not read:
        raise InputError(f"{quoted(file.name)} holds no records; give records with a text and a label each.")
    if reader := reader_of(read[:_SAMPLE], names, file, options, report):
        return reader(read)
    rows = list(map(flat, read))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if len(columns) > MAX_COLUMNS:
        raise InputError(_many_fields(file))
    cells = [[cell_text(row.get(column), names.get(column)) for column in columns] for row in rows]
    return RawTable(
        file.info, file.unit, cells, range(1, len(rows) + 1), len(columns), names=columns, class_names=names
    )


def reader_of(
    sample: list[dict[str, Any]], names: ClassNames, file: RawFile, options: ReadOptions, report: DropReport
) -> Callable[[list[Any]], RawData] | None:
    """Return what reads records such as these as questions or as labeled words; None where they are rows of cells."""
    if options.task in ("auto", "qa") and 2 * sum(map(is_squad, sample)) >= len(sample):
        return lambda records: read_squad(records, file.info, options, report)
    columns = list(dict.fromkeys(key for row in sample for key in row))
    if not (options.text_a or options.label) and (choices := _choices(sample, columns)):
        what = f"multiple-choice questions ({quoted_list(choices)}), which no task here learns"
        advice = f"give {file.unit}s with a text and a label each, or name the two with --text-a and --label"
        raise InputError(f"{quoted(file.name)} holds {what}; {advice}.")
    raw = RawSentences(replace(file.info, columns=tuple(map(str, columns))), file.unit)
    reader: Callable[[list[Any]], RawData] | None = None
    fields: tuple[str, ...] = ()
    if options.task not in ("auto", "tokens"):
        return None
    if spans := span_fields(sample, options.text_a):
        fields, reader = spans, lambda records: sentences_of_spans(records, spans[0], spans[1], raw, report)
    elif found := _tagged_fields(sample, columns, options, report):
        fields, reader = found, lambda records: _tagged_sentences(records, found, names.get(found[1]), raw, report)
    elif grouped_spans(sample):
        return lambda records: sentences_of_spans(grouped_spans(records), "text", "entities", raw, report)
    if reader and options.task == "auto":
        classes = {"intent", *LABEL_NAMES} - {*WEAK_NAMES, *fields}
        intents = [c for c in columns if c in classes and _is_class(sample, c)]
        if intents:
            both = f"The records of {quoted(file.name)} have classes ({quoted(intents[0])}) and labeled words"
            report.doubt(f"{both}: choose --task classification or --task tokens.", "task")
            return None if intents[0] == "intent" else reader
    return reader


def _choices(sample: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """Return the fields with the answers to choose from: one with a list, or three or more of which a key names one."""
    first = {**flat(dict(sample[0])), **sample[0]}
    if lists := [name for name in _CHOICES if isinstance(first.get(name), (list, dict))]:
        return lists if any(str(name).startswith(("question", "ctx")) for name in first) else []
    each = [column for column in columns if _CHOICE.fullmatch(column)] or _unnamed_choices(sample, columns)
    texts = {str(row.get(column)) for row in sample for column in each}
    if len(each) < 3 or len(texts) < len(sample) * len(each) / 4:  # others are answers to a survey
        return []
    keys = {*map(str, range(len(each) + 1)), *"abcde"[: len(each)], *(column[-1].lower() for column in each)}
    values = [{str(row.get(column)).strip().lower() for row in sample} for column in columns if column not in each]
    return each if any(len(cells) > 1 and cells <= keys for cells in values) else []


def _unnamed_choices(sample: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    """Return the columns between a question and letters that name one of them, where no column has a name."""
    for place, column in enumerate(columns if all(map(str.isdigit, columns)) else ()):
        letters = {str(row.get(column)).strip() for row in sample}
        question = place - "ABCDE".find(max(letters)) - 2
        if len(letters) > 1 and letters <= {*"ABCDE"} and question >= 0:
            asks = _are_texts([row.get(columns[question]) for row in sample])
            return list(columns[question + 1 : place]) if asks else []
    return []


def _is_class(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    values = [row[column] for row in rows if isinstance(row.get(column), str)]
    return 1 < len(set(values)) <= len(values) / 2


def _many_fields(file: RawFile) -> str:
    fields = f"The records of {quoted(file.name)} have more than {MAX_COLUMNS:,} different fields"
    return f"{fields}; give records that all have the same few."


def _clean_texts(record: dict[str, Any] | list[Any]) -> int:
    """Decode bytes and replace the lone surrogates that JSON can spell, in place; return the number of characters."""
    count = 0
    stack: list[Any] = [record]
    while stack:
        values = stack.pop()
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            if isinstance(value, str):
                values[key] = replace_surrogates(value)
                count += len(value)
            elif isinstance(value, (dict, list)):
                stack.append(value)
    return count


def cell_text(value: Any, names: Sequence[str] | None = None) -> str:
    """Return a value of a record as text: "" for none, the class's name for its number, 1 for 1.0."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        if len(value) == 1:
            return cell_text(value[0], names)
        are_strings = {isinstance(part, str) for part in value if part is not None}
        if any(isinstance(part, list) for part in value) or len(are_strings) > 1:
            return json.dumps(value, ensure_ascii=False)
        return "\n".join(cell_text(v, names) for v in value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if names and isinstance(value, int):
        return names[value] if 0 <= value < len(names) else ""  # -1 is no label
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def _items(row: Mapping[str, Any], column: str) -> list[Any]:
    """Return the list in a field of a record; empty where the field holds something else."""
    value = row.get(column)
    return value if isinstance(value, list) else []


def _tagged_fields(
    sample: list[dict[str, Any]], columns: list[str], options: ReadOptions, report: DropReport
) -> tuple[str, str] | None:
    """Return the fields with the words and with their labels, lists of the same length; None where there are none."""
    lists = [c for c in columns if any(_items(row, c)[1:] for row in sample)]
    lists = [c for c in lists if not any(isinstance(v, (dict, list)) for row in sample for v in _items(row, c))]
    texts = [c for c in lists if all(isinstance(v, str) for row in sample for v in _items(row, c))]
    spaced = {c: sum(isinstance(row.get(c), str) and " " in row[c].strip() for row in sample) for c in columns}
    sentences = [c for c in columns if 2 * spaced[c] > len(sample)]
    words = [c for c in (options.text_a, *_WORD_NAMES) if c in texts]
    words = words or [c for c in sentences if any(_are_aligned(sample, c, tags) for tags in texts)]
    word = next(iter(words or texts), "")
    aligned = [c for c in lists if c != word and _are_aligned(sample, word, c)]
    aligned = aligned or [c for c in lists if c != word and c in _TAG_NAMES]
    tags = [c for c in (options.label, *_TAG_NAMES) if c in aligned] or aligned[-1:]
    if not word or not tags or (options.label in columns and options.label != tags[0]):
        return None
    if sentences and not words:
        read = f"The lists of {quoted(word)} were read as words, and none is as long as the texts of"
        report.doubt(f"{read} {quoted(sentences[0])}: name the words with --text-a.", "text_a")
    return word, tags[0]


def _are_aligned(rows: list[dict[str, Any]], words: str, tags: str) -> bool:
    return all(len(_words(row, words)) == len(_items(row, tags)) for row in rows if _items(row, tags))


def _words(row: Mapping[str, Any], column: str) -> list[Any]:
    """Return the words in a field of a record: the items of a list, or those between the blanks of a sentence."""
    return row[column].split() if isinstance(row.get(column), str) else _items(row, column)


def _tagged_sentences(
    rows: list[dict[str, Any]],
    fields: tuple[str, str],
    names: Sequence[str] | None,
    raw: RawSentences,
    report: DropReport,
) -> RawSentences:
    """Add the words of the first of the fields, with the labels of the second, whose classes may have `names`."""
    word, tag = fields
    raw.info = replace(raw.info, text_a=word, label=tag)
    for number, row in enumerate(rows, 1):
        if words := _words(row, word):
            raw.add(words, [cell_text(value, names) for value in _items(row, tag)], number, report)
        else:
            report.drop(f"field {quoted(word)} is empty", raw, number)
    return raw
