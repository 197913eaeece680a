"""Markup in plain text: left out, or turned into the ends of documents, as what a sample of the lines shows."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

#: Lines of a text; None ends a document.
Lines = Iterator[str | None]

_DOC = re.compile(r"\s*</?doc(?:\s[^<>]{0,2000})?>\s*$")
_END = re.compile(r"<\|endoftext\|>|<\|end_of_text\|>")
_TITLE = re.compile(r"\s*= ([^=\s][^=]{0,300}) =\s*$")
_SECTION = re.compile(r"\s*(?:= ){2,}([^=\s][^=]{0,300})(?: =){2,}\s*$")
_JOINED = re.compile(r" @([-,.])@ ")
_START_OF_BOOK = re.compile(r"\s*\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
_END_OF_BOOK = re.compile(r"\s*(?:\*{3} ?)?END OF (?:THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
# Possessive, and never past another tag of the name: each character is looked at a few times only.
_HIDDEN = re.compile(r"<(script|style)\b[^<>]*+>[^<]*+(?:<(?!/?\1\b)[^<]*+)*+</\1>", re.IGNORECASE)
_BREAK = re.compile(r"</?(?:p|br|div|li|ul|ol|tr|table|h[1-6]|blockquote|body|html|head|title)\b[^<>]{0,1000}>", re.I)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s[^<>]{0,1000})?/?>")
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
_MANY = 0.1  # of the lines, that have tags or entities


@dataclass(frozen=True)
class Markup:
    """A kind of markup.

    Attributes:
        description: what is done with it, a sentence for the health report.
        has_documents: it says where documents end, so blank lines do not.
        strip: lines without it.
    """

    description: str
    has_documents: bool
    strip: Callable[[Iterable[str | None]], Lines]


def find_markup(sample: Sequence[str]) -> list[Markup]:
    """Return the kinds of markup in a text that begins with these lines, in the order in which they are stripped."""
    filled = [line for line in sample if line.strip()]
    found = []
    if any(map(_START_OF_BOOK.match, filled)):
        found.append(Markup("The preface and license of Project Gutenberg were left out.", True, _books))
    if sum(map(bool, map(_DOC.match, filled))) >= 2:
        found.append(Markup("The <doc> lines of WikiExtractor were left out; each article is a document.", True, _docs))
    if any(map(_END.search, filled)):
        found.append(Markup("<|endoftext|> was left out and ends a document.", True, _ends))
    sections = sum(map(bool, map(_SECTION.match, filled)))
    if sum(map(bool, map(_TITLE.match, filled))) >= 1 and (sections or any(map(_JOINED.search, filled))):
        found.append(Markup("The marks of WikiText were left out; each article is a document.", True, _wikitext))
    tagged = sum(bool(_TAG.search(line) or _ENTITY.search(line)) for line in filled)
    if tagged > _MANY * len(filled) and (not found or any(map(_BREAK.search, filled))):
        found.append(Markup("HTML tags were left out and entities replaced.", False, _html))
    return found


def _docs(lines: Iterable[str | None]) -> Lines:
    for line in lines:
        yield None if line is not None and _DOC.match(line) else line


def _ends(lines: Iterable[str | None]) -> Lines:
    for line in lines:
        if line is None or "<|end" not in line:
            yield line
            continue
        for number, part in enumerate(_END.split(line)):
            if number:
                yield None
            if part.strip():
                yield part


def _wikitext(lines: Iterable[str | None]) -> Lines:
    for line in lines:
        if line is not None and (title := _TITLE.match(line)):
            yield None
            yield from ("", title[1], "")
        elif line is not None and (section := _SECTION.match(line)):
            yield from ("", section[1], "")
        else:
            yield line and _JOINED.sub(r"\1", line).replace(" <unk>", "")


def _books(lines: Iterable[str | None]) -> Lines:
    inside = False
    for line in lines:
        if line is None or _START_OF_BOOK.match(line):
            inside = True
            yield None
        elif _END_OF_BOOK.match(line):
            inside = False
        elif inside:
            yield line


def _html(lines: Iterable[str | None]) -> Lines:
    for line in lines:
        if line is None or ("<" not in line and "&" not in line):
            yield line
            continue
        for part in _BREAK.split(_HIDDEN.sub(" ", line)):
            text = html.unescape(_TAG.sub("", part))
            if text.strip() or not line.strip():
                yield text
