"""Words of a domain for a trained tokenizer: new pieces that save the most tokens of a text.

A trained vocabulary splits the words of a domain that it does not know into many pieces. Each new piece here joins
adjacent pieces of a word; the greedy choice takes the one that saves most tokens, splits the words again, and repeats
(as AdaLM adds domain vocabulary: Yao et al. 2021, and as byte-pair encoding continues: Sennrich et al. 2016).
"""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer as Backend

from bertviz_lab.errors import InputError
from bertviz_lab.tokenization.pipeline import replace_surrogates
from bertviz_lab.tokenization.tokenizer import Tokenizer

_LEAST = 5  # occurrences of a piece in the text: fewer are not learned from
_LONGEST = 8  # pieces that are joined at once
_MOST_PIECES = 24  # of a word; longer ones are data


@dataclass(frozen=True)
class NewPiece:
    """A piece that a vocabulary gains."""

    piece: str
    parts: tuple[str, ...]  # what the vocabulary had for it
    count: int  # occurrences in the text, or in a sample of it
    merge: tuple[str, str] | None = None  # the rule that makes it, in BPE

    @property
    def saved(self) -> int:
        """Tokens of the text that it saves."""
        return self.count * (len(self.parts) - 1)

    @classmethod
    def read(cls, path: Path) -> list[Self]:
        """Return the pieces that `write_pieces` wrote; none where there is no such file."""
        rows = json.loads(path.read_bytes()) if path.is_file() else []
        return [cls(row["piece"], tuple(row["parts"]), row["count"]) for row in rows]


def write_pieces(pieces: Sequence[NewPiece], path: Path) -> None:
    """Write pieces as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(piece) for piece in pieces], ensure_ascii=False), encoding="utf-8")


def most_useful_pieces(tokenizer: Tokenizer, texts: Iterable[str], most: int) -> list[NewPiece]:
    """Return at most `most` new pieces for the words of `texts`, in the order of the tokens that they save.

    Raises `InputError` for a Unigram tokenizer, and where the text has no word that a new piece would shorten.
    """
    _require_merges(tokenizer)
    counts = _word_counts(tokenizer, texts)
    found, chosen = _Search(tokenizer, counts).pieces(), list[NewPiece]()
    while fresh := list(islice(found, most - len(chosen))):
        chosen = _counted(tokenizer, chosen + fresh, counts)
        if tokenizer.algorithm == "wordpiece":
            # The longest piece that fits is taken: one may leave another no place. (BPE makes longer ones of those.)
            chosen = [piece for piece in chosen if piece.count]
    if not chosen:
        raise InputError("No word of the text that is split into pieces is frequent enough to add to the vocabulary.")
    return chosen


def pieces_of_words(tokenizer: Tokenizer, words: Iterable[str], texts: Iterable[str]) -> list[NewPiece]:
    """Return the new pieces that make each of `words` one token, with their counts in `texts`.

    A phrase is as many words. Raises `InputError` for a Unigram tokenizer, and where each is one token already.
    """
    _require_merges(tokenizer)
    named = Counter(word for line in words for word in line.split())
    chosen: dict[str, NewPiece] = {}
    for word in _pre_tokens(tokenizer, named):
        parts = _split(tokenizer.backend, word)
        if tokenizer.algorithm == "wordpiece" and (len(parts) > 1 or parts == (tokenizer.special.unk,)):
            chosen.setdefault(word, NewPiece(word, parts, 0))
        elif tokenizer.algorithm == "bpe":
            for end in range(2, len(parts) + 1):
                joined, merge = "".join(parts[:end]), ("".join(parts[: end - 1]), parts[end - 1])
                if tokenizer.id(joined) is None:
                    chosen.setdefault(joined, NewPiece(joined, parts[:end], 0, merge))
    if not chosen:
        raise InputError("Each of the words to add is one token of the vocabulary already.")
    return _counted(tokenizer, list(chosen.values()), _word_counts(tokenizer, texts))


def with_pieces(tokenizer: Tokenizer, pieces: Sequence[NewPiece]) -> Tokenizer:
    """Return a tokenizer with these pieces after its own: their ids begin at its `vocab_size`."""
    body: dict[str, Any] = json.loads(tokenizer.backend.to_str())
    model = body["model"]
    for token_id, piece in enumerate(pieces, tokenizer.vocab_size):
        model["vocab"][piece.piece] = token_id
        if piece.merge:
            model["merges"].append(list(piece.merge))
    return Tokenizer(Backend.from_str(json.dumps(body)), tokenizer.special)


def _require_merges(tokenizer: Tokenizer) -> None:
    if tokenizer.algorithm == "unigram":
        raise InputError(
            "`add_vocabulary` adds to WordPiece and BPE vocabularies; this model's is Unigram, whose pieces have "
            "probabilities that would have to be learned again."
        )


def _word_counts(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """Return how often each word occurs, as the tokenizer normalizes and separates it."""
    return _pre_tokens(tokenizer, Counter(word for text in texts for word in replace_surrogates(text).split()))


def _pre_tokens(tokenizer: Tokenizer, words: Counter[str]) -> Counter[str]:
    backend, counts = tokenizer.backend, Counter[str]()
    space = " " if tokenizer.algorithm == "bpe" else ""  # which is part of the word after it
    for word, count in words.items():
        spaced = space + word
        normalized = backend.normalizer.normalize_str(spaced) if backend.normalizer else spaced
        for pre_token, _ in backend.pre_tokenizer.pre_tokenize_str(normalized):
            counts[pre_token] += count
    return counts


def _split(backend: Backend, word: str) -> tuple[str, ...]:
    return tuple(token.value for token in backend.model.tokenize(word))


def _counted(tokenizer: Tokenizer, pieces: list[NewPiece], words: Counter[str]) -> list[NewPiece]:
    """Return the pieces with their counts as the new tokenizer splits the words."""
    backend, counts = with_pieces(tokenizer, pieces).backend, Counter[str]()
    for word, count in words.items():
        for part in _split(backend, word):
            counts[part] += count
    return [replace(piece, count=counts[piece.piece]) for piece in pieces]


class _Search:
    """The words of a text as pieces, and for every join of adjacent pieces the tokens that it would save."""

    def __init__(self, tokenizer: Tokenizer, counts: Counter[str]) -> None:
        self._is_bpe = tokenizer.algorithm == "bpe"
        self._vocabulary = set(tokenizer.tokens)
        self._longest = 2 if self._is_bpe else _LONGEST  # a merge rule of BPE joins two
        self._words: list[tuple[str, ...]] = []
        self._counts: list[int] = []
        self._occurrences: Counter[tuple[str, ...]] = Counter()
        self._holders: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)  # words with this join
        self._original: dict[str, tuple[str, ...]] = {}  # what a new piece is of the old vocabulary
        for word, count in counts.items():
            parts = _split(tokenizer.backend, word)
            if 1 < len(parts) <= _MOST_PIECES:
                self._words.append(parts)
                self._counts.append(count)
                self._note(len(self._words) - 1, 1)
        self._heap = [(-self._saved(join), join) for join in self._occurrences]
        heapq.heapify(self._heap)

    def pieces(self) -> Iterator[NewPiece]:
        """Yield the piece that saves most tokens, then that which saves most of what is left, and so on."""
        while self._heap:
            saved, join = heapq.heappop(self._heap)
            count = self._occurrences[join]
            if count < _LEAST:
                continue
            if -saved != self._saved(join):  # words that it is part of were changed since
                heapq.heappush(self._heap, (-self._saved(join), join))
                continue
            piece = self._joined(join)
            if piece in self._vocabulary:
                continue
            self._vocabulary.add(piece)
            parts = tuple(old for part in join for old in self._original.get(part, (part,)))
            self._original[piece] = parts
            yield NewPiece(piece, parts, count, (join[0], join[1]) if self._is_bpe else None)
            for word in list(self._holders[join]):
                self._note(word, -1)
                self._words[word] = _replaced(self._words[word], join, piece)
                for new in self._note(word, 1):
                    heapq.heappush(self._heap, (-self._saved(new), new))

    def _saved(self, join: tuple[str, ...]) -> int:
        return self._occurrences[join] * (len(join) - 1)

    def _joined(self, join: tuple[str, ...]) -> str:
        return "".join(join) if self._is_bpe else join[0] + "".join(part.removeprefix("##") for part in join[1:])

    def _note(self, word: int, sign: int) -> set[tuple[str, ...]]:
        """Add the joins of a word to the counts, or remove them; returns them."""
        parts, count = self._words[word], sign * self._counts[word]
        joins = set()
        for start in range(len(parts) - 1):
            for end in range(start + 2, min(start + self._longest, len(parts)) + 1):
                join = parts[start:end]
                self._occurrences[join] += count
                joins.add(join)
                if sign > 0:
                    self._holders[join].add(word)
                else:
                    self._holders[join].discard(word)
        return joins


def _replaced(parts: tuple[str, ...], join: tuple[str, ...], piece: str) -> tuple[str, ...]:
    """Return the pieces of a word with each occurrence of `join` as one piece."""
    result: list[str] = []
    place = 0
    while place < len(parts):
        if parts[place : place + len(join)] == join:
            result.append(piece)
            place += len(join)
        else:
            result.append(parts[place])
            place += 1
    return tuple(result)
