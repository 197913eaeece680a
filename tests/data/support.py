"""Small files to read, for the tests of this folder."""

import zipfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np

from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.corpora.reading_notes import ReadingNotes
from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.data.tasks.question_answering import Window

PROSE = (
    "It was late in the year, and the road over the hills had been closed since the morning. Nobody had told "
    "the two travellers, who went on slowly under the heavy sky and spoke of the inn where they had slept. "
)


def read(path: Path, notes: ReadingNotes | None = None, **options) -> list[Document]:
    return list(read_documents([path], notes=notes, **options))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def zipped(folder: Path, members: dict[str, str | bytes], name: str = "texts.zip") -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path


def text_of(documents: list[Document]) -> str:
    return " ".join(sentence for document in documents for sentence in document.sentences)


def offsets_of(window: Window) -> tuple[tuple[int, int] | None, ...]:
    """(start, end) of each token in characters of the passage; None for tokens outside the passage."""
    return (None,) * window.passage_start + tuple(map(tuple, window.shown_spans.tolist())) + (None,)


def max_context_of(window: Window) -> tuple[bool, ...]:
    """For each position whether it is in the passage and no other window shows more context around it."""
    first, end = window.max_context_range
    return tuple(first <= position < end for position in range(len(window.ids)))


def corpus_of_ids(documents: Iterable[Iterable[list[int]]]) -> TokenizedCorpus:
    """A small corpus in memory, from the token ids of each sentence of each document."""
    nested = [list(document) for document in documents]
    sentences = list(chain.from_iterable(nested))
    ids = np.fromiter(chain.from_iterable(sentences), np.uint32)
    sentence_ends = np.cumsum(list(map(len, sentences)), dtype=np.int64)
    return TokenizedCorpus(ids, sentence_ends, np.cumsum(list(map(len, nested)), dtype=np.int64), np.bincount(ids))
