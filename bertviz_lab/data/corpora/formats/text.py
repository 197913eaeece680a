"""Plain text as paragraphs, with None at the end of each document."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, TextIO

from bertviz_lab.data.corpora.formats.layout import Layout, Markup, find_markup, guess_layout, is_divided, is_wrapped
from bertviz_lab.data.corpora.reading_notes import FileNotes
from bertviz_lab.data.documents import count_words

TEXT_NAMES = (
    "text", "full_text", "sentence", "sentences", "content", "body", "document", "article", "paragraph", "passage",
    "context", "review", "review text", "review_text", "reviewtext", "message", "comment", "tweet", "post", "story",
    "description", "abstract", "summary",
)  # fmt: skip
_MOST_FIELDS = 20  # that a record may have all of texts; an object with more holds a text under each name
_LONG = 20  # words of a text that can hardly be a title or a name


def column_title(name: str) -> str:
    """Return the name of a column as people see it: without zero-width characters, and with single blanks inside."""
    return " ".join("".join(c for c in name if unicodedata.category(c) != "Cf").split())


def known_name(names: Sequence[str]) -> int | None:
    """Index in `names` of the first of `TEXT_NAMES` that occurs, ignoring case; None if none does."""
    lower = [column_title(name).lower() for name in names]
    return next((lower.index(name) for name in TEXT_NAMES if name in lower), None)


def texts_by_field(record: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts of a record in reading order, each with its field: the names that lead to it, joined by dots.

    Lists and ids have no names: in `{"messages": [{"content": "Hello"}]}` the text is in the field `messages.content`,
    and in `{"data": {"a1": {"text": "One"}, "a2": {"text": "Two"}}}` in `data.text`.
    """
    rest = [("", record)]  # no recursion: a record may be nested deeply
    while rest:
        field, value = rest.pop()
        if isinstance(value, str):
            yield field, value
        elif isinstance(value, list):
            rest += [(field, part) for part in reversed(value)]
        elif isinstance(value, dict):
            names = (field if has_ids(value) else f"{field}.{name}" if field else name for name in reversed(value))
            rest += zip(names, reversed(value.values()), strict=True)


def has_ids(value: dict[str, Any]) -> bool:
    """Return whether an object holds records under their ids: objects whose names all have a digit."""
    return len(value) > 1 and all(isinstance(part, dict) and re.search(r"\d", name) for name, part in value.items())


def has_texts(record: Any) -> bool:
    """Return whether an object has a text under each title: more texts than a record has fields, or long ones only."""
    if not isinstance(record, dict) or len(record) < 3 or known_name([*record]) is not None:
        return False
    are_many, texts = len(record) > _MOST_FIELDS, record.values()
    return all(isinstance(text, str) and (are_many or count_words(text) >= _LONG) for text in texts)


def texts_of(record: Any, field: str) -> list[str]:
    """Return the texts of one field of a record; of a record that is a text or a list of texts, itself."""
    return [text for name, text in texts_by_field(record) if name in ("", field)]


def text_field_in(records: Sequence[Any]) -> str | None:
    """Return the text field: one of `TEXT_NAMES`, else that with most words (no picture is one); None without texts."""
    words: Counter[str] = Counter()
    for field, text in chain.from_iterable(map(texts_by_field, records)):
        words[field] += count_words(text)
    fields = list(words)
    known = known_name(fields)
    return fields[known] if known is not None else max(fields, key=lambda field: words[field], default=None)


#: Paragraphs in reading order; None ends a document.
Paragraphs = Iterator[str | None]

#: A paragraph is yielded in parts of at most this many characters, to limit memory.
LONGEST_PART = 1 << 16
_SENTENCE_END = re.compile(r"[.!?…]['\"”’)\]]*\s|[。！？।؟۔]")


def pieces(stream: TextIO) -> Iterator[str]:
    """Yield the lines of a stream without their ends; those of more than `LONGEST_PART` characters in parts."""
    rest = ""
    while line := stream.readline(LONGEST_PART - len(rest)):
        line, rest = rest + line, ""
        if line.endswith("\n"):
            yield line[:-1]
        elif len(line) < LONGEST_PART:  # the last line, without a line end
            yield line
        else:
            end = cut_point(line)
            yield line[:end]
            rest = line[end:]
    if rest:
        yield rest


def sample_lines(lines: Iterator[str], max_lines: int = 500, max_characters: int = 1 << 20) -> list[str]:
    """Return the first lines, from which the format is inferred."""
    sample, characters = [], 0
    for line in islice(lines, max_lines):
        sample.append(line)
        characters += len(line)
        if characters > max_characters:
            break
    return sample


def cut_point(text: str) -> int:
    """Return where to split too long a text: after the last sentence or word of its second half, or at the end."""
    half = len(text) // 2
    ends = [match.end() for match in _SENTENCE_END.finditer(text, half)]
    if ends:
        return ends[-1]
    blank = text.rfind(" ", half)
    return blank + 1 if blank > 0 else len(text)


def text_paragraphs(stream: TextIO, documents: str, notes: FileNotes) -> Paragraphs:
    """Plain text; see `layout` for what a paragraph and a document are."""
    lines = pieces(stream)
    sample = sample_lines(lines, 4_000, 400_000)
    return line_paragraphs(sample, chain(sample, lines), documents, notes)


def line_paragraphs(sample: Sequence[str], lines: Iterable[str], documents: str, notes: FileNotes) -> Paragraphs:
    """Return lines of text that begin with `sample`, without their markup."""
    markup = find_markup(sample)
    stripped = [line for line in markup.strip(sample) if line is not None]
    layout = guess_layout(stripped, documents, has_paragraphs=markup.has_paragraphs)
    kept = markup.strip(lines)
    if documents == "file":
        kept = (line for line in kept if line is not None)
    elif documents == "auto" and markup.has_documents:
        layout = replace(layout, gap=0, description="")
    notes.markup, notes.layout = markup.description, layout.description
    notes.blank_after_sentence, notes.blank_ends_document = layout.blank_after_sentence, layout.gap == 1
    return lay_out(kept, layout)


def lay_out(lines: Iterable[str | None], layout: Layout) -> Paragraphs:
    """Return lines as paragraphs and document ends, according to `layout`; None ends a document."""
    paragraph = Paragraph(layout.divided)
    blank = 0
    for line in lines:
        if line is None:
            yield from paragraph.end()
            yield None
            continue
        if not line or line.isspace():
            yield from paragraph.end()
            blank += 1
            if blank == layout.gap:
                yield None
            continue
        blank = 0
        if not layout.wrapped:
            yield line
            continue
        if paragraph.lines and line[0].isspace() and not paragraph.lines[-1][0].isspace():
            yield from paragraph.end()  # an indented first line begins a paragraph
        yield from paragraph.add(line)
    yield from paragraph.end()


def cell_lines(value: Any) -> list[list[str]]:
    """Return the lines of a text, or of each in a list of texts, in a table or a record; none of anything else."""
    return [part.splitlines() for part in (value if isinstance(value, list) else [value]) if isinstance(part, str)]


def cell_paragraphs(value: Any, markup: Markup | None = None) -> Paragraphs:
    """Return the paragraphs of such a text, without its markup."""
    for lines in cell_lines(value):
        plain = [*markup.strip(lines)] if markup else lines
        yield from lay_out(plain, Layout(is_wrapped([line or "" for line in plain]), gap=0))


def cell_documents(sample: Iterable[Any], values: Iterable[Any], notes: FileNotes) -> Paragraphs:
    """Return the paragraphs of such texts, each ended by None; the `sample` of them shows their markup."""
    markup = find_markup([line for value in sample for lines in cell_lines(value) for line in lines])
    notes.markup = markup.description
    for value in values:
        paragraphs = list(cell_paragraphs(value, markup))
        if any(paragraphs):
            yield from paragraphs
            yield None
        else:
            notes.skipped_rows += 1


class Paragraph:
    """Lines collected until a paragraph ends, or is too long to hold in memory."""

    def __init__(self, divided: bool = False) -> None:
        self._divided = divided  # see `Layout`
        self.lines: list[str] = []
        self._size = 0

    def add(self, line: str) -> Iterator[str]:
        self.lines.append(line)
        self._size += len(line) + 1
        if self._size > LONGEST_PART:
            text = self.take()
            end = cut_point(text)
            yield text[:end]
            if text[end:].strip():
                self.lines, self._size = [text[end:]], len(text) - end

    def end(self) -> Iterator[str]:
        if self.lines:
            yield self.take()

    def take(self) -> str:
        """Join the lines; without a space inside a word, and between two characters of a script that has none."""
        text = ""
        for line in map(str.strip, self.lines):
            inside = is_divided(text[-2:], line)
            unspaced = inside or (text[-1:] >= "\u2e80" and "\u2e80" <= line[:1] < "\uac00")
            text = text[:-1] if inside and self._divided else text
            text += line if unspaced or not text else " " + line
        self.lines, self._size = [], 0
        return text
