"""The text that trainings are measured on: an encyclopaedia where it is at hand, else text made up for the purpose."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.task_datasets import folder as data_folder
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus, sentence_lines
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

VOCABULARY_CHARACTERS = 20_000_000  # as much as a vocabulary needs to settle
EVERYTHING = 10**12  # characters
_WORDS = 60_000  # of the made-up language


@dataclass(frozen=True)
class Text:
    """A corpus in two files, train and valid, and the name to report it by."""

    name: str
    train: Path
    valid: Path


def find_text() -> Text:
    """`wiki_en` in $BERTVIZ_LAB_DATA or beside the repository, else a made-up text of 20 MB."""
    folder = data_folder() / "wiki_en"
    if (folder / "train.txt").is_file():
        return Text("wiki_en", folder / "train.txt", folder / "valid.txt")
    folder = cache() / "made-up"
    if not (folder / "valid.txt").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _make_up(folder / "train.txt", 20_000_000, seed=0)
        _make_up(folder / "valid.txt", 1_000_000, seed=1)
    return Text("made-up text", folder / "train.txt", folder / "valid.txt")


def with_simple_text(text: Text) -> Text:
    """The same with simple text and dialogue: captions of pictures (Multi30k), five a document, and 20 MB of novels."""
    data, folder = text.train.parent.parent, cache() / f"{text.train.parent.name}-simple"
    if not (folder / "train.txt").is_file():
        captions = [
            (data / f"multi30k_captions/train.{n}.en").read_text(encoding="utf-8").splitlines() for n in range(1, 6)
        ]
        novels = (data / "classic_books/train_60mb.txt").read_text(encoding="utf-8")[:20_000_000]
        pictures = "\n\n".join("\n".join(lines) for lines in zip(*captions, strict=True))
        folder.mkdir(parents=True, exist_ok=True)
        parts = (text.train.read_text(encoding="utf-8"), pictures, novels)
        (folder / "train.txt").write_text("\n\n".join(parts), encoding="utf-8")
    return Text(f"{text.name} and simple text", folder / "train.txt", text.valid)


def tokenized(path: Path, tokenizer: Tokenizer, characters: int = VOCABULARY_CHARACTERS) -> TokenizedCorpus:
    """The start of a text as token ids; kept for the next measurement."""
    folder = cache() / f"{path.parent.name}-{path.stem}-{characters}-{tokenizer.fingerprint}"
    if (folder / "corpus.json").is_file():
        with contextlib.suppress(InputError):  # written by another version of the lab
            return TokenizedCorpus.open(folder)
    return TokenizedCorpus.write(sentence_lines(_documents(path, characters)), tokenizer, folder)


def learnt_tokenizer(path: Path, vocab_size: int) -> Tokenizer:
    """A WordPiece vocabulary learnt from the start of a text; kept."""
    return Tokenizer.load(tokenizer_folder(path, vocab_size))


def tokenizer_folder(path: Path, vocab_size: int) -> Path:
    """Where that vocabulary is kept."""
    folder = cache() / f"{path.parent.name}-{path.stem}-{vocab_size}"
    if not (folder / "done").is_file():
        sentences = (s for document in _documents(path, VOCABULARY_CHARACTERS) for s in document.sentences)
        Tokenizer.train(sentences, vocab_size=vocab_size).save(folder)
        (folder / "done").touch()
    return folder


def cache() -> Path:
    """Where texts, vocabularies, token ids and interrupted runs are kept between measurements."""
    return Path(tempfile.gettempdir()) / "bertviz-lab-benchmarks"


def _documents(path: Path, characters: int) -> Iterator[Document]:
    read = 0
    for document in read_documents([path]):
        yield document
        read += sum(map(len, document.sentences))
        if read >= characters:
            return


def _make_up(path: Path, characters: int, seed: int) -> None:
    """Sentences of words drawn by Zipf's law: nothing to be learnt, but the shapes of a text."""
    rng = np.random.default_rng(0)  # one language for all files
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 10, _WORDS)])
    shares = 1.0 / np.arange(10, _WORDS + 10)
    shares /= shares.sum()
    rng = np.random.default_rng((seed, 1))
    with path.open("w", encoding="utf-8") as file:
        written = 0
        while written < characters:
            drawn = iter(words[rng.choice(_WORDS, size=2_000, p=shares)])
            lines = [" ".join(next(drawn) for _ in range(20)).capitalize() + "." for _ in range(100)]
            written += file.write("\n".join(lines) + "\n\n")
