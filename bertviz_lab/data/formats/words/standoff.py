"""Standoff annotations as brat saves them: the entities of `doc.txt` in `doc.ann`, `T1<tab>PER 0 10<tab>Anna Smith`."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.corpora.sources import Source, reading_errors
from bertviz_lab.data.corpora.streams import Meter, suffix_of
from bertviz_lab.data.examples import FileInfo
from bertviz_lab.data.formats.raw import DropReport, RawSentences, ReadOptions, open_text
from bertviz_lab.data.formats.words.character_spans import sentences_of_spans
from bertviz_lab.errors import InputError

ENDING = ".ann"
#: An entity. One of several parts, `0 3;8 12`, has gaps.
_ENTITY = re.compile(r"T\d+\t(?P<label>\S+) (?P<start>\d+) (?P<gaps>(?:\d+;\d+ )*)(?P<end>\d+)\t(?P<text>[^\r\n]*)")
_GAPS = "entity of several parts was read as one span", "entities of several parts were read as one span each"


def annotated_texts(sources: Sequence[Source]) -> list[tuple[Source, Source]]:
    """Return each text that has annotations next to it, with these.

    Raises `InputError` for annotations that are named without their text.
    """
    texts = [source for source in sources if suffix_of(source.name) == ".txt"]
    by_name = {source.name: source for source in texts}  # uploads are in a folder each
    by_place = {(source.path.parent, source.name): source for source in texts}
    pairs = []
    for source in sources:
        if suffix_of(source.name) == ENDING:
            name = str(PurePath(source.name).with_suffix(".txt"))
            if text := by_place.get((source.path.parent, name)) or by_name.get(name):
                pairs.append((text, source))
            elif source.named:
                raise InputError(f"{quoted(source.name)} annotates {quoted(name)}: give both files.")
    return pairs


def read_standoff(
    documents: Sequence[tuple[Source, Source]], meter: Meter, options: ReadOptions, report: DropReport
) -> RawSentences:
    """Return the words of each text with the labels of its entities."""
    first = PurePath(documents[0][0].name)
    name = first.name if len(documents) == 1 else first.parent.name or f"{len(documents):,} texts"
    raw = RawSentences(FileInfo(name, "brat", columns=("text", "entities")), "document")
    records = []
    for number, pair in enumerate(documents, 1):
        text, annotations = (_content(source, meter, options) for source in pair)
        entities = [match.groupdict() for match in _ENTITY.finditer(annotations)]
        if gaps := sum(bool(entity["gaps"]) for entity in entities):
            report.repair(*_GAPS, raw, number, gaps)
        records.append({"text": text, "entities": entities})
    return sentences_of_spans(records, "text", "entities", raw, report)


def _content(source: Source, meter: Meter, options: ReadOptions) -> str:
    with reading_errors(source), open_text(source, options, meter).text() as stream:
        return stream.read()
