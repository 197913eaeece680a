"""The health report of a corpus: counts, vocabulary and warnings.

Documents, sentences, words and pairs are counted in full. What needs a tokenizer (tokens, the share of `[UNK]`, the
unigram entropy) is measured on a sample spread evenly over the text, which is all of it up to 5 million characters.
"""

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bertviz_lab.data.corpora import health_report
from bertviz_lab.data.corpora.health_report import HealthReport, percent
from bertviz_lab.data.corpora.read import Document, ReadingNotes, read_documents
from bertviz_lab.data.corpora.reading_notes import pluralized
from bertviz_lab.data.documents import count_words
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer, token_name

#: A text with fewer tokens than this, not counting `[UNK]`, cannot be trained on.
MIN_TOKENS = 8
_SAMPLE_CHARACTERS = 5_000_000
_HELD_OUT_EVERY = 10  # the tokenizer is trained without every tenth document of the sample
_MAX_CHECKSUMS = 100_000  # kept to estimate the share of duplicate sentences


def examine_files(
    paths: Sequence[str | Path] | str | Path, *, documents: str = "auto", text_field: str | None = None, **options: Any
) -> HealthReport:
    """Read files and examine them; arguments and errors as for `read_documents` and `examine`."""
    notes = ReadingNotes()
    stream = read_documents(paths, documents=documents, text_field=text_field, notes=notes)
    return examine(stream, notes=notes, **options)[0]


def examine(
    documents: Iterable[Document],
    *,
    tokenizer: Tokenizer | None = None,
    vocab_size: int = 8192,
    lowercase: bool = True,
    algorithm: Literal["wordpiece", "bpe"] = "wordpiece",
    seq_len: int = 128,
    notes: ReadingNotes | None = None,
) -> tuple[HealthReport, Tokenizer]:
    """Compute the health report of a text in a single pass over a stream; return it with the tokenizer.

    Args:
        documents: as from `read_documents`.
        tokenizer: the tokenizer to use; None trains one with `vocab_size`, `algorithm` and `lowercase` on the sample
            without its held-out part.
        seq_len: max sequence length, for the warning about long sentences.
        notes: those given to `read_documents`, for warnings about reading.

    Raises:
        InputError: there is no text, or too little to train on.
    """
    counts, sample = _Counts(), _Sample()
    for document in documents:
        counts.add(document)
        sample.add(document)
    if not counts.sentences:
        raise InputError("The text holds no words; give a text of at least a few sentences.")

    train, held_out = sample.split()
    writing = health_report.writing_system(train)
    is_given = tokenizer is not None
    if tokenizer is None:
        tokenizer = Tokenizer.train(train, vocab_size=vocab_size, algorithm=algorithm, lowercase=lowercase)
    ids = tokenizer.ids([*train, *held_out])
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    frequency = _frequency(ids, tokenizer.vocab_size)
    known = int(lengths.sum() - frequency[tokenizer.unk_id])
    if known < MIN_TOKENS:
        raise InputError(
            f"The text holds only {pluralized(known, 'token<s>')} that the vocabulary knows; "
            "give a text of at least a few sentences, or another tokenizer."
        )
    # What the tokenizer was trained on does not count.
    held_out_frequency = _frequency(ids if is_given else ids[len(train) :] or ids, tokenizer.vocab_size)
    share = frequency[frequency > 0] / frequency.sum()
    most_frequent = np.argsort(-frequency, kind="stable")[:20].tolist()
    pairs = counts.sentences - counts.documents
    report = HealthReport(
        documents=counts.documents,
        sentences=counts.sentences,
        words=counts.words,
        characters=counts.characters,
        pairs=pairs,
        longest_sentence=counts.longest_sentence,
        tokens=round(int(lengths.sum()) * counts.characters / sample.characters),
        tokens_estimated=sample.stride > 1,
        vocab_size=tokenizer.vocab_size,
        unk_rate=float(held_out_frequency[tokenizer.unk_id] / max(1, held_out_frequency.sum())),
        nsp_possible=counts.documents >= 2 and pairs > 0,  # a random sentence is drawn from another document
        unigram_entropy=max(0.0, -math.fsum(share * np.log(share))),
        frequent=tuple(
            (token_name(tokenizer, i), float(frequency[i] / frequency.sum())) for i in most_frequent if frequency[i]
        ),
        reading=tuple(notes.descriptions()) if notes else (),
        recommended=writing.settings,
    )
    warnings = (
        *health_report.writing_warnings(writing, tokenizer),
        *health_report.unknown_warning(report.unk_rate, tokenizer, held_out or train, is_given=is_given),
        *_warnings_about(report, counts, int(np.count_nonzero(frequency)), lengths, seq_len),
        *health_report.reading_warnings(notes or ReadingNotes(), report.sentences),
    )
    return replace(report, warnings=warnings), tokenizer


def suited_settings(paths: Sequence[str | Path]) -> dict[str, str | bool]:
    """Return the options of `pretrain` that suit the writing system of files. Raises `InputError`."""
    sentences = chain.from_iterable(document.sentences for document in read_documents(paths))
    return health_report.writing_system(sentences).settings


class _Counts:
    """Counts over the whole text, in constant memory."""

    def __init__(self) -> None:
        self.documents = self.sentences = self.words = self.characters = self.longest_sentence = 0
        self.single_documents = 0  # of one sentence: the parts of a longer one have thousands
        # Duplicates are estimated on the sentences whose checksum ends in `_bits` zeros. All copies of a sentence share
        # its checksum, so the estimate is unbiased; `_bits` grows to bound the memory.
        self._checksums: Counter[int] = Counter()
        self._bits = 0

    def add(self, document: Document) -> None:
        if document.sentences and not document.continues:
            self.documents += 1
            self.single_documents += len(document.sentences) == 1
        self.sentences += len(document.sentences)
        mask = (1 << self._bits) - 1
        for sentence in document.sentences:
            words = count_words(sentence)
            self.words += words
            self.longest_sentence = max(self.longest_sentence, words)
            self.characters += len(sentence)
            checksum = zlib.crc32(sentence.encode("utf-8", "replace"))
            if not checksum & mask:
                self._checksums[checksum] += 1
        while len(self._checksums) > _MAX_CHECKSUMS:
            self._bits += 1
            mask = (1 << self._bits) - 1
            self._checksums = Counter({p: n for p, n in self._checksums.items() if not p & mask})

    def duplicated(self) -> float:
        """Share of the sentences that repeat an earlier one."""
        return 1 - len(self._checksums) / self._checksums.total() if self._checksums else 0.0


class _Sample:
    """Every n-th document; n doubles as needed to stay within the limit."""

    def __init__(self) -> None:
        self._sentences: list[tuple[str, ...]] = []
        self.stride = 1
        self._documents = 0
        self.characters = 0

    def add(self, document: Document) -> None:
        if self._documents % self.stride == 0 and document.sentences:
            self._sentences.append(document.sentences)
            self.characters += sum(map(len, document.sentences))
            while self.characters > _SAMPLE_CHARACTERS and len(self._sentences) > 1:
                self._sentences = self._sentences[::2]
                self.stride *= 2
                self.characters = sum(map(len, chain.from_iterable(self._sentences)))
        self._documents += 1

    def split(self) -> tuple[list[str], list[str]]:
        """Return sentences to train on, and held-out ones: every tenth document, or sentence of few documents."""
        units: list[tuple[str, ...]] = self._sentences
        if len(units) < _HELD_OUT_EVERY:
            units = [(sentence,) for sentences in units for sentence in sentences]
        held_out = [unit for n, unit in enumerate(units, 1) if n % _HELD_OUT_EVERY == 0]
        train = [unit for n, unit in enumerate(units, 1) if n % _HELD_OUT_EVERY]
        return list(chain.from_iterable(train)), list(chain.from_iterable(held_out))


def _warnings_about(
    report: HealthReport, counts: _Counts, distinct_tokens: int, lengths: np.ndarray, seq_len: int
) -> Iterator[str]:
    """Yield full sentences on a text, the most important first; `lengths` are those of sentences in tokens."""
    if report.sentences == 1:
        yield "The text is a single sentence: the lab trains MLM only, and the model will know nothing else."
    elif report.documents == 1:
        yield (
            "The text is one document, so there is no other one to draw a random next sentence from: the lab trains "
            "MLM only; three blank lines between articles, or several files, would give it more documents."
        )
    elif report.pairs == 0:
        yield "Every document is a single sentence, so no sentence has a next one: the lab trains MLM only."
    elif counts.single_documents > 0.9 * report.documents:
        share = percent(counts.single_documents / report.documents)
        consequence = "so nearly all next sentences are random and NSP accuracy means little: train with MLM only"
        yield f"{share} of the documents are a single sentence, {consequence}."
    if distinct_tokens <= 5:
        tokens = f"only {pluralized(distinct_tokens, 'different token<s>')}, repeated"
        yield f"The text is made of {tokens}: training works, but there is nothing to learn from it."
    elif report.tokens < 20_000:
        yield f"The text is tiny ({report.tokens:,} tokens): the model learns it by heart, and scores say little."
    if (duplicated := counts.duplicated()) > 0.2 and report.sentences > 1:
        share = percent(duplicated)
        yield f"{share} of the sentences repeat an earlier one: held-out scores will look better than they are."
    if (too_long := float(np.mean(lengths > seq_len - 3))) > 0.05:
        fit = f"{percent(too_long)} of the sentences do not fit into {seq_len} tokens"
        yield f"{fit}: the lab cuts them to fit; a longer max sequence length would keep them whole."


def _frequency(ids: Sequence[Sequence[int]], vocab_size: int) -> np.ndarray:
    """Return how often each token occurs: (vocab_size,)."""
    flat = np.fromiter(chain.from_iterable(ids), np.int64, sum(map(len, ids)))
    return np.bincount(flat, minlength=vocab_size)
