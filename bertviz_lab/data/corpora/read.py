"""Read text files as documents of sentences: the entry point for every corpus.

Files are streamed, a part of a document at a time, so memory use does not depend on their size.
"""

import hashlib
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from bertviz_lab.data.corpora.encodings import recognize
from bertviz_lab.data.corpora.formats.hub import PREFIX as DATASET_PREFIX
from bertviz_lab.data.corpora.formats.hub import DatasetName, dataset_paragraphs
from bertviz_lab.data.corpora.formats.markdown import markdown_paragraphs
from bertviz_lab.data.corpora.formats.mediawiki import is_mediawiki, mediawiki_paragraphs
from bertviz_lab.data.corpora.formats.records import json_lines, json_values, record_paragraphs
from bertviz_lab.data.corpora.formats.tables import table_paragraphs
from bertviz_lab.data.corpora.formats.text import Paragraphs, text_paragraphs
from bertviz_lab.data.corpora.reading_notes import FileNotes, ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import (
    MAX_BYTES,
    Source,
    close_archives,
    find_sources,
    given_twice,
    reading_errors,
)
from bertviz_lab.data.corpora.streams import Meter
from bertviz_lab.data.documents import Document, split_and_count
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.errors import InputError

DOCUMENT_MODES = ("auto", "blank-line", "file")
SAMPLE_PREFIX = "sample:"

#: A longer document is split into parts of this many sentences, so that a book of 50 MB is never held as a whole.
PART_SENTENCES = 5_000


def read_documents(
    paths: Sequence[str | Path] | str | Path,
    *,
    documents: str = "auto",
    text_field: str | None = None,
    max_bytes: float = MAX_BYTES,
    on_progress: Callable[[int, int], None] | None = None,
    notes: ReadingNotes | None = None,
) -> Iterator[Document]:
    """Return the documents of some files, as a stream.

    Args:
        paths: .txt, .md, .csv, .tsv, .jsonl and .json files, .zip files of these, folders (all such files in
            them) and patterns ("books/*.txt"); "sample:NAME" for a text that ships with the lab, and
            "dataset:NAME" for a data set (see `formats.hub`; these two are read first). Files with other endings
            are read as plain text if they are text, or as a dump of a MediaWiki.
        documents: "blank-line" (a blank line ends a document), "file" (a file is one) or "auto", which decides
            for each file as `formats.layout` explains. A table row or JSON record is always a document.
        text_field: the column or field that holds the text; None or "" infers it.
        max_bytes: maximum size of all files, unpacked; `math.inf` for no limit.
        on_progress: called with (bytes read, total bytes) about two hundred times, and at the end; the total is
            0 where it is not known.
        notes: filled with how each file was read.

    Returns:
        An iterator of documents; one of more than `PART_SENTENCES` sentences is split into parts, all but the
        first with `Document.continues`.

    Raises:
        InputError: immediately for problems in the file system (missing, empty, too large, not a zip), and while
            reading for problems of the content (not text, not JSON, no words). Files in a folder or zip are
            skipped and noted instead, unless nothing is left.
    """
    if documents not in DOCUMENT_MODES:
        raise InputError(f"Documents can be told apart by {', '.join(DOCUMENT_MODES)}, not by {quoted(documents)}.")
    notes = notes if notes is not None else ReadingNotes()
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    samples, datasets, files = sort_entries(given, notes)
    streams = [_sample(name) for name in samples]
    sources = find_sources(files, notes, max_bytes) if files or not (samples or datasets) else []
    total = 0 if datasets else sum(s.size for s in sources)
    reading = _Reading(documents, text_field or None, notes, Meter(total, max_bytes, on_progress))
    return reading.run(streams, datasets, sources)


def sort_entries(
    entries: Sequence[str | Path], notes: ReadingNotes
) -> tuple[list[str], list[DatasetName], list[str | Path]]:
    """Return the samples, the data sets and the other entries of a corpus; one that is given again is noted."""
    names: dict[str, None] = {}
    files: list[str | Path] = []
    for entry in entries:
        if not isinstance(entry, str) or not entry.startswith((SAMPLE_PREFIX, DATASET_PREFIX)):
            files.append(entry)
        elif entry in names:
            notes.skipped.append(given_twice(entry))
        else:
            names[entry] = None
    samples = [name for name in names if name.startswith(SAMPLE_PREFIX)]
    return samples, [DatasetName.parse(name) for name in names if name not in samples], files


def _sample(path: str) -> Callable[[], Iterator[Document]]:
    name, _, part = path.removeprefix(SAMPLE_PREFIX).partition(":")
    if name not in SAMPLES:
        raise InputError(f"There is no sample {quoted(name)}; there are {', '.join(sorted(SAMPLES))}.")
    documents = SAMPLES[name].held_out if part == "held-out" else None if part else SAMPLES[name].documents
    if documents is None:
        raise InputError(f"The sample {quoted(name)} has no part {quoted(part)}.")
    return documents


@dataclass(frozen=True)
class _Reading:
    """One pass over the sources with given options."""

    mode: str
    text_field: str | None
    notes: ReadingNotes
    meter: Meter

    def run(
        self, samples: list[Callable[[], Iterator[Document]]], datasets: list[DatasetName], sources: list[Source]
    ) -> Iterator[Document]:
        any_document = False
        streams = chain((sample() for sample in samples), map(self._rows, datasets), map(self._source, sources))
        try:
            for document in chain.from_iterable(streams):
                any_document = True
                yield document
        finally:
            close_archives(sources)
        if not any_document:
            reasons = self.notes.skipped
            if len(reasons) == 1:
                raise InputError(reasons[0])
            raise InputError(f"None of these {len(reasons)} files could be read; the first: {reasons[0]}")
        self.meter.finish()

    def _rows(self, dataset: DatasetName) -> Iterator[Document]:
        notes = FileNotes(dataset.name, "a data set")
        rows, _ = dataset.rows_and_classes()
        on_row = partial(self.meter.add, name=dataset.name)
        yield from self._documents(dataset_paragraphs(rows, self.mode, self.text_field, notes, on_row), notes)

    def _source(self, source: Source) -> Iterator[Document]:
        try:
            with reading_errors(source):
                notes = FileNotes(source.name, recognize(source))
                binary = source.open(self.meter)
                with closing(io.TextIOWrapper(binary, encoding=notes.encoding, errors="replace")) as stream:
                    dump = source.format == "text" and is_mediawiki(binary.peek(1024))
                    paragraphs = (
                        mediawiki_paragraphs(binary, notes) if dump else self._paragraphs(source, stream, notes)
                    )
                    yield from self._documents(paragraphs, notes)
        except InputError as error:
            if source.named or self.meter.done > self.meter.max_bytes:
                raise
            self.notes.skipped.append(str(error))

    def _documents(self, paragraphs: Paragraphs, notes: FileNotes) -> Iterator[Document]:
        """Yield the documents of a source, named after it and numbered from the second on; long ones in parts."""
        self.notes.files.append(notes)
        sentences: list[str] = []
        number, continues = 0, False
        for paragraph in chain(paragraphs, [None]):
            if paragraph is not None:
                notes.replaced += paragraph.count("\ufffd")
                new_sentences, cut = split_and_count(paragraph)
                self.notes.sentences_cut += cut
                sentences += new_sentences
            while len(sentences) > PART_SENTENCES or (paragraph is None and sentences):
                number += not continues
                name = notes.name if number == 1 else f"{notes.name} #{number}"
                yield Document(name, tuple(sentences[:PART_SENTENCES]), continues)
                sentences, continues = sentences[PART_SENTENCES:], True
            continues = continues and paragraph is not None
        if number == 0:
            raise InputError(f"{quoted(notes.name)} holds no words; choose a file with text in it.")

    def _paragraphs(self, source: Source, stream: io.TextIOWrapper, notes: FileNotes) -> Paragraphs:
        if source.format == "table":
            return table_paragraphs(stream, self.text_field, notes)
        if source.format in ("jsonl", "json", "notebook"):
            values = json_lines if source.format == "jsonl" else json_values
            field = "source" if source.format == "notebook" else self.text_field  # of a notebook's cells
            return record_paragraphs(values(stream, source.name), field, notes)
        if source.format == "markdown":
            return markdown_paragraphs(stream, self.mode, notes)
        return text_paragraphs(stream, self.mode, notes)


def fingerprint(
    entries: Sequence[str | Path], on_progress: Callable[[int, int], None] = lambda done, total: None
) -> str | None:
    """32 hexadecimal digits that identify the text of the entries of a corpus, see `read_documents`.

    None for samples, which are generated, and data sets of the hub: they have no files to compare. Raises `InputError`
    as `find_sources` does.
    """
    notes = ReadingNotes()
    samples, datasets, files = sort_entries(entries, notes)
    if samples or not all(dataset.files() for dataset in datasets):
        return None
    sources = find_sources(files, notes, math.inf) if files or not datasets else []
    close_archives(sources)
    paths = [*(path for dataset in datasets for path in dataset.files()), *(source.path for source in sources)]
    contents = _hashes(paths, on_progress)
    # Names matter too: what a run says of its files is kept with the text. That of their folder does not.
    parts = [
        *((each.config, each.split, [(path.suffix, contents[path]) for path in each.files()]) for each in datasets),
        *((s.format, s.path.name, s.member and s.member.filename, contents[s.path]) for s in sources),
        *notes.skipped,
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _hashes(paths: Iterable[Path], on_progress: Callable[[int, int], None]) -> dict[Path, str]:
    sizes = {path: path.stat().st_size for path in paths}
    done, total = 0, sum(sizes.values())
    hashes = {}
    for path in sizes:
        digest = hashlib.blake2b(digest_size=16)
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
                done += len(block)
                on_progress(done, total)
        hashes[path] = digest.hexdigest()
    return hashes
