"""Documents on disk as plain text: a sentence a line, an empty line after each document. Read once, use often."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from bertviz_lab.data.documents import Document

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
    """The documents again, in order, named by their number; long ones in parts."""
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
    """Sentences to learn a vocabulary from: all of them, or evenly spaced ones if the text is longer."""
    every = max(1, -(-path.stat().st_size // characters))
    with path.open(encoding="utf-8") as file:
        yield from islice((line.rstrip("\n") for line in file if line != "\n"), 0, None, every)
