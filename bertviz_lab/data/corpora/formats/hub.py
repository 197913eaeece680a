"""Data sets through the `datasets` library: from the Hugging Face hub, a folder or a file.

    dataset:NAME[:CONFIG][@SPLIT]      dataset:wikitext:wikitext-2-raw-v1@train, dataset:texts/folder, dataset:a.parquet

Rows are streamed. A row is a document; but where one row in ten or more is empty, as in wikitext, rows are lines of
text, and are read like those of a text file (see `layout`). With mode "file", the whole set is one document.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self

from bertviz_lab.data.corpora.formats.records import record_paragraphs, text_field_of
from bertviz_lab.data.corpora.formats.text import Paragraphs, cell_lines, line_paragraphs, texts_of
from bertviz_lab.data.corpora.reading_notes import FileNotes, quoted
from bertviz_lab.errors import InputError

PREFIX = "dataset:"
_FILE_KINDS = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".json": "json"}


@dataclass(frozen=True)
class DatasetName:
    """The parts of `dataset:NAME[:CONFIG][@SPLIT]`."""

    name: str
    config: str | None = None
    split: str | None = None

    @classmethod
    def parse(cls, entry: str) -> Self:
        """Parse an entry. Raises `InputError` where there is no name."""
        rest, split = entry.removeprefix(PREFIX), None
        if "@" in rest and not Path(rest).exists():
            rest, split = rest.rsplit("@", 1)
        config = None
        if ":" in rest and not Path(rest).exists():
            rest, config = rest.rsplit(":", 1)
        if not rest:
            raise InputError(f"{quoted(entry)} names no data set; write dataset:NAME, dataset:NAME:CONFIG@SPLIT.")
        return cls(rest, config or None, split or None)

    def files(self) -> list[Path]:
        """Return the files of a local data set, in order; none for one of the hub."""
        path = Path(self.name)
        if path.is_file():
            return [path]
        inside = sorted(path.rglob("*")) if path.is_dir() else []
        return [file for file in inside if file.is_file() and not file.name.startswith(".")]

    def rows_and_classes(self) -> tuple[Iterator[dict[str, Any]], dict[str, tuple[str, ...]]]:
        """Return a stream of rows, and class names of each field of class ids or lists of them. Raises `InputError`."""
        opened = self.open()
        features = getattr(opened, "features", None) or {}
        kinds = {name: getattr(feature, "feature", feature) for name, feature in features.items()}
        names = {name: tuple(kind.names) for name, kind in kinds.items() if hasattr(kind, "int2str")}
        return self.streamed(opened), names

    def streamed(self, opened: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the rows of an opened data set. Raises `InputError` if they cannot be read."""
        try:
            yield from opened
        except Exception as error:  # the library and the network raise errors of any type
            raise self._error("could not be read to its end", error) from error

    def open(self) -> Any:
        """Return the split as a `datasets.IterableDataset`. Raises `InputError` if it cannot be found or opened."""
        import datasets  # imported here: it takes seconds, and few runs need it

        path = Path(self.name)
        kind = _FILE_KINDS.get(path.suffix.lower()) if path.is_file() else None
        options = {"data_files": self.name} if kind else {}
        if path.suffix.lower() == ".tsv":
            options["sep"] = "\t"
        try:
            splits = dict(datasets.load_dataset(kind or self.name, self.config, streaming=True, **options))
        except Exception as error:
            raise self._error("could not be opened", error) from error
        split = self.split or ("train" if len(splits) > 1 else next(iter(splits)))
        if split not in splits:
            names = f"{', '.join(map(quoted, splits))}: put @{next(iter(splits))} after its name for the first."
            raise InputError(f"The data set {quoted(self.name)} has no split {quoted(split)}; it has {names}")
        return splits[split]

    def _error(self, what: str, error: Exception) -> InputError:
        first, *others = (str(error).strip() or type(error).__name__).splitlines()
        reason = "; ".join([first.rstrip("."), *(line for line in others if "available" in line)])
        advice = "check its name and the network, or give a folder with its files."
        return InputError(f"The data set {quoted(self.name)} {what} ({reason}); {advice}")


class ResumableRows(Iterator[dict[str, Any]]):
    """The rows of a data set after the first `skip`, or from `place` on, which an earlier reader was at."""

    def __init__(self, dataset: DatasetName, skip: int = 0, place: dict[str, Any] | None = None) -> None:
        self._opened = dataset.open().skip(skip)
        if place is not None:
            self._opened.load_state_dict(place)
        self._start = place
        self._rows = dataset.streamed(self._opened)
        self._has_begun = False

    def __next__(self) -> dict[str, Any]:
        row = next(self._rows)
        self._has_begun = True
        return row

    @property
    def place(self) -> dict[str, Any] | None:
        """Where the next row is, as JSON can hold it; None at the start."""
        return self._opened.state_dict() if self._has_begun else self._start


def rows_are_lines(sample: list[dict[str, Any]], field: str) -> bool:
    """Return whether rows are lines of text, as in wikitext, and not documents: one in ten is empty."""
    return sum(not "".join(texts_of(row, field)).strip() for row in sample) >= 0.1 * max(1, len(sample))


def dataset_paragraphs(
    rows: Iterator[dict[str, Any]],
    documents: str,
    text_field: str | None,
    notes: FileNotes,
    on_row: Callable[[int], None] = lambda characters: None,
) -> Paragraphs:
    """Return the texts of rows, each document ended by None; `on_row` is called with each row's characters."""
    sample = list(islice(rows, 1_000))
    field = text_field_of(sample, text_field, notes.name) or ""

    def texts() -> Iterator[list[str]]:
        for row in chain(sample, rows):
            text = texts_of(row, field)
            on_row(sum(map(len, text)))
            yield text

    if documents != "file" and not rows_are_lines(sample, field):
        yield from record_paragraphs(texts(), None, notes)
        notes.layout = f"A row is a document, its text is field {quoted(field)}."
        return
    lines = [*_lines(texts_of(row, field) for row in sample)]
    paragraphs = line_paragraphs(lines, _lines(texts()), documents, notes)
    notes.layout = f"The rows are lines of text, in field {quoted(field)}. {notes.layout}"
    yield from paragraphs


def _lines(texts: Iterator[Any]) -> Iterator[str]:
    for text in texts:
        yield from [line for lines in cell_lines(text) for line in lines] or [""]
