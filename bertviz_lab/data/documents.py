"""Documents, and paragraphs split into sentences with the `sentencex` library.

Next-sentence prediction depends on documents: adjacent sentences are pairs only within one of them.

`sentencex` (Wikimedia) handles abbreviations and quotations and splits 50 MB of prose in about a second, but never
splits inside a quotation or bracket, however long. Such a sentence is split again with those marks removed, and what is
still too long is cut into parts. Abbreviations that end no sentence are those of English, or of German in a paragraph
that is German by its commonest words; terminators of all scripts are recognized in either.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

import sentencex

#: Maximum number of words in a sentence (see `count_words`), rarely reached in prose.
LONGEST_SENTENCE = 160
#: A longer sentence is split inside its quotations and brackets.
_LONG = 60

_GERMAN_WORDS = (
    *(" der ", " die ", " das ", " und ", " ist ", " den ", " dem ", " ein ", " eine ", " im ", " mit ", " nicht "),
    *(" wurde ", "Der ", "Die ", "Das ", "Im "),
)
_ENGLISH_WORDS = (" the ", " of ", " and ", " to ", " is ", " a ", "The ")
#: What a German sentence does not end with, and `sentencex` thinks that it may: ordinals, and some abbreviations.
_GERMAN_GOES_ON = re.compile(
    r"(?:\b(?:[Dd](?:er|ie|as|em|en|es)|[Ii]m|[Aa]m|[Vv]om|[Zz]u[mr]|[Bb]eim|[Jj]ede[mnrs]?) \d{1,3}"
    r"|\b(?:Dipl|Ing|jur|med|phil|inkl|exkl))\.\s*$"
)
#: What does end one, before a capital letter, and `sentencex` thinks that it does not: what closes a list.
_GERMAN_ENDS = re.compile(r"(?<=\b(?:usw|usf|etc)\.\s)(?=[A-ZÄÖÜ])")

# Scripts without spaces: each character counts as a word, as in BERT.
_UNSPACED = r"\u2e80-\u2fdf\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,100}}")

_SPACE = re.compile(r"\s+")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]")

_OPENING = re.compile(r"""(?<!\w)["“„«‘'(\[]+(?=\w)""")
_CLOSING = re.compile(r"""(?<=[.!?…])["”“»’')\]]+(?=\s|$)""")
_CLAUSE_ENDS = ";:,)—–،؛、；：，"


@dataclass(frozen=True, slots=True)
class Document:
    """A coherent text."""

    name: str  # its source (a file name, with a number where a file holds several), for display
    sentences: tuple[str, ...]  # its sentences in reading order, each on one line and not empty
    # True for a continuation of the previous document. A very long document is split into parts to limit memory; counts
    # and sentence pairs continue across the parts.
    continues: bool = False


def clean_text(text: str) -> str:
    """`text` on one line: white space collapsed, letters composed with their accents (NFC), lone surrogates replaced.

    Control characters are dropped; surrogates become U+FFFD.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if not text.isprintable():  # white space other than " ", a control or format character, or a surrogate
        text = _CONTROL.sub("", _SPACE.sub(" ", text))
        text = _SURROGATE.sub("\ufffd", text)
    if "  " in text:
        text = _SPACE.sub(" ", text)
    return text.strip()


def count_words(text: str) -> int:
    """Return words separated by white space; in scripts without spaces (Chinese, Japanese) every character is one."""
    return len(text.split()) if text.isascii() else sum(1 for _ in _WORD.finditer(text))


def split_sentences(paragraph: str) -> list[str]:
    """Return the clean sentences of a paragraph, of `LONGEST_SENTENCE` words at most; line breaks count as spaces."""
    return split_and_count(paragraph)[0]


def split_and_count(paragraph: str) -> tuple[list[str], int]:
    """As `split_sentences`, with the number of sentences that were too long and were cut."""
    text = clean_text(paragraph)
    if not text:
        return [], 0
    sentences: list[str] = []
    cut = 0
    german = _is_german(text)
    for sentence in filter(None, map(str.strip, _segments(text, german))):
        if len(sentence) <= _LONG:  # too short to need splitting
            sentences.append(sentence)
            continue
        for part in _inner_sentences(sentence, german):
            parts = _cut(part)
            sentences.extend(parts)
            cut += len(parts) > 1
    return sentences, cut


def _is_german(text: str) -> bool:
    if " the " in text and " der " not in text and " und " not in text:
        return False  # most of English; the counts below would make reading half as slow again
    german = sum(map(text.count, _GERMAN_WORDS))
    return german > 0 and german > sum(map(text.count, _ENGLISH_WORDS))


def _segments(text: str, german: bool) -> list[str]:
    """Return the sentences of a text with the spaces after them: joined, they are the text."""
    if not german:
        return sentencex.segment("en", text)
    joined: list[list[str]] = []
    for segment in chain.from_iterable(map(_GERMAN_ENDS.split, sentencex.segment("de", text))):
        if joined and _GERMAN_GOES_ON.search(joined[-1][-1][-20:]):
            joined[-1].append(segment)
        else:
            joined.append([segment])
    return ["".join(segments) for segments in joined]


def _inner_sentences(sentence: str, german: bool) -> list[str]:
    """Split a long sentence inside its quotations and brackets; leave a short one whole."""
    if sentence.count(" ") < _LONG and count_words(sentence) <= _LONG:
        return [sentence]
    # Replace marks without changing the length: opening ones by letters, closing ones by spaces.
    unmarked = _OPENING.sub(lambda m: "X" * len(m[0]), sentence)
    unmarked = _CLOSING.sub(lambda m: " " * len(m[0]), unmarked)
    edges = accumulate(map(len, _segments(unmarked, german)), initial=0)
    return [part for start, end in pairwise(edges) if (part := sentence[start:end].strip())]


def _cut(sentence: str) -> list[str]:
    """Return parts of at most `LONGEST_SENTENCE` words, cut at the last clause end in the second half of a part."""
    if len(sentence) <= LONGEST_SENTENCE:
        return [sentence]
    if sentence.isascii() and sentence.count(" ") < LONGEST_SENTENCE and len(sentence) < 10 * LONGEST_SENTENCE:
        return [sentence]
    words = [match.span() for match in _WORD.finditer(sentence)]
    parts, first = [], 0
    while len(words) - first > LONGEST_SENTENCE:
        longest = first + LONGEST_SENTENCE
        ends = range(longest, first + LONGEST_SENTENCE // 2, -1)
        last = next((end for end in ends if sentence[words[end - 1][1] - 1] in _CLAUSE_ENDS), longest)
        parts.append(sentence[words[first][0] : words[last - 1][1]])
        first = last
    return [*parts, sentence[words[first][0] :]]
