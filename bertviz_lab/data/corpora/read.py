"""Read text files as documents of sentences: the entry point for every corpus.

Files are streamed, a part of a document at a time, so memory use does not depend on their size.
"""

import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from bertviz_lab.data.corpora.encodings import recognize
from bertviz_lab.data.corpora.formats.hub import PREFIX as DATASET_PREFIX
from bertviz_lab.data.corpora.formats.hub import DatasetName, dataset_paragraphs
from bertviz_lab.data.corpora.formats.markdown import markdown_paragraphs
from bertviz_lab.data.corpora.formats.records import json_lines, json_values, record_paragraphs
from bertviz_lab.data.corpora.formats.tables import table_paragraphs
from bertviz_lab.data.corpora.formats.text import Paragraphs, text_paragraphs
from bertviz_lab.data.corpora.reading_notes import FileNotes, ReadingNotes, quoted
from bertviz_lab.data.corpora.sources import MAX_BYTES, Meter, Source, close_archives, find_sources, given_twice
from bertviz_lab.data.documents import Document, split_and_count
from bertviz_lab.data.samples import SAMPLES
from bertviz_lab.errors import InputError

__all__ = ["DOCUMENT_MODES", "MAX_BYTES", "PART_SENTENCES", "Document", "ReadingNotes", "read_documents"]

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
    """The documents of some files, as a stream.

    Args:
        paths: .txt, .md, .csv, .tsv, .jsonl and .json files, .zip files of these, folders (all such files in
            them) and patterns ("books/*.txt"); "sample:NAME" for a text that ships with the lab, and
            "dataset:NAME" for a data set (see `formats.hub`; these two are read first). Files with other endings
            are read as plain text if they are text.
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
    reading = _Reading(documents, text_field or None, notes)
    total = 0 if datasets else sum(s.size for s in sources)
    return reading.run(streams, datasets, sources, Meter(total, max_bytes, on_progress))


def sort_entries(
    entries: Sequence[str | Path], notes: ReadingNotes
) -> tuple[list[str], list[DatasetName], list[str | Path]]:
    """The samples, the data sets, and the files, folders and patterns among the entries of a corpus.

    A sample or data set that is given again is noted.
    """
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


class _Reading:
    """One pass over the sources with given options."""

    def __init__(self, documents: str, text_field: str | None, notes: ReadingNotes) -> None:
        self._mode, self._text_field, self._notes = documents, text_field, notes

    def run(
        self,
        samples: list[Callable[[], Iterator[Document]]],
        datasets: list[DatasetName],
        sources: list[Source],
        meter: Meter,
    ) -> Iterator[Document]:
        any_document = False
        try:
            for sample in samples:
                for document in sample():
                    any_document = True
                    yield document
            for dataset in datasets:
                for document in self._numbered(dataset.name, self._rows(dataset, meter)):
                    any_document = True
                    yield document
            for source in sources:
                try:
                    for document in self._documents(source, meter):
                        any_document = True
                        yield document
                except InputError as error:
                    if source.named or meter.done > meter.max_bytes:
                        raise
                    self._notes.skipped.append(str(error))
        finally:
            close_archives(sources)
        if not any_document:
            reasons = self._notes.skipped
            if len(reasons) == 1:
                raise InputError(reasons[0])
            raise InputError(f"None of these {len(reasons)} files could be read; the first: {reasons[0]}")
        meter.finish()

    def _documents(self, source: Source, meter: Meter) -> Iterator[Document]:
        try:
            yield from self._numbered(source.name, self._parts(source, meter))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            if source.archive is None:
                raise
            raise InputError(f"{quoted(source.name)} is damaged inside its zip; make the zip again.") from error
        except OSError as error:
            raise InputError(
                f"{quoted(source.name)} could not be read ({error.strerror or error}); try again."
            ) from error

    def _numbered(self, name: str, parts: Iterator[tuple[tuple[str, ...], bool]]) -> Iterator[Document]:
        """The documents of a source, named after it and numbered from the second on."""
        number = 0
        for sentences, continues in parts:
            number += not continues
            yield Document(name if number == 1 else f"{name} #{number}", sentences, continues)
        if number == 0:
            raise InputError(f"{quoted(name)} holds no words; choose a file with text in it.")

    def _parts(self, source: Source, meter: Meter) -> Iterator[tuple[tuple[str, ...], bool]]:
        """The sentences of a document or a part of one, and whether it continues the previous one."""
        notes = FileNotes(source.name, recognize(source))
        with closing(io.TextIOWrapper(source.open(meter), encoding=notes.encoding, errors="replace")) as stream:
            self._notes.files.append(notes)
            yield from self._split(self._paragraphs(source, stream, notes), notes)

    def _rows(self, dataset: DatasetName, meter: Meter) -> Iterator[tuple[tuple[str, ...], bool]]:
        notes = FileNotes(dataset.name, "a data set")
        self._notes.files.append(notes)
        rows = dataset_paragraphs(
            dataset.rows(), self._mode, self._text_field, notes, lambda count: meter.add(count, dataset.name)
        )
        yield from self._split(rows, notes)

    def _split(self, paragraphs: Paragraphs, notes: FileNotes) -> Iterator[tuple[tuple[str, ...], bool]]:
        sentences: list[str] = []
        continues = False
        for paragraph in paragraphs:
            if paragraph is None:
                if sentences:
                    yield tuple(sentences), continues
                sentences, continues = [], False
                continue
            if "\ufffd" in paragraph:
                notes.replaced += paragraph.count("\ufffd")
            new_sentences, cut = split_and_count(paragraph)
            self._notes.sentences_cut += cut
            sentences += new_sentences
            while len(sentences) > PART_SENTENCES:
                yield tuple(sentences[:PART_SENTENCES]), continues
                sentences, continues = sentences[PART_SENTENCES:], True
        if sentences:
            yield tuple(sentences), continues

    def _paragraphs(self, source: Source, stream: io.TextIOWrapper, notes: FileNotes) -> Paragraphs:
        if source.format == "table":
            return table_paragraphs(stream, self._text_field, notes)
        if source.format in ("jsonl", "json"):
            values = json_lines if source.format == "jsonl" else json_values
            return record_paragraphs(values(stream, source.name), self._text_field, notes)
        if source.format == "markdown":
            return markdown_paragraphs(stream, self._mode, notes)
        return text_paragraphs(stream, self._mode, notes)


#: A larger file is identified by its path, size, modification time and ends, since reading it whole takes long.
_READ_WHOLE = 2_000_000_000
_END = 1 << 16
_BLOCK = 1 << 20


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
    # Order, format and names inside a zip matter; names of files do not.
    parts = [
        *(
            (dataset.config, dataset.split, [(path.suffix, contents[path]) for path in dataset.files()])
            for dataset in datasets
        ),
        *((s.format, s.member.filename if s.member else None, contents[s.path]) for s in sources),
        *notes.skipped,  # what a run says of them is kept with the text
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _hashes(paths: Iterable[Path], on_progress: Callable[[int, int], None]) -> dict[Path, str]:
    sizes = {path: path.stat().st_size for path in paths}
    done, total = 0, sum(sizes.values())
    hashes = {}
    for path, size in sizes.items():
        digest = hashlib.blake2b(digest_size=16)
        with path.open("rb") as file:
            if size < _READ_WHOLE:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    done += len(block)
                    on_progress(done, total)
            else:
                digest.update(f"{path.resolve()}\n{size}\n{path.stat().st_mtime_ns}\n".encode(errors="replace"))
                digest.update(file.read(_END))
                file.seek(-_END, 2)
                digest.update(file.read(_END))
        hashes[path] = digest.hexdigest()
    return hashes
