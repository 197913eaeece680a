"""Texts whose entities are in a file beside each, as brat keeps them: `T1<tab>PER 0 10<tab>Anna Smith` in `doc.ann`."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import Source, reading_errors
from bertviz_lab.data.corpora.streams import Meter, suffix_of
from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.raw import DropReport, RawSentences, ReadOptions, open_text
from bertviz_lab.data.formats.words.character_spans import sentences_of_spans
from bertviz_lab.errors import InputError

ENDING = ".ann"
#: An entity: its label, the offsets of its first character and after its last, and its text; parts lie between.
_ENTITY = re.compile(r"T\d+\t(\S+) (\d+) (?:\d+;\d+ )*(\d+)\t([^\r\n]*)")
_PARTS = (
    "entity of several parts was read with what is between them",
    ("entities of several parts were read with what is between them"),
)


def annotated_texts(sources: Sequence[Source]) -> list[tuple[Source, Source]]:
    """Return the texts that have a file of annotations beside them, each with it.

    Raises `InputError` for annotations without their text that are named.
    """
    texts: dict[Any, Source] = {}  # by name, and by folder and name: uploads are in a folder each
    for source in sources:
        if suffix_of(source.name) == ".txt":
            texts[source.name] = texts[source.path.parent, source.name] = source
    found = []
    for source in sources:
        if suffix_of(source.name) == ENDING:
            name = str(PurePath(source.name).with_suffix(".txt"))
            if text := texts.get((source.path.parent, name), texts.get(name)):
                found.append((text, source))
            elif source.named:
                raise InputError(f"{quoted(source.name)} marks places in a text: give {quoted(name)} with it.")
    return found


def read_standoff(
    documents: Sequence[tuple[Source, Source]], meter: Meter, options: ReadOptions, report: DropReport
) -> RawSentences:
    """Return the words of each text with the labels of its entities."""
    records: list[dict[str, Any]] = []
    first = PurePath(documents[0][0].name)
    name = first.name if len(documents) == 1 else first.parent.name or f"{len(documents):,} texts"
    raw = RawSentences(FileInfo(name, "brat", columns=("text", "entities")), "document")
    for number, pair in enumerate(documents, 1):
        text, annotations = (_content(source, meter, options) for source in pair)
        found = list(_ENTITY.finditer(annotations))
        entities = [{"start": int(m[2]), "end": int(m[3]), "label": m[1], "text": m[4]} for m in found]
        for entity, match in zip(entities, found, strict=True):
            if ";" in match[0].split("\t")[1]:
                entity["text"] = ""
                report.repair(*_PARTS, raw, number)
        records.append({"text": text, "entities": entities})
    return sentences_of_spans(records, "text", "entities", raw, report)


def _content(source: Source, meter: Meter, options: ReadOptions) -> str:
    with reading_errors(source):
        if not source.size:
            return ""  # a text without entities
        with open_text(source, meter, options).text() as stream:
            return stream.read()
