"""Records: JSON, JSON lines, Parquet and data sets by name, as rows of cells, as sentences or as questions."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bertviz_lab.data.corpora.file_names import quoted
from bertviz_lab.data.corpora.formats.hub import DatasetName
from bertviz_lab.data.corpora.formats.records import json_lines, json_values
from bertviz_lab.data.corpora.sources import Source
from bertviz_lab.data.tasks.examples import Reading
from bertviz_lab.data.tasks.reading.raw_data import Ledger, Part, Sentences, Sheet, place, preview
from bertviz_lab.data.tasks.reading.read_options import Wishes
from bertviz_lab.data.tasks.reading.squad import is_squad, read_squad
from bertviz_lab.data.tasks.reading.tables import too_many
from bertviz_lab.data.tasks.reading.text_file import TextFile
from bertviz_lab.errors import InputError

PARQUET_MAGIC = b"PAR1"
ClassNames = Mapping[str, Sequence[str]]
_WORD_NAMES = ("tokens", "words", "token", "word", "sentence", "text")
_TAG_NAMES = ("ner_tags", "ner", "tags", "labels", "label", "pos_tags", "upos", "xpos", "pos", "chunk_tags")

_PARQUET_ROWS = 64
_MOST_FIELDS = 1_000


def read_json(file: TextFile, format_name: str, wishes: Wishes, ledger: Ledger) -> Part:
    """A .json or .jsonl file. Raises `InputError` where it is not JSON, or holds nothing that can be learnt."""
    reading = Reading(file.name, format_name, file.encoding)
    with file.text(None) as stream:
        if format_name == "jsonl":
            part = part_of_records(json_lines(stream, file.name), {}, reading, "record", wishes, ledger)
        else:
            part = part_of_records(_values(file, stream), {}, reading, "record", wishes, ledger)
    file.tell(ledger)
    return part


def _values(file: TextFile, stream: Any) -> Iterator[Any]:
    """The records of a list at the top, one by one; an object at the top is decoded whole and its list is taken."""
    with file.text(None, counted=False) as head:
        start = head.read(1 << 12).lstrip("\ufeff \t\r\n")
    if not start.startswith("{"):
        yield from json_values(stream, file.name)
        return
    try:
        value = json.load(stream)
    except RecursionError:
        raise InputError(f"{quoted(file.name)} is nested too deeply to be read; make its records flat.") from None
    except ValueError as error:
        if "Extra data" not in str(error):
            line = getattr(error, "lineno", 1)
            what = getattr(error, "msg", error)
            raise InputError(
                f"{quoted(file.name)} is not JSON from line {line:,} on ({what}); correct it there."
            ) from None
        with file.text(None, counted=False) as again:
            yield from json_lines(again, file.name)
        return
    lists = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
    if lists:
        yield from max(lists, key=len)
    elif value and all(isinstance(v, list) for v in value.values()):  # a column a name
        yield from (dict(zip(value, row, strict=False)) for row in zip(*value.values(), strict=False))
    else:
        yield value


def read_parquet(source: Source, wishes: Wishes, ledger: Ledger) -> Part:
    """A .parquet file, a batch of rows at a time; names of classes come from what `datasets` wrote into it."""
    import pyarrow
    import pyarrow.parquet

    if source.archive is not None:
        raise InputError(f"{quoted(source.name)} is a Parquet table inside a zip; unpack the zip and give the table.")
    try:
        with pyarrow.parquet.ParquetFile(source.path) as table:
            names = _class_names(table.schema_arrow.metadata or {})
            # Small batches: a few bytes of a packed column can stand for megabytes of text in every row.
            rows = (row for batch in table.iter_batches(_PARQUET_ROWS) for row in batch.to_pylist())
            return part_of_records(rows, names, Reading(source.name, "parquet"), "row", wishes, ledger)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            f"{quoted(source.name)} is a damaged Parquet table ({str(error).splitlines()[0].rstrip('.')}); "
            "make it again."
        ) from None


def _class_names(metadata: Mapping[bytes, bytes]) -> ClassNames:
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
    except (ValueError, KeyError, TypeError):
        return {}
    names = {}
    for column, feature in features.items():
        inner = feature.get("feature", feature) if isinstance(feature, dict) else {}
        if isinstance(inner, dict) and inner.get("_type") == "ClassLabel":
            names[column] = inner.get("names", ())
    return names


def read_dataset(dataset: DatasetName, wishes: Wishes, ledger: Ledger) -> Part:
    """A data set by name. Raises `InputError` for what cannot be found or read."""
    rows, names = dataset.rows_and_classes()
    return part_of_records(rows, names, Reading(dataset.name, "dataset"), "row", wishes, ledger)


def part_of_records(
    records: Iterator[Any], names: ClassNames, reading: Reading, unit: str, wishes: Wishes, ledger: Ledger
) -> Part:
    """What records hold: questions, sentences of words, or rows of cells.

    Args:
        records: objects, or lists of cells; read once, to the end.
        names: of the classes, for fields that hold their numbers.
        reading: how the file is read; columns are added.
        unit: what a record is called in messages.
        wishes: `max_examples`, and fields where they are named.
        ledger: hears what is dropped.

    Raises:
        InputError: there are none, or one is neither an object nor a list.
    """
    found: list[Any] = []
    fields: set[Any] = set()
    characters = 0
    for number, record in enumerate(records, 1):
        if not isinstance(record, (dict, list)):
            raise InputError(
                f"{place(reading.name, unit, number)} is neither an object nor a list; "
                'give records such as {"text": "You have won", "label": "spam"}.'
            )
        found.append(record)
        fields.update(record if isinstance(record, dict) else ())
        values = record.values() if isinstance(record, dict) else record
        characters += sum(len(value) for value in values if isinstance(value, str))
        if characters > wishes.max_bytes:
            raise InputError(f"{quoted(reading.name)} holds more text than is read at once; give a part of it.")
        if len(fields) > _MOST_FIELDS:
            raise InputError(
                f"The records of {quoted(reading.name)} have more than {_MOST_FIELDS:,} different fields; "
                "give records that all have the same few."
            )
        if len(found) > wishes.max_examples:
            raise too_many(reading.name, wishes)
    if not found:
        raise InputError(f"{quoted(reading.name)} holds no records; give records with a text and a label each.")
    if wishes.task in ("auto", "qa") and is_squad(found[0]):
        return read_squad(found, reading, wishes, ledger)
    rows = [r if isinstance(r, dict) else {str(n): v for n, v in enumerate(r, 1)} for r in found]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    words = _fields_of_words(rows, columns, wishes)
    if words:
        return _sentences(rows, *words, names, columns, reading, unit, ledger)
    return _sheet(rows, columns, names, reading, unit)


def _sheet(rows: list[dict[str, Any]], columns: list[str], names: ClassNames, reading: Reading, unit: str) -> Sheet:
    cells = [[cell_text(row.get(column), names.get(column)) for column in columns] for row in rows]
    return Sheet(reading, unit, cells, range(1, len(rows) + 1), len(columns), names=[str(c) for c in columns])


def cell_text(value: Any, names: Sequence[str] | None = None) -> str:
    """A value of a record as text: "" for none, the class's name for its number, 1 for 1.0."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        if len(value) == 1:
            return cell_text(value[0], names)
        return "\n".join(cell_text(v, names) for v in value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if names and isinstance(value, int):
        return names[value] if 0 <= value < len(names) else ""  # -1 stands for no label
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def _items(row: Mapping[str, Any], column: str) -> list[Any]:
    """A list in a record; none where something else stands there."""
    value = row.get(column)
    return value if isinstance(value, list) else []


def _fields_of_words(rows: list[dict[str, Any]], columns: list[str], wishes: Wishes) -> tuple[str, str] | None:
    """The fields with the words and with their labels, both lists of the same length; None where there are none."""
    if wishes.task not in ("auto", "tokens"):
        return None
    sample = rows[:100]
    lists = [c for c in columns if any(_items(row, c) for row in sample)]
    words = [c for c in lists if all(isinstance(v, str) for row in sample for v in _items(row, c))]
    named = [c for c in (wishes.text_a, *_WORD_NAMES) if c in words] or words[:1]
    if not named:
        return None
    word = named[0]
    alike = [c for c in lists if c != word and all(len(_items(r, c)) == len(_items(r, word)) for r in sample)]
    if not alike:
        alike = [c for c in lists if c != word and c in _TAG_NAMES]
    tags = [c for c in (wishes.label, *_TAG_NAMES) if c in alike] or alike[-1:]
    return (word, tags[0]) if tags else None


def _sentences(
    rows: list[dict[str, Any]],
    word: str,
    tag: str,
    names: ClassNames,
    columns: list[str],
    reading: Reading,
    unit: str,
    ledger: Ledger,
) -> Sentences:
    known = names.get(tag)
    shown = preview([[" ".join(map(str, _items(r, word))), " ".join(map(str, _items(r, tag)))] for r in rows[:8]])
    part = Sentences(replace(reading, columns=tuple(columns), text_a=word, label=tag, rows=shown), unit)
    for number, row in enumerate(rows, 1):
        words, tags = _items(row, word), _items(row, tag)
        labels = tuple(cell_text(value, known) for value in tags)
        if not words:
            ledger.drop(f"field {quoted(word)} is empty", reading.name, unit, number)
        elif len(words) != len(tags):
            ledger.drop("it has not as many labels as words", reading.name, unit, number)
        elif not all(labels) or not all(isinstance(w, str) and w.strip() for w in words):
            ledger.drop("a word or its label is missing", reading.name, unit, number)
        else:
            part.words.append(tuple(words))
            part.labels.append(labels)
            part.rows.append(number)
    return part
