"""Markdown as paragraphs, without its markup.

Code blocks, tables, rules, comments and front matter are left out; the text of links, headings and lists is kept.
Sufficient for notes and readme files; not a full Markdown parser.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import TextIO

from bertviz_lab.data.corpora.formats.text import Paragraph, Paragraphs, pieces
from bertviz_lab.data.corpora.reading_notes import FileNotes

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*)")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})$")
_RULE = re.compile(r"^ {0,3}([-*_])[ \t]*(\1[ \t]*){2,}$")
_ITEM = re.compile(r"^\s*([-*+]|\d{1,9}[.)])\s+(\[[ xX]\]\s+)?")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]]{1,200}\]:\s*\S+")
_QUOTE = re.compile(r"^\s*(>\s?)+")
# (substring to look for first, pattern, replacement). The substring check and the bounded lengths keep a text full of
# unclosed marks as fast as any other.
_INLINE = (
    ("-->", re.compile(r"<!--.{0,1000}?-->"), ""),
    ("](", re.compile(r"!\[([^\]]{0,300})\]\([^)]{0,2000}\)"), r"\1"),
    ("](", re.compile(r"\[([^\]]{1,300})\]\([^)]{0,2000}\)"), r"\1"),
    ("://", re.compile(r"<(https?://[^>\s]{1,2000})>"), r"\1"),
    (">", re.compile(r"</?[a-zA-Z][^<>]{0,1000}>"), ""),
    ("`", re.compile(r"(`{1,3})(.{1,200}?)\1"), r"\2"),
    ("", re.compile(r"(\*{1,3}|~~)(?=\S)(.{1,200}?)(?<=\S)\1"), r"\2"),
    ("_", re.compile(r"(?<!\w)(_{1,3})(?=\S)(.{1,200}?)(?<=\S)\1(?!\w)"), r"\2"),
    ("\\", re.compile(r"\\([\\`*_{}\[\]()#+\-.!<>|~])"), r"\1"),
)


def markdown_paragraphs(stream: TextIO, documents: str, notes: FileNotes) -> Paragraphs:
    """Return paragraphs of a file; None ends a document, which in mode "auto" begins with a heading of level 1 or 2."""
    for text in _marked_paragraphs(stream, documents, notes):
        yield text and plain(text)


def _marked_paragraphs(stream: TextIO, documents: str, notes: FileNotes) -> Paragraphs:
    notes.layout = {
        "auto": "A heading of the first or second level begins a document.",
        "blank-line": "A blank line ends a document.",
        "file": "The file is one document.",
    }[documents]
    notes.blank_ends_document = documents == "blank-line"
    paragraph = Paragraph()
    fence = ""
    for raw in _without_front_matter(pieces(stream)):
        line = raw.rstrip()
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
            continue
        heading = _HEADING.match(line)
        if heading or (paragraph.lines and _UNDERLINE.match(line)):
            title = heading[2].rstrip("# \t") if heading else paragraph.take()
            yield from paragraph.end()
            if documents == "auto" and (not heading or len(heading[1]) <= 2):
                yield None
            yield title
            continue
        rule, item = _RULE.match(line), _ITEM.match(line)
        left_out = mark or rule or _DEFINITION.match(line) or line.lstrip().startswith("|")
        if not line or left_out or item:
            yield from paragraph.end()
        if mark:
            fence = mark[1]
        elif not line and documents == "blank-line":
            yield None
        elif line and not left_out:
            yield from paragraph.add(line[item.end() :] if item else _QUOTE.sub("", line))
    yield from paragraph.end()


def plain(text: str) -> str:
    """Return a paragraph of Markdown without inline markup."""
    for mark, pattern, replacement in _INLINE:
        if mark in text:
            text = pattern.sub(replacement, text)
    return text


def _without_front_matter(lines: Iterator[str]) -> Iterator[str]:
    """Drop the block between two lines of `---` with which a file may begin."""
    head = list(islice(lines, 200))
    if head and head[0].rstrip() == "---":
        ends = (n for n, line in enumerate(head[1:], 2) if line.rstrip() in ("---", "..."))
        del head[: next(ends, 0)]
    return chain(head, lines)
