"""Sentences to token ids, fast: a word is split once and looked up ever after.

A text of ten million words has some hundred thousand different ones, so most of a tokenizer's work is work done
before. Where the words are can be told by a regular expression in plain ASCII; elsewhere it is enough that a
blank ends one. Sentences of neither kind go to the tokenizer itself. The ids are always those of `Tokenizer.ids`.
"""

import json
import re
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.tokenization import Tokenizer

#: Characters of different words that are remembered; then it starts anew, so that memory stays flat.
_REMEMBERED = 2_000_000
#: In writings with blanks, a blank comes at least this often, in characters. (Chinese has none to split at.)
_MOST_BETWEEN_BLANKS = 20
_END = -1  # stands for the line end after each sentence

_ALONE, _ASCII, _SPACED = range(3)  # kinds of sentences
# What is looked up, in each kind. BERT: letters and digits, or a mark. GPT-2: these with the blank before them.
_BERT = {_ASCII: r"[A-Za-z0-9]+|[^A-Za-z0-9 ]", _SPACED: r"\n|[^ \n]+"}
_GPT2 = {_ASCII: r"\n|'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]+| ?[^A-Za-z0-9 \n]+", _SPACED: r"\n| ?[^ \n]+"}


class WordLookup:
    """The ids of many sentences, with a memory of the words seen."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._patterns = {kind: re.compile(pattern) for kind, pattern in _word_patterns(tokenizer).items()}
        self._known: dict[str, tuple[int, ...]] = {}
        self._characters = 0

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
        found = self._tokenizer.ids(sentences)
        sizes = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
        return np.fromiter(chain.from_iterable(found), dtype=np.int64, count=int(sizes.sum())), sizes

    def _look_up(self, sentences: list[str], kind: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        text = "\n".join(sentences) + "\n"
        if kind == _ASCII and self._tokenizer.lowercase:
            text = text.lower()  # fewer different words
        words: list[str] = self._patterns[kind].findall(text)
        if self._characters > _REMEMBERED or not self._known:
            self._known, self._characters = {"\n": (_END,)}, 0
        new = list(set(words) - self._known.keys())
        self._known.update(zip(new, map(tuple, self._tokenizer.ids(new)), strict=True))
        self._characters += sum(map(len, new))
        ids = np.fromiter(chain.from_iterable(map(self._known.__getitem__, words)), dtype=np.int64)
        ends = np.flatnonzero(ids == _END)
        return ids[ids != _END], np.diff(ends, prepend=-1) - 1


def _word_patterns(tokenizer: Tokenizer) -> dict[int, str]:
    """What finds the words as the tokenizer's own stages do; nothing for stages that are not known here."""
    state = json.loads(tokenizer.backend.to_str())
    normalizer, splitter = state["normalizer"] or {}, state["pre_tokenizer"] or {}
    if not all(token["special"] for token in state["added_tokens"]):
        return {}  # it takes words of its own out of the text before it is split
    if normalizer.get("type") == "BertNormalizer" and splitter.get("type") == "BertPreTokenizer":
        return _BERT
    steps = normalizer.get("normalizers") if normalizer else []
    whole = splitter.get("type") == "ByteLevel" and splitter.get("use_regex", True)
    return _GPT2 if whole and not splitter["add_prefix_space"] and steps in ([], [{"type": "Lowercase"}]) else {}
