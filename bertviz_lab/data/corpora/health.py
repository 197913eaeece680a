"""Is this text fit to train on? Counts, the vocabulary it gives, and warnings in plain sentences.

Documents, sentences, words and pairs are counted in full. What needs a tokenizer (tokens, the share of `[UNK]`,
the unigram entropy) is measured on a sample spread evenly over the text, which is all of it up to 5 million
characters; a tokenizer that has to be learnt for that comes with the report, so that it can be used further.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bertviz_lab.data.corpora.health_warnings import Findings, warnings_about
from bertviz_lab.data.corpora.read import MAX_BYTES, Document, ReadingNotes, read_documents
from bertviz_lab.data.corpora.sentences import count_words
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

#: A text of fewer tokens than this, `[UNK]` aside, cannot be trained on at all.
MIN_TOKENS = 8
_SAMPLE_CHARACTERS = 5_000_000
_HELD_OUT_EVERY = 10  # every tenth document of the sample is kept from the tokenizer that is learnt on it
_FREQUENT = 20
_MOST_PRINTS = 100_000  # sentences remembered to estimate how many occur twice


@dataclass(frozen=True)
class HealthReport:
    """What a text holds and what is wrong with it.

    Attributes:
        documents, sentences, words, characters: counted over the whole text; characters without blanks between
            sentences; in scripts without blanks every character is a word.
        pairs: sentences with a next one in the same document.
        longest_sentence: words in the longest sentence.
        tokens: special tokens aside; `tokens_estimated` where the text is longer than the sample.
        vocab_size: tokens in the vocabulary that was used or learnt.
        unk_rate: share of `[UNK]` among the tokens of text the tokenizer was not learnt from, 0 to 1.
        nsp_possible: there are two documents and a pair; otherwise the lab trains masked words alone.
        unigram_entropy: of the tokens, in nats: the loss of guessing by frequency alone.
        frequent: the most frequent tokens with their shares, 0 to 1, the greatest first.
        mean_sentence_tokens: tokens in a sentence on average.
        warnings: complete sentences, each with what the lab does about it.
        reading: a sentence a file, on how it was read; the first files only.
        tokenizer: the one given, or the one learnt on the sample less its held-out part.
    """

    documents: int
    sentences: int
    words: int
    characters: int
    pairs: int
    longest_sentence: int
    tokens: int
    tokens_estimated: bool
    vocab_size: int
    unk_rate: float
    nsp_possible: bool
    unigram_entropy: float
    frequent: tuple[tuple[str, float], ...]
    mean_sentence_tokens: float
    warnings: tuple[str, ...]
    reading: tuple[str, ...]
    tokenizer: Tokenizer = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the tokenizer, ready for JSON."""
        report = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "tokenizer"}
        return report | {
            "frequent": [list(pair) for pair in self.frequent],
            "warnings": list(self.warnings),
            "reading": list(self.reading),
        }


def examine_files(
    paths: Sequence[str | Path] | str | Path,
    *,
    documents: str = "auto",
    text_field: str | None = None,
    max_bytes: float = MAX_BYTES,
    tokenizer: Tokenizer | None = None,
    vocab_size: int = 8192,
    lowercase: bool = True,
    algorithm: Literal["wordpiece", "bpe"] = "wordpiece",
    seq_len: int = 128,
    on_progress: Callable[[int, int], None] | None = None,
) -> HealthReport:
    """Read files and examine them; arguments and errors as for `read_documents` and `examine`."""
    notes = ReadingNotes()
    stream = read_documents(
        paths,
        documents=documents,
        text_field=text_field,
        max_bytes=max_bytes,
        on_progress=on_progress,
        notes=notes,
    )
    return examine(
        stream,
        tokenizer=tokenizer,
        vocab_size=vocab_size,
        lowercase=lowercase,
        algorithm=algorithm,
        seq_len=seq_len,
        notes=notes,
    )


def examine(
    documents: Iterable[Document],
    *,
    tokenizer: Tokenizer | None = None,
    vocab_size: int = 8192,
    lowercase: bool = True,
    algorithm: Literal["wordpiece", "bpe"] = "wordpiece",
    seq_len: int = 128,
    notes: ReadingNotes | None = None,
) -> HealthReport:
    """Count, sample and judge a text, read once as a stream.

    Args:
        documents: as from `read_documents`.
        tokenizer: the one that will be used; None learns one of `vocab_size`, `algorithm` and `lowercase`.
        vocab_size: the most tokens to learn.
        lowercase: for the tokenizer that is learnt.
        algorithm: for the tokenizer that is learnt.
        seq_len: tokens in one example, for the warning about long sentences.
        notes: those given to `read_documents`, for warnings about reading.

    Raises:
        InputError: there is no text, or so little of it that there is nothing to learn.
    """
    counts, sample = _Counts(), _Sample()
    for document in documents:
        counts.add(document)
        sample.add(document)
    if not counts.sentences:
        raise InputError("The text holds no words; give a text of at least a few sentences.")

    train, held_out = sample.split()
    if tokenizer is None:
        tokenizer = Tokenizer.train(train, vocab_size=vocab_size, algorithm=algorithm, lowercase=lowercase)
        train_ids, held_out_ids = tokenizer.ids(train), tokenizer.ids(held_out)
    else:
        train_ids, held_out_ids = [], tokenizer.ids([*train, *held_out])
    ids = [*train_ids, *held_out_ids]
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    frequency = _frequency(ids, int(lengths.sum()), tokenizer.vocab_size)
    known = int(lengths.sum() - frequency[tokenizer.unk_id])
    if known < MIN_TOKENS:
        raise InputError(
            f"The text holds only {known} {'token' if known == 1 else 'tokens'} that the vocabulary knows; "
            "give a text of at least a few sentences, or another tokenizer."
        )
    held_out_frequency = _frequency(held_out_ids or ids, None, tokenizer.vocab_size)
    tokens = round(int(lengths.sum()) * counts.characters / sample.characters)
    findings = Findings(
        documents=counts.documents,
        sentences=counts.sentences,
        pairs=counts.pairs,
        single_documents=counts.single_documents,
        tokens=tokens,
        distinct_tokens=int(np.count_nonzero(frequency)),
        unk_rate=float(held_out_frequency[tokenizer.unk_id] / max(1, held_out_frequency.sum())),
        duplicated=counts.duplicated(),
        too_long=float(np.mean(lengths > seq_len - 3)),
        seq_len=seq_len,
    )
    return HealthReport(
        documents=counts.documents,
        sentences=counts.sentences,
        words=counts.words,
        characters=counts.characters,
        pairs=counts.pairs,
        longest_sentence=counts.longest_sentence,
        tokens=tokens,
        tokens_estimated=sample.partial,
        vocab_size=tokenizer.vocab_size,
        unk_rate=findings.unk_rate,
        nsp_possible=findings.nsp_possible,
        unigram_entropy=_entropy(frequency),
        frequent=_most_frequent(frequency, tokenizer),
        mean_sentence_tokens=float(lengths.mean()),
        warnings=tuple(warnings_about(findings, notes or ReadingNotes())),
        reading=tuple(notes.descriptions()) if notes else (),
        tokenizer=tokenizer,
    )


class _Counts:
    """What is counted over the whole text, in constant memory."""

    def __init__(self) -> None:
        self.documents = self.sentences = self.words = self.characters = self.longest_sentence = 0
        self.single_documents = 0
        self._in_document = 0
        # Duplicates are estimated on the sentences whose checksum ends in `_bits` zeros: every copy of a
        # sentence is among them or none is, so the share is unbiased, and `_bits` grows to bound the memory.
        self._prints: dict[int, int] = {}
        self._bits = 0

    def add(self, document: Document) -> None:
        if not document.sentences:
            return
        if not document.continues or not self.documents:
            self.documents += 1
            self._in_document = 0
        before = self._in_document
        self._in_document += len(document.sentences)
        self.single_documents += (self._in_document == 1) - (before == 1)
        self.sentences += len(document.sentences)
        mask = (1 << self._bits) - 1
        for sentence in document.sentences:
            words = count_words(sentence)
            self.words += words
            self.longest_sentence = max(self.longest_sentence, words)
            self.characters += len(sentence)
            checksum = zlib.crc32(sentence.encode("utf-8", "replace"))
            if not checksum & mask:
                self._prints[checksum] = self._prints.get(checksum, 0) + 1
        while len(self._prints) > _MOST_PRINTS:
            self._bits += 1
            mask = (1 << self._bits) - 1
            self._prints = {p: n for p, n in self._prints.items() if not p & mask}

    @property
    def pairs(self) -> int:
        return self.sentences - self.documents

    def duplicated(self) -> float:
        """Share of the sentences that repeat an earlier one."""
        total = sum(self._prints.values())
        return 1 - len(self._prints) / total if total else 0.0


class _Sample:
    """Every n-th document, n doubled as often as is needed to stay within the limit."""

    def __init__(self) -> None:
        self._kept: list[tuple[str, ...]] = []
        self._stride = 1
        self._documents = 0
        self.characters = 0

    def add(self, document: Document) -> None:
        if self._documents % self._stride == 0 and document.sentences:
            sentences = document.sentences
            self._kept.append(sentences)
            self.characters += sum(map(len, sentences))
            while self.characters > _SAMPLE_CHARACTERS and len(self._kept) > 1:
                self._kept = self._kept[::2]
                self._stride *= 2
                self.characters = sum(len(s) for kept in self._kept for s in kept)
        self._documents += 1

    @property
    def partial(self) -> bool:
        return self._stride > 1

    def split(self) -> tuple[list[str], list[str]]:
        """Sentences to learn from, and held-out ones: every tenth document, or sentence if documents are few."""
        units: list[tuple[str, ...]] = self._kept
        if len(units) < _HELD_OUT_EVERY:
            units = [(sentence,) for sentences in units for sentence in sentences]
        held = [unit for n, unit in enumerate(units, 1) if n % _HELD_OUT_EVERY == 0]
        rest = [unit for n, unit in enumerate(units, 1) if n % _HELD_OUT_EVERY]
        return list(chain.from_iterable(rest)), list(chain.from_iterable(held))


def _frequency(ids: Sequence[Sequence[int]], total: int | None, vocab_size: int) -> np.ndarray:
    """How often each token occurs: (vocab_size,)."""
    total = sum(map(len, ids)) if total is None else total
    flat = np.fromiter(chain.from_iterable(ids), np.int64, total)
    return np.bincount(flat, minlength=vocab_size)


def _entropy(frequency: np.ndarray) -> float:
    share = frequency[frequency > 0] / frequency.sum()
    return max(0.0, -math.fsum(share * np.log(share)))


def _most_frequent(frequency: np.ndarray, tokenizer: Tokenizer) -> tuple[tuple[str, float], ...]:
    order = np.argsort(-frequency, kind="stable")[:_FREQUENT]
    total = int(frequency.sum())
    return tuple((tokenizer.token(int(i)), float(frequency[i] / total)) for i in order if frequency[i])
