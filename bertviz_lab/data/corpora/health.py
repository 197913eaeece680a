"""The health report of a corpus: counts, vocabulary and warnings.

Documents, sentences, words and pairs are counted in full. What needs a tokenizer (tokens, the share of `[UNK]`, the
unigram entropy) is measured on a sample spread evenly over the text, which is all of it up to 5 million characters.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bertviz_lab.data.corpora.health_warnings import Findings, warnings_about, writing_system
from bertviz_lab.data.corpora.read import MAX_BYTES, Document, ReadingNotes, read_documents
from bertviz_lab.data.documents import count_words
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

#: A text with fewer tokens than this, not counting `[UNK]`, cannot be trained on.
MIN_TOKENS = 8
_SAMPLE_CHARACTERS = 5_000_000
_HELD_OUT_EVERY = 10  # the tokenizer is trained without every tenth document of the sample
_TOP_TOKENS = 20
_MAX_CHECKSUMS = 100_000  # kept to estimate the share of duplicate sentences


@dataclass(frozen=True)
class HealthReport:
    """The statistics of a text, and warnings about it.

    Attributes:
        documents, sentences, words, characters: of the whole text; characters without spaces between sentences; in
            scripts without spaces every character is a word.
        pairs: adjacent sentences in the same document.
        longest_sentence: words in the longest sentence.
        tokens: without special tokens; `tokens_estimated` if the text is longer than the sample.
        vocab_size: size of the vocabulary that was used or trained.
        unk_rate: share of `[UNK]` among the tokens of text that the tokenizer was not trained on, 0 to 1.
        nsp_possible: there are two documents and a pair; otherwise the lab trains MLM only.
        unigram_entropy: of the tokens, in nats: the MLM loss of the unigram baseline.
        frequent: the most frequent tokens with their shares, 0 to 1, in descending order.
        mean_sentence_tokens: mean number of tokens in a sentence.
        warnings: full sentences, each with what the lab does about it.
        reading: a sentence per file on how it was read, for the first files.
        writing_system: such as "Cyrillic".
        recommended: options of `pretrain` that suit the writing system and are not the defaults.
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
    writing_system: str = ""
    recommended: dict[str, str | bool] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


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
    """Compute the health report of a text in a single pass over a stream.

    Args:
        documents: as from `read_documents`.
        tokenizer: the tokenizer to use; None trains one with `vocab_size`, `algorithm` and `lowercase`.
        seq_len: max sequence length, for the warning about long sentences.
        notes: those given to `read_documents`, for warnings about reading.

    Raises:
        InputError: there is no text, or too little to train on.
    """
    report, _ = examine_with_tokenizer(
        documents,
        tokenizer=tokenizer,
        vocab_size=vocab_size,
        lowercase=lowercase,
        algorithm=algorithm,
        seq_len=seq_len,
        notes=notes,
    )
    return report


def examine_with_tokenizer(
    documents: Iterable[Document],
    *,
    tokenizer: Tokenizer | None = None,
    vocab_size: int = 8192,
    lowercase: bool = True,
    algorithm: Literal["wordpiece", "bpe"] = "wordpiece",
    seq_len: int = 128,
    notes: ReadingNotes | None = None,
) -> tuple[HealthReport, Tokenizer]:
    """As `examine`; with the given tokenizer, or the one that was trained on the sample without its held-out part."""
    counts, sample = _Counts(), _Sample()
    for document in documents:
        counts.add(document)
        sample.add(document)
    if not counts.sentences:
        raise InputError("The text holds no words; give a text of at least a few sentences.")

    train, held_out = sample.split()
    writing = writing_system(train)
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
        writing=writing,
        strips_accents=tokenizer.lowercase and tokenizer.algorithm == "wordpiece",
        splits_words=tokenizer.algorithm == "wordpiece",
    )
    report = HealthReport(
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
        writing_system=writing.name,
        recommended=writing.settings,
    )
    return report, tokenizer


class _Counts:
    """Counts over the whole text, in constant memory."""

    def __init__(self) -> None:
        self.documents = self.sentences = self.words = self.characters = self.longest_sentence = 0
        self.single_documents = 0
        self._in_document = 0
        # Duplicates are estimated on the sentences whose checksum ends in `_bits` zeros. All copies of a sentence share
        # its checksum, so the estimate is unbiased; `_bits` grows to bound the memory.
        self._checksums: dict[int, int] = {}
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
                self._checksums[checksum] = self._checksums.get(checksum, 0) + 1
        while len(self._checksums) > _MAX_CHECKSUMS:
            self._bits += 1
            mask = (1 << self._bits) - 1
            self._checksums = {p: n for p, n in self._checksums.items() if not p & mask}

    @property
    def pairs(self) -> int:
        return self.sentences - self.documents

    def duplicated(self) -> float:
        """Share of the sentences that repeat an earlier one."""
        total = sum(self._checksums.values())
        return 1 - len(self._checksums) / total if total else 0.0


class _Sample:
    """Every n-th document; n doubles as needed to stay within the limit."""

    def __init__(self) -> None:
        self._sentences: list[tuple[str, ...]] = []
        self._stride = 1
        self._documents = 0
        self.characters = 0

    def add(self, document: Document) -> None:
        if self._documents % self._stride == 0 and document.sentences:
            sentences = document.sentences
            self._sentences.append(sentences)
            self.characters += sum(map(len, sentences))
            while self.characters > _SAMPLE_CHARACTERS and len(self._sentences) > 1:
                self._sentences = self._sentences[::2]
                self._stride *= 2
                self.characters = sum(len(s) for document_sentences in self._sentences for s in document_sentences)
        self._documents += 1

    @property
    def partial(self) -> bool:
        return self._stride > 1

    def split(self) -> tuple[list[str], list[str]]:
        """Sentences to train on, and held-out ones: every tenth document, or every tenth sentence of few documents."""
        units: list[tuple[str, ...]] = self._sentences
        if len(units) < _HELD_OUT_EVERY:
            units = [(sentence,) for sentences in units for sentence in sentences]
        held_out = [unit for n, unit in enumerate(units, 1) if n % _HELD_OUT_EVERY == 0]
        train = [unit for n, unit in enumerate(units, 1) if n % _HELD_OUT_EVERY]
        return list(chain.from_iterable(train)), list(chain.from_iterable(held_out))


def _frequency(ids: Sequence[Sequence[int]], total: int | None, vocab_size: int) -> np.ndarray:
    """How often each token occurs: (vocab_size,)."""
    total = sum(map(len, ids)) if total is None else total
    flat = np.fromiter(chain.from_iterable(ids), np.int64, total)
    return np.bincount(flat, minlength=vocab_size)


def _entropy(frequency: np.ndarray) -> float:
    share = frequency[frequency > 0] / frequency.sum()
    return max(0.0, -math.fsum(share * np.log(share)))


def _most_frequent(frequency: np.ndarray, tokenizer: Tokenizer) -> tuple[tuple[str, float], ...]:
    order = np.argsort(-frequency, kind="stable")[:_TOP_TOKENS]
    total = int(frequency.sum())
    return tuple((tokenizer.token(int(i)), float(frequency[i] / total)) for i in order if frequency[i])
