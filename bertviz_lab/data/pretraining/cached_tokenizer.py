"""Sentences to token ids, fast: a word is split once and looked up ever after.

A text of ten million words has some hundred thousand different ones, so most of a tokenizer's work is work done
before. Where the words are can be told by a regular expression in plain ASCII; elsewhere it is enough that a
blank ends one. Sentences of neither kind go to the tokenizer itself. The ids are always those of `Tokenizer.ids`.
"""

import json
import re
from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.tokenization import Tokenizer

#: Characters of different words that are remembered; then it starts anew, so that memory stays flat.
_REMEMBERED = 4_000_000
#: In writings with blanks, a blank comes at least this often, in characters. (Chinese has none to split at.)
_MOST_BETWEEN_BLANKS = 20

_ALONE, _ASCII, _SPACED = range(3)  # kinds of sentences
# What is looked up. BERT: letters and digits, or a mark. GPT-2: these with the blank before them. Line ends stand
# between sentences. In text beyond ASCII, all between two blanks is one word where a single letter is beyond it.
_BERT = r"[A-Za-z0-9]+|[^A-Za-z0-9 ]"
_GPT2 = r"\n|'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]+| ?[^A-Za-z0-9 \n]+"
_GPT2_LOWERCASED = _GPT2.replace("'(?:", "'(?i:")  # the text is lowercased before it is split, so 'T is 't
_BEYOND_ASCII = r" ?[^ \n]*[^\x00-\x7f \n][^ \n]*|"


class CachedTokenizer:
    """The ids of many sentences, with a memory of the words seen."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pattern = _word_pattern(tokenizer)
        self._patterns = {_ASCII: re.compile(pattern), _SPACED: re.compile(_BEYOND_ASCII + pattern)} if pattern else {}
        self._known = _Known()

    def ids(self, sentences: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All ids one after another, (tokens,), and how many belong to each sentence, (sentences,)."""
        kinds = np.fromiter(map(self._kind, sentences), dtype=np.int8, count=len(sentences))
        parts: dict[int, NDArray[np.int64]] = {}
        sizes = np.zeros(len(sentences), dtype=np.int64)
        for kind in np.unique(kinds).tolist():
            split = self._split if kind == _ALONE else self._look_up
            parts[kind], sizes[kinds == kind] = split([sentences[int(i)] for i in np.flatnonzero(kinds == kind)], kind)
        ids = np.empty(int(sizes.sum()), dtype=np.int64)
        kind_of_token = np.repeat(kinds, sizes)
        for kind, part in parts.items():
            ids[kind_of_token == kind] = part
        return ids, sizes

    def _kind(self, sentence: str) -> int:
        # Printable text has no white space but the blank; two of them, or one at an end, are words in GPT-2.
        if not self._patterns or not sentence.isprintable() or "  " in sentence or sentence.strip(" ") != sentence:
            return _ALONE
        if sentence.isascii():
            return _ASCII
        return _SPACED if len(sentence) <= _MOST_BETWEEN_BLANKS * (1 + sentence.count(" ")) else _ALONE

    def _split(self, sentences: list[str], kind: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ids as the tokenizer gives them."""
        ids = self._tokenizer.ids(sentences)
        sizes = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        return np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=int(sizes.sum())), sizes

    def _look_up(self, sentences: list[str], kind: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        text = "\n".join(sentences) + "\n"
        if kind == _ASCII and self._tokenizer.lowercase:
            text = text.lower()  # fewer different words
        words: list[str] = self._patterns[kind].findall(text)
        if self._known.characters > _REMEMBERED:
            self._known = _Known()
        known = self._known
        numbers = np.fromiter(map(known.numbers.__getitem__, words), dtype=np.int64, count=len(words))
        new = known.unsplit()
        known.add(new, *self._split(new, _ALONE))
        lengths = known.ends[numbers] - known.starts[numbers]
        ends = np.cumsum(lengths)  # of the words, in the ids
        positions = np.arange(ends[-1]) - np.repeat(ends - lengths - known.starts[numbers], lengths)
        return known.ids[positions], np.diff(ends[numbers == 0], prepend=0)


class _Numbers(dict[str, int]):
    """Numbers words in the order in which they are first asked for; the line end is 0."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class _Known:
    """The words seen, and where the ids of each start and end."""

    def __init__(self) -> None:
        self.numbers = _Numbers({"\n": 0})
        self.ids = np.zeros(0, dtype=np.int64)
        self.starts = self.ends = np.zeros(1, dtype=np.int64)  # a line end has no ids
        self.characters = 0

    def unsplit(self) -> list[str]:
        """The words that have a number and no ids yet."""
        return list(islice(self.numbers, len(self.ends), None))

    def add(self, words: list[str], ids: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Their ids, one after another, and how many each has."""
        ends = len(self.ids) + np.cumsum(sizes)
        self.ids = np.concatenate([self.ids, ids])
        self.starts = np.concatenate([self.starts, ends - sizes])
        self.ends = np.concatenate([self.ends, ends])
        self.characters += sum(map(len, words))


def _word_pattern(tokenizer: Tokenizer) -> str | None:
    """What finds the words of plain ASCII as the tokenizer's own stages do; None for stages that are not known here."""
    state = json.loads(tokenizer.backend.to_str())
    normalizer, splitter = state["normalizer"] or {}, state["pre_tokenizer"] or {}
    if not all(token["special"] for token in state["added_tokens"]):
        return None  # it takes words of its own out of the text before it is split
    if normalizer.get("type") == "BertNormalizer" and splitter.get("type") == "BertPreTokenizer":
        return _BERT
    steps = normalizer.get("normalizers") if normalizer else []
    byte_level = splitter.get("type") == "ByteLevel" and splitter.get("use_regex", True)
    if not byte_level or splitter["add_prefix_space"] or steps not in ([], [{"type": "Lowercase"}]):
        return None
    return _GPT2_LOWERCASED if steps else _GPT2
