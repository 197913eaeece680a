"""A corpus as numbers: every token id in one flat array on disk, with the borders of sentences and documents."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.documents import Document
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

_PART = 5_000  # sentences of a document that are handed out at once, so that a whole book is never held


def write_sentence_cache(documents: Iterable[Document], path: Path) -> int:
    """Write documents as they come; returns how many there were."""
    count = 0
    with path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        for document in documents:
            if count and not document.continues:
                file.write("\n")
            count += not document.continues
            lines = (" ".join(sentence.split()) for sentence in document.sentences)
            file.writelines(line + "\n" for line in lines if line)  # an empty one would end the document
    return count


def read_sentence_cache(path: Path) -> Iterator[Document]:
    """Yield the documents again, in order, named by their number; long ones in parts."""
    sentences: list[str] = []
    number, continues = 1, False
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line != "\n":
                sentences.append(line.rstrip("\n"))
            if line == "\n" or len(sentences) == _PART:
                yield Document(str(number), tuple(sentences), continues)
                sentences, continues = [], line != "\n"
                number += line == "\n"
    if sentences:
        yield Document(str(number), tuple(sentences), continues)


def sample_sentences(path: Path, characters: int) -> Iterator[str]:
    """Yield sentences to learn a vocabulary from: all of them, or evenly spaced ones if the text is longer."""
    every = max(1, -(-path.stat().st_size // characters))
    with path.open(encoding="utf-8") as file:
        yield from islice((line.rstrip("\n") for line in file if line != "\n"), 0, None, every)


#: Characters of different words that are remembered; then it starts again, so that memory stays flat.
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
        """Return all ids one after another, (tokens,), and how many belong to each sentence, (sentences,)."""
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
        """Return the ids as the tokenizer gives them."""
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
        new = list(islice(known.numbers, len(known.ends), None))  # words with a number and no ids yet
        known.add(new, *self._split(new, _ALONE))
        lengths = known.ends[numbers] - known.starts[numbers]
        ends = np.cumsum(lengths)  # of the words, in the ids
        positions = np.arange(ends[-1]) - np.repeat(ends - lengths - known.starts[numbers], lengths)
        return known.ids[positions], np.diff(ends[numbers == 0], prepend=0)


class _Known:
    """The words seen, numbered as they are first asked for (the line end is 0), and where the ids of each lie."""

    def __init__(self) -> None:
        self.numbers: defaultdict[str, int] = defaultdict(count(1).__next__, {"\n": 0})
        self.ids = np.zeros(0, dtype=np.int64)
        self.starts = self.ends = np.zeros(1, dtype=np.int64)  # a line end has no ids
        self.characters = 0

    def add(self, words: list[str], ids: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
        """Their ids, one after another, and how many each has."""
        ends = len(self.ids) + np.cumsum(sizes)
        self.ids = np.concatenate([self.ids, ids])
        self.starts = np.concatenate([self.starts, ends - sizes])
        self.ends = np.concatenate([self.ends, ends])
        self.characters += sum(map(len, words))


def _word_pattern(tokenizer: Tokenizer) -> str | None:
    """Return what finds the words of plain ASCII as the tokenizer's own stages do; None for unknown stages."""
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


FORMAT = 2  # of the files in a corpus's folder
_FILES = ("ids.bin", "sentence_ends.bin", "document_ends.bin")
_FREQUENCIES = "frequencies.npy"
_BATCH = 20_000  # sentences tokenized at once: enough to keep its threads busy, little to hold


@dataclass(frozen=True)
class TokenizedCorpus:
    """Token ids without special tokens; memory-mapped, so its size on disk is not its size in memory.

    `ids`: all tokens (tokens,). `sentence_ends`: (sentences,), where each sentence ends in `ids`.
    `document_ends`: (documents,), where each document ends in `sentence_ends`.
    `frequencies`: how often each id occurs.
    """

    ids: NDArray[np.integer]
    sentence_ends: NDArray[np.int64]
    document_ends: NDArray[np.int64]
    frequencies: NDArray[np.int64]

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
        *,
        without: Sequence[str] = (),
    ) -> Self:
        """Tokenize `documents` into `folder` as a stream. Raises `InputError` when no document holds a token.

        Sentences with the same tokens as one of `without` are left out.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("corpus.json", *_FILES):  # not written over: others may hold links to the files
            (folder / name).unlink(missing_ok=True)
        dtype = np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32
        frequencies = np.zeros(tokenizer.vocab_size, dtype=np.int64)
        lookup = CachedTokenizer(tokenizer)
        left_out = {tuple(sentence) for sentence in tokenizer.ids(without)}
        count = tokens = sentences = 0  # so far
        done = 0  # where the last document ends that is written
        with ExitStack() as stack:
            ids_file, sentence_file, document_file = (stack.enter_context((folder / n).open("wb")) for n in _FILES)
            for batch in _batches(documents):
                ids, sizes = lookup.ids([sentence for document in batch for sentence in document.sentences])
                if left_out:
                    ids, sizes = _leave_out(ids, sizes, left_out)
                ids_file.write(ids.astype(dtype).tobytes())  # unlike `tofile`, it tells of a full disk
                frequencies += np.bincount(ids, minlength=len(frequencies))
                # Sentences without a token are dropped, and documents without a sentence.
                sentence_file.write((tokens + np.cumsum(sizes[sizes > 0])).tobytes())
                kept = np.concatenate(([0], np.cumsum(sizes > 0)))
                starts = sentences + kept[np.cumsum([0, *(len(document.sentences) for document in batch[:-1])])]
                is_new = np.array([not document.continues for document in batch])  # the one before it has ended
                ends = np.unique(starts[is_new & (starts > done)])
                document_file.write(ends.tobytes())
                done = max([done, *ends.tolist()])
                tokens, sentences = tokens + len(ids), sentences + int(kept[-1])
                count += int(is_new.sum())
                if on_progress:
                    on_progress(count)
            document_file.write(np.array([sentences] if sentences > done else [], dtype=np.int64).tobytes())
        if not tokens:
            raise InputError("The text holds no words to train on.")
        np.save(folder / _FREQUENCIES, frequencies)
        # Written last, and whole or not at all: with it, all the rest is whole.
        meta = {"format": FORMAT, "dtype": np.dtype(dtype).name, "tokenizer": tokenizer.fingerprint}
        meta |= {"sha256": {name: _sha256(folder / name) for name in (*_FILES, _FREQUENCIES)}}
        (folder / "corpus.json.part").write_text(json.dumps(meta), encoding="utf-8")
        (folder / "corpus.json.part").replace(folder / "corpus.json")
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path, *, verify: bool = False) -> Self:
        """Map a corpus; `verify` compares its checksums. Raises `InputError` for one of another version, or damaged."""
        try:
            meta = json.loads((folder / "corpus.json").read_bytes())
            changed = [n for n, digest in meta.get("sha256", {}).items() if verify and _sha256(folder / n) != digest]
        except (OSError, ValueError, AttributeError) as error:
            raise _damaged(folder / "corpus.json") from error
        if changed:
            raise _damaged(folder / changed[0])
        if meta.get("format") != FORMAT:
            raise InputError(f"{folder} was prepared by another version of the lab; start another run from its text.")
        types = (meta.get("dtype"), "int64", "int64")
        try:
            ids, sentence_ends, document_ends = (
                np.memmap(folder / name, dtype, mode="r") for name, dtype in zip(_FILES, types, strict=True)
            )
            return cls(ids, sentence_ends, document_ends, np.load(folder / _FREQUENCIES))
        except (OSError, ValueError, TypeError, EOFError) as error:
            raise _damaged(folder) from error

    @classmethod
    def of_texts(cls, documents: Sequence[Sequence[str]], lookup: CachedTokenizer) -> Self:
        """Return a corpus in memory, from the sentences of documents; those without a token are left out."""
        ids, sizes = lookup.ids([sentence for document in documents for sentence in document])
        kept = np.concatenate(([0], np.cumsum(sizes > 0)))
        ends = kept[np.cumsum([len(document) for document in documents], dtype=np.int64)]
        return cls(ids, np.cumsum(sizes[sizes > 0]), np.unique(ends[ends > 0]), np.bincount(ids))

    def document_sizes(self) -> NDArray[np.int64]:
        """Return tokens in each document: (documents,)."""
        return np.diff(self.sentence_ends[self.document_ends - 1], prepend=0)

    def select(self, documents: NDArray[np.integer]) -> "CorpusView":
        """Return the documents with these indices, in this order."""
        starts = np.concatenate([[0], self.document_ends[:-1]])
        return CorpusView(self, np.stack([starts[documents], self.document_ends[documents]], axis=1))

    def counts(self, vocab_size: int) -> NDArray[np.int64]:
        """Return how often each token id occurs: (vocab_size,)."""
        return np.pad(self.frequencies, (0, vocab_size - len(self.frequencies)))


@dataclass(frozen=True)
class CorpusView:
    """Some documents of a corpus, or parts of documents: the training text, or the held-out text."""

    corpus: TokenizedCorpus
    spans: NDArray[np.int64]  # (documents, 2): the first sentence of each, and the one after its last

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def has_sentence_pairs(self) -> bool:
        """Whether any sentence has a next one in its document."""
        return bool((self.spans[:, 1] - self.spans[:, 0] > 1).any())

    def sentence_bounds(self, index: int) -> NDArray[np.int64]:
        """Token offsets of a document's sentences: (sentences + 1,), each sentence from one to the next."""
        first, end = self.spans[index].tolist()
        start = int(self.corpus.sentence_ends[first - 1]) if first else 0
        return np.concatenate(([start], self.corpus.sentence_ends[first:end]))


def _leave_out(
    ids: NDArray[np.int64], sizes: NDArray[np.int64], left_out: set[tuple[int, ...]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ids and sizes of sentences with those in `left_out` emptied."""
    parts = np.split(ids, np.cumsum(sizes)[:-1])
    kept = np.array([tuple(part.tolist()) not in left_out for part in parts])
    return ids[np.repeat(kept, sizes)], sizes * kept


def _damaged(path: Path) -> InputError:
    return InputError(f"The prepared text of this run is damaged ({path}): restore it, or start a new run.")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
