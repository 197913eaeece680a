"""How a text file is laid out: is a line a paragraph, and what ends a document?

Decided once a file, on a sample from its beginning:

1. *Hard-wrapped?* Where lines break because the next word would not have fitted, the lines between blank
   lines are joined into paragraphs. Otherwise every line is a paragraph (verse and lists as well).
2. *Documents.* Asked for "file", the file is one document; asked for "blank-line", every blank line ends one.
   Asked for "auto", a blank line ends a document (a Wikipedia dump: a paragraph a line, a blank line between
   articles) unless
   - the text is hard-wrapped, so that blank lines stand between paragraphs, as in books; or
   - most blocks between blank lines hold a single sentence, so that every next sentence would be one of
     another document and next-sentence labels would be all random (google-research/bert, issue 125).

   Then only longer gaps end a document: three blank lines or more, as before a chapter, or two where there is
   no gap of three. Without such gaps the file is one document.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from bertviz_lab.data.corpora.sentences import split_sentences

#: A file with at least this share of one-sentence blocks has its blank lines after sentences, not documents.
_MANY_SINGLE = 0.5
_NEARLY_ALL_SINGLE = 0.9
#: Share of lines that are full in wrapped text. Measured: 0.55 to 1.0 in licence texts and books, 0.05 to 0.12 where
#: a line is a sentence.
_FULL_LINES = 0.4
#: Ends of sentences, quotes after them included. In wrapped text few lines end in one, in a list of sentences most.
_SENTENCE_END = re.compile(r"[.!?…。！？]['\"”’)]*$")
_SAMPLE_BLOCKS = 400  # blocks that are split into sentences to decide


@dataclass(frozen=True)
class Layout:
    """What lines and blank lines mean in one file.

    Attributes:
        wrapped: lines are joined into paragraphs.
        gap: number of blank lines in a row that ends a document; 0: none does.
        blank_after_sentence: nearly every block between blank lines is one sentence.
        description: one sentence for the health report.
    """

    wrapped: bool
    gap: int
    blank_after_sentence: bool = False
    description: str = ""


def guess_layout(lines: Sequence[str], documents: str) -> Layout:
    """The layout of a file that begins with `lines` (no line ends); `documents` as for `read_documents`."""
    wrapped = is_wrapped(lines)
    blocks, gaps = _blocks(lines)
    single = _share_of_single_sentences(blocks, wrapped)
    trapped = len(blocks) >= 4 and single >= _NEARLY_ALL_SINGLE
    if documents == "file":
        return Layout(wrapped, 0, description="The file is one document.")
    if documents == "blank-line":
        return Layout(wrapped, 1, trapped, "A blank line ends a document.")
    if not wrapped and (len(blocks) < 4 or single < _MANY_SINGLE):
        return Layout(wrapped, 1, description="A line is a paragraph and a blank line ends a document.")
    gap = 3 if gaps and max(gaps) >= 3 else 2
    what = "Lines are joined into paragraphs" if wrapped else "A blank line ends a paragraph"
    return Layout(wrapped, gap, trapped, f"{what}; {gap} blank lines or more end a document.")


def is_wrapped(lines: Sequence[str]) -> bool:
    """Do these lines end where the next word would not have fitted?

    Asked of every line with another one right below it: with the width of the longest of them, would the next
    line's first word have fitted? In wrapped text it hardly ever would; in other lines it often does.
    """
    texts = [line.rstrip() for line in lines]
    pairs = [(a, b) for a, b in pairwise(texts) if a and b.strip()]
    filled = sum(1 for line in texts if line)
    if len(pairs) < 3 or len(pairs) < 0.2 * filled:
        return False
    lengths = sorted(len(a) for a, _ in pairs)
    width = lengths[int(0.95 * (len(lengths) - 1))]
    if not 30 <= width <= 140:
        return False
    if sum(bool(_SENTENCE_END.search(a)) for a, _ in pairs) > len(pairs) / 2:
        return False  # a sentence a line; sentences of one length are no wrapping
    full = sum(len(a) + 1 + len(b.split(None, 1)[0]) > width - 2 for a, b in pairs)
    return full >= _FULL_LINES * len(pairs)


def _blocks(lines: Sequence[str]) -> tuple[list[list[str]], list[int]]:
    """Runs of filled lines, and the numbers of blank lines between them."""
    blocks: list[list[str]] = []
    gaps: list[int] = []
    blank = 1
    for line in lines:
        if not line.strip():
            blank += 1
            continue
        if blank:
            if blocks:
                gaps.append(blank)
            blocks.append([])
        blocks[-1].append(line)
        blank = 0
    return blocks, gaps


def _share_of_single_sentences(blocks: list[list[str]], wrapped: bool) -> float:
    if not blocks:
        return 0.0
    step = max(1, len(blocks) // _SAMPLE_BLOCKS)
    sample = blocks[::step]
    single = 0
    for block in sample:
        paragraphs = [" ".join(block)] if wrapped else block
        single += sum(len(split_sentences(paragraph)) for paragraph in paragraphs[:2]) <= 1
    return single / len(sample)
