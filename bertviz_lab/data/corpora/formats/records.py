"""JSON lines and JSON lists: a record is a document; the text field is inferred.

A .json file is decoded value by value as it is read, so that a long list is never held in memory as a whole.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TextIO

from bertviz_lab.data.corpora.formats.tables import LONGEST_LINE, whole_lines
from bertviz_lab.data.corpora.formats.text import (
    Paragraphs,
    cell_documents,
    has_ids,
    has_texts,
    known_name,
    text_field_in,
    texts_by_field,
    texts_of,
)
from bertviz_lab.data.corpora.reading_notes import FileNotes, quoted, quoted_list
from bertviz_lab.errors import InputError

_SAMPLE_RECORDS = 50
_BLOCK = 1 << 16
_BLANKS = " \t\r\n\ufeff"


def record_paragraphs(records: Iterator[Any], text_field: str | None, notes: FileNotes) -> Paragraphs:
    """Return the texts of records (objects, strings, lists of them), each ended by None. Raises as `text_field_of`.

    A single object with a text under each title is as many records.
    """
    sample = list(islice(records, _SAMPLE_RECORDS))
    if text_field is None and len(sample) == 1 and has_texts(sample[0]):
        sample = [*sample[0].values()]
    field = text_field_of(sample, text_field, notes.name)
    which = f", its text is field {quoted(field)}" if field is not None else ""
    notes.layout = f"A record is a document{which}."

    def texts(some: Iterable[Any]) -> Iterator[list[str]]:
        return (texts_of(record, field or "") for record in some)

    yield from cell_documents(texts(sample), texts(chain(sample, records)), notes)


def text_field_of(sample: list[Any], text_field: str | None, name: str) -> str | None:
    """Return the text field of such records; None where they are strings. Raises `InputError` where none holds text."""
    objects = [record for record in sample if isinstance(record, dict)]
    if not objects:
        return None
    if text_field is None:
        field = text_field_in(objects)
        if field is None and len(objects) == len(sample):
            raise InputError(f"{quoted(name)} has no field that holds text; give the texts as strings.")
        return field
    names = {name for record in objects for name, _ in texts_by_field(record)}
    if text_field not in names:
        raise InputError(f"{quoted(name)} has no field {quoted(text_field)}; it has {quoted_list(sorted(names), 20)}.")
    return text_field


def _fault(error: Exception) -> str:
    """Return what is wrong with a text that `json` refused."""
    nested = isinstance(error, RecursionError)
    return getattr(error, "msg", "it is nested too deeply" if nested else "a number has thousands of digits")


def json_lines(stream: TextIO, name: str) -> Iterator[Any]:
    """Yield the value of each line, or the records of a list of them; skip blank lines.

    Raises `InputError` with the line number for invalid JSON.
    """
    for number, line in enumerate(whole_lines(stream, name), 1):
        line = line.strip(_BLANKS)
        if not line:
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            what = f"Line {number:,} of {quoted(name)} is not JSON ({_fault(error)})"
            raise InputError(f"{what}; correct it there.") from None
        are_records = isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)
        yield from value if are_records else [value]


def json_values(stream: TextIO, name: str, *, unpack: bool = True) -> Iterator[Any]:
    """Yield the items of a list, or values in turn; to `unpack`, of an object its longest list, or its records by id.

    Raises `InputError` with the line.
    """
    text = _Window(stream, name)
    in_list = text.after(_BLANKS) == "["
    if in_list:
        text.position += 1
    while True:
        following = text.after(_BLANKS + ",")
        if following == "" and in_list:
            raise text.error("the list is not closed")
        if following == "" or (in_list and following == "]"):
            return
        value = text.value()
        if unpack and isinstance(value, dict) and not in_list:
            lists = [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], (str, dict))]
            if lists and known_name(list(value)) is None:
                yield from max(lists, key=len)
                continue
            if has_ids(value):
                yield from value.values()
                continue
        yield value


class _Window:
    """The part of a JSON text that is being decoded."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self._stream, self._name = stream, name
        self._decode: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().raw_decode
        self._text, self._line = "", 1
        self.position = 0

    def after(self, characters: str) -> str:
        """Move the cursor behind these characters, and return the one that it is at; "" at the end."""
        while True:
            while self.position < len(self._text) and self._text[self.position] in characters:
                self.position += 1
            if self.position < len(self._text) or not self._more(_BLOCK):
                return self._text[self.position : self.position + 1]

    def value(self) -> Any:
        """Return the value at the cursor; the cursor moves behind it."""
        size = _BLOCK
        while True:
            try:
                value, end = self._decode(self._text, self.position)
            except (ValueError, RecursionError) as error:
                # It may be incomplete: read on. The blocks double, so that little is decoded twice.
                if isinstance(error, RecursionError) or len(self._text) > LONGEST_LINE or not self._more(size):
                    raise self.error(_fault(error), error) from None
                size *= 2
                continue
            if end == len(self._text) and self._more(_BLOCK):
                continue  # a number may continue in the next block
            self.position = end
            return value

    def error(self, what: str, error: Exception | None = None) -> InputError:
        at = getattr(error, "pos", self.position)
        line = self._line + self._text.count("\n", 0, at)
        return InputError(f"{quoted(self._name)} is not JSON from line {line:,} on ({what}); correct it there.")

    def _more(self, size: int) -> bool:
        block = self._stream.read(size)
        if not block:
            return False
        self._line += self._text.count("\n", 0, self.position)
        self._text, self.position = self._text[self.position :] + block, 0
        return True
