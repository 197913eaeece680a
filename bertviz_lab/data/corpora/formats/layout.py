"""The layout of a text file: whether a line is a paragraph, and what ends a document.

Decided once per file, on a sample from its beginning:

1. *Hard-wrapped?* Where lines break because the next word would not have fitted, the lines between blank lines are
   joined into paragraphs. Otherwise every line is a paragraph (also in verse and lists).
2. *Documents.* With mode "file", the file is one document; with "blank-line", every blank line ends one. With "auto",
   a blank line ends a document (as in a Wikipedia dump: a paragraph per line, a blank line between articles) unless
   - the text is hard-wrapped, so that blank lines separate paragraphs, as in books; or
   - most blocks between blank lines are a single sentence, so that every next sentence would be from another
     document and all next-sentence labels random (google-research/bert, issue 125).

   Then only longer gaps end a document: three blank lines or more, as before a chapter, or two where there is no gap
   of three. Without such gaps the file is one document.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import NamedTuple

from bertviz_lab.data.documents import split_sentences

#: Share of full lines in wrapped text. Measured: 0.55 to 1.0 in license texts and books, 0.05 to 0.12 with a sentence
#: per line.
_FULL_LINES = 0.4
#: Share of lines that end within a word in text whose words are divided, as from PDF; others end within compounds only.
_DIVIDED_LINES = 0.02
_HYPHENS = ("-", "\u2010", "\u00ad")
_AFTER_HYPHENS = ("and", "or", "to", "und", "oder", "bis")  # that stay: "first- and second-hand"
#: End of a sentence, with closing quotes. In wrapped text few lines match, in a list of sentences most.
_SENTENCE_END = re.compile(r"[.!?…。！？]['\"”’)]*$")


@dataclass(frozen=True)
class Layout:
    """The meaning of lines and blank lines in a file."""

    wrapped: bool  # lines are joined into paragraphs
    gap: int  # number of consecutive blank lines that end a document; 0 for none
    divided: bool = False  # a hyphen at the end of a line divides a word, and is no part of it
    blank_after_sentence: bool = False  # nearly every block between blank lines is one sentence
    description: str = ""  # one sentence for the health report


def guess_layout(lines: Sequence[str], documents: str, *, has_paragraphs: bool = False) -> Layout:
    """Return the layout of a file that begins with `lines` (no line ends); `documents` as for `read_documents`.

    Where it `has_paragraphs`, each line is known to be one.
    """
    wrapped = not has_paragraphs and is_wrapped(lines)
    divided = sum(is_divided(a.rstrip(), b) for a, b in pairwise(lines)) > max(2, _DIVIDED_LINES * len(lines))
    runs = [(blank, list(run)) for blank, run in groupby(lines, key=lambda line: not line.strip())]
    blocks = [run for blank, run in runs if not blank]
    gaps = [len(run) for blank, run in runs[1:-1] if blank]  # between the blocks
    single = _share_of_single_sentences(blocks, wrapped)
    blank_after_sentence = len(blocks) >= 4 and single >= 0.9
    if documents == "file":
        return Layout(wrapped, 0, divided, description="The file is one document.")
    if documents == "blank-line":
        return Layout(wrapped, 1, divided, blank_after_sentence, "A blank line ends a document.")
    if not wrapped and (len(blocks) < 4 or single < 0.5):
        return Layout(wrapped, 1, description="A line is a paragraph and a blank line ends a document.")
    gap = 3 if gaps and max(gaps) >= 3 else 2
    what = "Lines are joined into paragraphs" if wrapped else "A blank line ends a paragraph"
    what += " without the hyphens that divide words" if wrapped and divided else ""
    return Layout(wrapped, gap, divided, blank_after_sentence, f"{what}; {gap} blank lines or more end a document.")


def is_wrapped(lines: Sequence[str]) -> bool:
    """Return whether lines end where the next word would not have fitted.

    For every line with another directly below: would the first word of the next line have fitted into the width of
    the longest lines? In wrapped text it hardly ever would; otherwise often.
    """
    texts = [line.rstrip() for line in lines]
    pairs = [(a, b) for a, b in pairwise(texts) if a and b.strip()]
    if len(pairs) < 3 or len(pairs) < 0.2 * sum(map(bool, texts)):
        return False
    lengths = sorted(len(a) for a, _ in pairs)
    width = lengths[int(0.95 * (len(lengths) - 1))]
    if not 30 <= width <= 140:
        return False
    if sum(bool(_SENTENCE_END.search(a)) for a, _ in pairs) > len(pairs) / 2:
        return False  # one sentence per line, even if all have one length
    full = sum(len(a) + 1 + len(b.split(None, 1)[0]) > width - 2 for a, b in pairs)
    return full >= _FULL_LINES * len(pairs)


def is_divided(line: str, following: str) -> bool:
    """Return whether a hyphen at the end of a line divides a word."""
    word = next(iter(following.split(None, 1)), "")
    return line[-1:] in _HYPHENS and line[-2:-1].isalpha() and word[:1].islower() and word not in _AFTER_HYPHENS


def _share_of_single_sentences(blocks: list[list[str]], wrapped: bool) -> float:
    sample = blocks[:: max(1, len(blocks) // 400)]
    single = 0
    for block in sample:
        paragraphs = [" ".join(block)] if wrapped else block
        single += sum(len(split_sentences(paragraph)) for paragraph in paragraphs[:2]) <= 1
    return single / max(1, len(sample))


#: Lines of a text; None ends a document.
Lines = Iterator[str | None]

_DOC = re.compile(r"\s*</?doc(?:\s[^<>]{0,2000})?>\s*$")
_END = re.compile(r"<\|endoftext\|>|<\|end_of_text\|>")
_TITLE = re.compile(r"\s*= ([^=\s][^=]{0,300}) =\s*$")
_SECTION = re.compile(r"\s*(?:= ){2,}([^=\s][^=]{0,300})(?: =){2,}\s*$")
_JOINED = re.compile(r" @([-,.])@ ")
_UNKNOWN = re.compile(r" ?<unk>")
_START_OF_BOOK = re.compile(r"\s*\*{3} ?START OF (?:THE|THIS) PROJECT GUTENBERG", re.IGNORECASE)
_END_OF_BOOK = re.compile(r"\s*(?:\*{3} ?)?END OF (?:THE |THIS )?PROJECT GUTENBERG", re.IGNORECASE)
# Possessive, and never past another tag of the name: each character is looked at a few times only.
_HIDDEN = re.compile(r"<(script|style)\b[^<>]*+>[^<]*+(?:<(?!/?\1\b)[^<]*+)*+</\1>", re.IGNORECASE)
_ABOUT = re.compile(r"<(?:\?|!--)[^<>]{0,1000}>")  # a declaration or a comment
_BREAK = re.compile(r"</?(?:p|br|div|li|ul|ol|tr|table|h[1-6]|blockquote|body|html|head|title)\b[^<>]{0,1000}>", re.I)
# Around a part of a word, too; any other tag stands between two words.
_INLINE = re.compile(
    r"</?(?:a|abbr|b|big|cite|code|del|em|font|i|ins|mark|s|small|span|strong|su[bp]|u)(?:\s[^<>]{0,1000})?/?>", re.I
)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s[^<>]{0,1000})?/?>")
_CUE = re.compile(r"\s*(?:\d{2,3}:)?\d\d:\d\d[.,]\d{3} --> ")  # from when to when a subtitle is shown
_NO_SUBTITLE = re.compile(r"\s*|WEBVTT\b.*")
_DATE = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4},?[T\s]\s?"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,6})?(?:\s?[AP]\.?M\.?|Z|\s?[+-]\d\d:?\d\d)?"
#: What lines of chats, logs and lyrics begin with: [12.01.24, 10:00:03], 1/12/24, 10:00 PM -, [00:17.20]. Verses begin
#: with 1:12.
_TIME = re.compile(
    rf"\s*\u200e?(?:\[(?:{_DATE})?{_CLOCK}\]|{_DATE}{_CLOCK}(?=\s)|\d\d:\d\d:\d\d(?=\s))\s*(?:- )?", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+\t")  # of each sentence, in the Leipzig Corpora
_ENTITY = re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,5});")


class Markup(NamedTuple):
    """Markup of a text: what is done with it, in sentences, how to strip it, and what of the layout it says."""

    description: str
    has_documents: bool  # where documents end
    strip: Callable[[Iterable[str | None]], Lines]
    has_paragraphs: bool = False  # that each line is a paragraph


def find_markup(sample: Iterable[str]) -> Markup:
    """Return the markup of a text that begins with these lines."""
    filled = [line for line in sample if line.strip()]
    found: list[Markup] = []
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
    if tagged > 0.1 * len(filled) and (not found or any(map(_BREAK.search, filled))):
        found.append(Markup("HTML tags were left out and entities replaced.", False, _html))
    if sum(map(bool, map(_CUE.match, filled))) > 1:
        found.append(Markup("The numbers and times of subtitles were left out.", False, _subtitles))
    for pattern, what, share in ((_TIME, "timestamps", 0.5), (_NUMBER, "numbers", 0.95)):
        if sum(map(bool, map(pattern.match, filled))) > max(1, share * len(filled)):
            said = f"The {what} at the start of lines were left out."
            found.append(Markup(said, False, _without(pattern), has_paragraphs=True))

    def strip(lines: Iterable[str | None]) -> Lines:
        for kind in found:
            lines = kind.strip(lines)
        return iter(lines)

    return Markup(
        " ".join(kind.description for kind in found),
        any(kind.has_documents for kind in found),
        strip,
        any(kind.has_paragraphs for kind in found),
    )


def _by_line(strip: Callable[[str], Iterable[str | None]]) -> Callable[[Iterable[str | None]], Lines]:
    """Return what strips lines one by one; the ends of documents stay."""
    return lambda lines: chain.from_iterable([None] if line is None else strip(line) for line in lines)


def _without(pattern: re.Pattern[str]) -> Callable[[Iterable[str | None]], Lines]:
    """Return what leaves out the beginning of a line that the pattern matches."""
    return _by_line(lambda line: [line[match.end() :] if (match := pattern.match(line)) else line])


_docs = _by_line(lambda line: [None if _DOC.match(line) else line])


@_by_line
def _ends(line: str) -> Lines:
    if "<|end" not in line:
        yield line
        return
    for number, part in enumerate(_END.split(line)):
        if number:
            yield None
        if part.strip():
            yield part


@_by_line
def _wikitext(line: str) -> Iterable[str | None]:
    if title := _TITLE.match(line):
        return [None, "", title[1], ""]
    if section := _SECTION.match(line):
        return ["", section[1], ""]
    return [_UNKNOWN.sub("", _JOINED.sub(r"\1", line))]


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


@_by_line
def _html(line: str) -> Iterable[str | None]:
    if "<" not in line and "&" not in line:
        return [line]
    shown = _INLINE.sub("", _HIDDEN.sub(" ", _ABOUT.sub(" ", line)))
    texts = [html.unescape(_TAG.sub(" ", part)) for part in _BREAK.split(shown)]
    return [text for text in texts if text.strip() or not line.strip()]


def _subtitles(lines: Iterable[str | None]) -> Lines:
    number: str | None = None  # a line that is the number of a subtitle if its time follows
    for line in lines:
        if line is not None and _CUE.match(line):
            number = None
            continue
        if number is not None:
            yield number
        number = line if line is not None and line.strip().isdigit() else None
        if number is None and not (line is not None and _NO_SUBTITLE.fullmatch(line)):
            yield line and _TAG.sub("", line)
    if number is not None:
        yield number
