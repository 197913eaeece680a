"""Data sets by name, through the `datasets` library: of the Hugging Face hub, or in a folder or file.

    dataset:NAME[:CONFIG][@SPLIT]      dataset:wikitext:wikitext-2-raw-v1@train, dataset:texts/folder, dataset:a.parquet

They are streamed, a row at a time. A row is a document. Where one row in ten or more is empty, as in wikitext, rows
are the lines of a text instead, and are read as those of a text file are (see `layout`). Asked for "file", the whole
set is one document.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Self

from bertviz_lab.data.corpora.formats.layout import guess_layout
from bertviz_lab.data.corpora.formats.records import record_paragraphs, text_field_of
from bertviz_lab.data.corpora.formats.text import Paragraphs, lay_out
from bertviz_lab.data.corpora.reading_notes import FileNotes, quoted
from bertviz_lab.errors import InputError

PREFIX = "dataset:"
_SAMPLE_ROWS = 1_000
_LINES = 0.1  # rows of which this share is empty are lines of a text
_FILE_KINDS = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".json": "json"}


@dataclass(frozen=True)
class DatasetName:
    """What `dataset:NAME[:CONFIG][@SPLIT]` names."""

    name: str
    config: str | None = None
    split: str | None = None

    @classmethod
    def parse(cls, entry: str) -> Self:
        """Take an entry apart. Raises `InputError` where there is no name."""
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
        """The files of a data set on this machine, in order; none for one of the hub."""
        path = Path(self.name)
        if path.is_file():
            return [path]
        inside = sorted(path.rglob("*")) if path.is_dir() else []
        return [file for file in inside if file.is_file() and not file.name.startswith(".")]

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, streamed. Raises `InputError` for what cannot be found, opened or read."""
        yield from self._streamed(self._open())

    def rows_and_classes(self) -> tuple[Iterator[dict[str, Any]], dict[str, tuple[str, ...]]]:
        """The rows as of `rows`, and for each field that holds numbers of classes (or lists of them) their names."""
        opened = self._open()
        features = getattr(opened, "features", None) or {}
        kinds = {name: getattr(feature, "feature", feature) for name, feature in features.items()}
        names = {name: tuple(kind.names) for name, kind in kinds.items() if hasattr(kind, "int2str")}
        return self._streamed(opened), names

    def _streamed(self, opened: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        try:
            yield from opened
        except Exception as error:  # the library, and the network below it, raise whatever they like
            raise self._trouble("could not be read to its end", error) from error

    def _open(self) -> Iterable[dict[str, Any]]:
        import datasets  # late: it takes seconds, and few runs need it

        path = Path(self.name)
        kind = _FILE_KINDS.get(path.suffix.lower()) if path.is_file() else None
        options = {"data_files": self.name} if kind else {}
        if path.suffix.lower() == ".tsv":
            options["sep"] = "\t"
        try:
            splits = dict(datasets.load_dataset(kind or self.name, self.config, streaming=True, **options))
        except Exception as error:
            raise self._trouble("could not be opened", error) from error
        split = self.split or ("train" if len(splits) > 1 else next(iter(splits)))
        if split not in splits:
            raise InputError(
                f"The data set {quoted(self.name)} has no split {quoted(split)}; it has "
                f"{', '.join(map(quoted, splits))}: put @{next(iter(splits))} after its name for the first."
            )
        return splits[split]

    def _trouble(self, what: str, error: Exception) -> InputError:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        choices = [line for line in str(error).splitlines()[1:] if "available" in line]
        reason = "; ".join([reason, *choices])
        return InputError(
            f"The data set {quoted(self.name)} {what} ({reason}); "
            "check its name and the network, or give a folder with its files."
        )


def dataset_paragraphs(
    rows: Iterator[dict[str, Any]],
    documents: str,
    text_field: str | None,
    notes: FileNotes,
    on_row: Callable[[int], None] = lambda characters: None,
) -> Paragraphs:
    """The texts of rows, with None where a document ends; `on_row` hears how many characters each row has.

    Raises:
        InputError: no field holds text, or there is no field `text_field`.
    """
    sample = list(islice(rows, _SAMPLE_ROWS))
    field = text_field_of(sample, text_field, notes.name) or ""

    def texts() -> Iterator[Any]:
        for row in chain(sample, rows):
            text = row.get(field)
            on_row(len(text) if isinstance(text, str) else 0)
            yield text

    empty = sum(not str(row.get(field) or "").strip() for row in sample)
    if documents != "file" and empty < _LINES * len(sample):
        yield from record_paragraphs(texts(), None, notes)
        notes.layout = f"A row is a document, its text is field {quoted(field)}."
        return
    layout = guess_layout(list(_lines(row.get(field) for row in sample)), documents)
    notes.layout = f"The rows are lines of text, in field {quoted(field)}. {layout.description}"
    yield from lay_out(_lines(texts()), layout)


def _lines(texts: Iterator[Any]) -> Iterator[str]:
    for text in texts:
        parts = text if isinstance(text, list) else [text]
        yield from [line for part in parts if isinstance(part, str) for line in part.splitlines()] or [""]
