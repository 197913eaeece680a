"""A corpus as numbers: every token id in one flat array on disk, with the borders of sentences and documents."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.document import Document
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

_BATCH = 20_000  # sentences handed to the tokenizer at once: enough to keep its threads busy, little to hold


@dataclass(frozen=True)
class TokenizedCorpus:
    """Token ids without special tokens; memory-mapped, so its size on disk is not its size in memory.

    `ids`: all tokens (tokens,). `sentence_ends`: (sentences,), where each sentence ends in `ids`.
    `document_ends`: (documents,), where each document ends in `sentence_ends`.
    """

    ids: NDArray[np.integer]
    sentence_ends: NDArray[np.int64]
    document_ends: NDArray[np.int64]

    @property
    def documents(self) -> int:
        return len(self.document_ends)

    @property
    def sentences(self) -> int:
        return len(self.sentence_ends)

    @property
    def tokens(self) -> int:
        return len(self.ids)

    @classmethod
    def write(
        cls,
        documents: Iterable[Document],
        tokenizer: Tokenizer,
        folder: Path,
        on_progress: Callable[[int], None] | None = None,
    ) -> Self:
        """Tokenize `documents` into `folder` as a stream; `on_progress` hears the number of documents done.

        Raises `InputError` when no document holds a token.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "corpus.json").unlink(missing_ok=True)  # written last: with it, all the rest is whole
        dtype = np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32
        lengths: list[NDArray[np.int64]] = []
        counts: list[int] = []
        with (folder / "ids.bin").open("wb") as file:
            for batch in _batches(documents):
                ids = tokenizer.ids([sentence for document in batch for sentence in document.sentences])
                sizes = np.fromiter((len(sentence) for sentence in ids), dtype=np.int64, count=len(ids))
                first = 0
                for document in batch:
                    kept = int(np.count_nonzero(sizes[first : first + len(document.sentences)]))
                    first += len(document.sentences)
                    if document.continues and counts:
                        counts[-1] += kept
                    else:
                        counts.append(kept)
                lengths.append(sizes[sizes > 0])
                np.fromiter((i for s in ids for i in s), dtype=dtype, count=int(sizes.sum())).tofile(file)
                if on_progress:
                    on_progress(len(counts))
        counts = [count for count in counts if count]  # empty documents are dropped, as are sentences without a token
        if not counts:
            raise InputError("The text holds no words to train on.")
        np.save(folder / "sentence_ends.npy", np.cumsum(np.concatenate(lengths)))
        np.save(folder / "document_ends.npy", np.cumsum(np.array(counts, dtype=np.int64)))
        meta = {"dtype": np.dtype(dtype).name, "tokenizer": tokenizer.fingerprint}
        (folder / "corpus.json").write_text(json.dumps(meta), encoding="utf-8")
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map a corpus written earlier."""
        meta = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
        return cls(
            ids=np.memmap(folder / "ids.bin", dtype=np.dtype(meta["dtype"]), mode="r"),
            sentence_ends=np.load(folder / "sentence_ends.npy", mmap_mode="r"),
            document_ends=np.load(folder / "document_ends.npy", mmap_mode="r"),
        )

    @classmethod
    def from_sentences(cls, documents: Iterable[Iterable[list[int]]]) -> Self:
        """A small corpus in memory, from lists of token ids."""
        ids: list[int] = []
        sentence_ends: list[int] = []
        document_ends: list[int] = []
        for document in documents:
            for sentence in document:
                ids.extend(sentence)
                sentence_ends.append(len(ids))
            document_ends.append(len(sentence_ends))
        return cls(np.array(ids, np.uint32), np.array(sentence_ends, np.int64), np.array(document_ends, np.int64))

    def sentence_bounds(self, document: int) -> NDArray[np.int64]:
        """Token offsets of a document's sentences: (sentences + 1,), each sentence from one to the next."""
        first = int(self.document_ends[document - 1]) if document else 0
        last = int(self.document_ends[document])
        start = int(self.sentence_ends[first - 1]) if first else 0
        return np.concatenate(([start], self.sentence_ends[first:last]))

    def select(self, documents: NDArray[np.integer]) -> "CorpusView":
        return CorpusView(self, np.asarray(documents, dtype=np.int64))

    def counts(self, vocab_size: int) -> NDArray[np.int64]:
        """How often each token id occurs: (vocab_size,)."""
        total = np.zeros(vocab_size, dtype=np.int64)
        for start in range(0, self.tokens, 1 << 22):  # in pieces, so that the map stays a map
            total += np.bincount(self.ids[start : start + (1 << 22)], minlength=vocab_size)
        return total


@dataclass(frozen=True)
class CorpusView:
    """Some documents of a corpus: the part to train on, or the part held out."""

    corpus: TokenizedCorpus
    documents: NDArray[np.int64]  # indices into the corpus

    def __len__(self) -> int:
        return len(self.documents)

    def sentence_bounds(self, index: int) -> NDArray[np.int64]:
        return self.corpus.sentence_bounds(int(self.documents[index]))


def split_held_out(
    corpus: TokenizedCorpus, *, least: int = 1, share: float = 0.05, most_documents: int = 1_000
) -> tuple[CorpusView, CorpusView]:
    """Whole documents for training and for held-out scores, evenly spaced, so that it depends on nothing random.

    Each part gets at least `least` documents. A corpus with too few for that is both parts, and the scores are
    then those of text that is also trained on: the two views have the same documents.
    """
    everything = np.arange(corpus.documents)
    if corpus.documents < 2 * least:
        return corpus.select(everything), corpus.select(everything)
    wanted = min(most_documents, max(least, round(share * corpus.documents)))
    held = np.linspace(0, corpus.documents, wanted, endpoint=False).astype(np.int64) + corpus.documents // (2 * wanted)
    return corpus.select(np.setdiff1d(everything, held)), corpus.select(held)


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    sentences = 0
    for document in documents:
        batch.append(document)
        sentences += len(document.sentences)
        if sentences >= _BATCH:
            yield batch
            batch, sentences = [], 0
    if batch:
        yield batch
