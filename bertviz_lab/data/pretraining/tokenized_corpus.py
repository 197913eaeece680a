"""A corpus as numbers: every token id in one flat array on disk, with the borders of sentences and documents."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bertviz_lab.data.documents import Document
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer


def sentence_lines(documents: Iterable[Document]) -> Iterator[str]:
    """Yield an empty line for each document, then its sentences, a line each; parts of a document are put together."""
    for document in documents:
        if not document.continues:
            yield ""
        yield from filter(None, (" ".join(sentence.split()) for sentence in document.sentences))


def write_sentence_cache(documents: Iterable[Document], path: Path) -> int:
    """Write documents as they come, as `sentence_lines`; return how many there were."""
    count = 0
    with path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        for line in sentence_lines(documents):
            count += not line
            file.write(f"{line}\n")
    return count


def read_sentence_cache(path: Path) -> Iterator[str]:
    """Yield the lines again."""
    with path.open(encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file)


def sample_sentences(path: Path, characters: int) -> Iterator[str]:
    """Yield sentences to learn a vocabulary from: all of them, or evenly spaced ones if the text is longer."""
    every = max(1, -(-path.stat().st_size // characters))
    return islice(filter(None, read_sentence_cache(path)), 0, None, every)


#: Characters of different words that are remembered; then it starts again, so that memory stays flat.
_REMEMBERED = 4_000_000
#: In writings with blanks, a blank comes at least this often, in characters. (Chinese has none to split at.)
_MOST_BETWEEN_BLANKS = 20

# What is looked up. BERT: letters and digits, or a mark. GPT-2: these with the blank before them. In text
# beyond ASCII, all between two blanks is one word where a single letter is beyond it.
_BERT = r"[A-Za-z0-9]+|[^A-Za-z0-9 ]"
_GPT2 = r"'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]+| ?[^A-Za-z0-9 ]+"
_GPT2_LOWERCASED = _GPT2.replace("'(?:", "'(?i:")  # the text is lowercased before it is split, so 'T is 't
_BEYOND_ASCII = r" ?[^ ]*[^\x00-\x7f ][^ ]*|"


class CachedTokenizer:
    """The ids of many sentences, with a memory of the words seen."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pattern = _word_pattern(tokenizer)
        self._patterns = (re.compile(_BEYOND_ASCII + pattern), re.compile(pattern)) if pattern else None
        self._ids: dict[str | None, list[int]] = {}

    def ids(self, sentences: Iterable[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return all ids one after another, (tokens,), and how many belong to each sentence, (sentences,)."""
        words: list[str | None] = []
        for sentence in sentences:
            words += self._words(sentence)
            words.append(None)  # the end of the sentence
        if sum(map(len, filter(None, self._ids))) > _REMEMBERED:
            self._ids = {}
        new = [word for word in set(words).difference(self._ids) if word is not None]
        self._ids |= dict(zip(new, self._tokenizer.ids(new), strict=True)) | {None: [-1]}
        ids = np.fromiter(chain.from_iterable(map(self._ids.__getitem__, words)), dtype=np.int64)
        return ids[ids >= 0], np.diff(np.flatnonzero(ids < 0), prepend=-1) - 1

    def _words(self, sentence: str) -> Sequence[str]:
        """Return what the tokenizer splits a sentence into before it looks for tokens; or else the sentence itself."""
        # Printable text has no white space but the blank; two of them, or one at an end, are words in GPT-2.
        if not self._patterns or not sentence.isprintable() or "  " in sentence or sentence.strip(" ") != sentence:
            return (sentence,)
        is_ascii = sentence.isascii()
        if not is_ascii and len(sentence) > _MOST_BETWEEN_BLANKS * (1 + sentence.count(" ")):
            return (sentence,)
        lowercased = is_ascii and self._tokenizer.lowercase  # fewer different words
        words: list[str] = self._patterns[is_ascii].findall(sentence.lower() if lowercased else sentence)
        return words


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
_BATCH = 20_000  # lines tokenized at once: enough to keep its threads busy, little to hold


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
        lines: Iterable[str],
        tokenizer: Tokenizer,
        folder: Path,
        on_progress: Callable[[int], None] | None = None,
        *,
        without: Sequence[str] = (),
    ) -> Self:
        """Tokenize `sentence_lines` into `folder` as a stream. Raises `InputError` when none holds a token.

        Sentences with the same tokens as one of `without` are left out. `on_progress` is called with the number of
        documents so far.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("corpus.json", *_FILES):  # not written over: others may hold links to the files
            (folder / name).unlink(missing_ok=True)
        dtype = np.uint16 if tokenizer.vocab_size <= 2**16 else np.uint32
        frequencies = np.zeros(tokenizer.vocab_size, dtype=np.int64)
        lookup, lines = CachedTokenizer(tokenizer), iter(lines)
        left_out = {tuple(sentence) for sentence in tokenizer.ids(without)}
        documents = tokens = sentences = 0  # so far
        done = 0  # where the last document ends that is written
        with ExitStack() as stack:
            ids_file, sentence_file, document_file = (stack.enter_context((folder / n).open("wb")) for n in _FILES)
            while batch := [*islice(lines, _BATCH)]:
                ids, sizes = lookup.ids(batch)
                if left_out:
                    ids, sizes = _leave_out(ids, sizes, left_out)
                ids_file.write(ids.astype(dtype).tobytes())  # unlike `tofile`, it tells of a full disk
                frequencies += np.bincount(ids, minlength=len(frequencies))
                # Sentences without a token are dropped, and documents without a sentence.
                sentence_file.write((tokens + np.cumsum(sizes[sizes > 0])).tobytes())
                borders = np.array([not line for line in batch])
                before = sentences + np.cumsum(sizes > 0)
                ends = np.unique(before[borders & (before > done)])
                document_file.write(ends.tobytes())
                done = max([done, *ends.tolist()])
                tokens, sentences, documents = tokens + len(ids), int(before[-1]), documents + int(borders.sum())
                if on_progress:
                    on_progress(documents)
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

    def sample(self, tokens: int) -> NDArray[np.integer]:
        """Return the ids of up to so many tokens, (tokens,), of documents that are spread over the text."""
        starts, ends = (np.where(border, self.corpus.sentence_ends[border - 1], 0) for border in self.spans.T)
        every = max(1, int((ends - starts).sum()) // tokens)
        spans = zip(starts[::every].tolist(), ends[::every].tolist(), strict=True)
        return np.concatenate([self.corpus.ids[start:end] for start, end in spans])[:tokens]


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
