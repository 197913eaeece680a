"""Training text that is read while it is trained on: a data set larger than the disk, a part at a time in memory.

The first documents are held out. The others come in their order, in chunks: a chunk is tokenized, its examples are
drawn and shuffled as those of a small corpus, and it is dropped for the next one; after the last row the data set
begins again. The place of each chunk in the data set is known, so a run resumes at the same batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from bertviz_lab.data.corpora.formats.hub import DatasetName, ResumableRows, rows_are_lines
from bertviz_lab.data.corpora.formats.records import text_field_of
from bertviz_lab.data.corpora.formats.text import cell_paragraphs, texts_of
from bertviz_lab.data.corpora.reading_notes import quoted
from bertviz_lab.data.documents import split_sentences
from bertviz_lab.data.pretraining.batches import PretrainingBatch, PretrainingData
from bertviz_lab.data.pretraining.sentence_pairs import Examples
from bertviz_lab.data.pretraining.tokenized_corpus import CachedTokenizer, CorpusView, TokenizedCorpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

#: Characters of a chunk, a quarter of a million tokens: enough to shuffle in, little to wait for.
CHUNK_CHARACTERS = 1_000_000
_LEAST_DOCUMENTS = 2  # of a chunk: a random next sentence comes from another document
_REMEMBERED = 16  # chunks whose places are known: more than batches are made ahead of time


@dataclass(frozen=True)
class StreamedText:
    """A data set as documents: each row is one, its text in a field. The first `held_out` rows are not for training."""

    dataset: DatasetName
    field: str
    held_out: int

    def held_out_documents(self) -> Iterator[tuple[str, ...]]:
        """Yield the sentences of each held-out document."""
        for row in islice(ResumableRows(self.dataset), self.held_out):
            yield self.sentences(row)

    def first_sentences(self, characters: int) -> Iterator[str]:
        """Yield sentences of about so many characters, from the first training document on."""
        for row in ResumableRows(self.dataset, self.held_out):
            for sentence in self.sentences(row):
                yield sentence
                characters -= len(sentence)
            if characters <= 0:
                return

    def sentences(self, row: dict[str, Any]) -> tuple[str, ...]:
        """Return the sentences of a row's text."""
        paragraphs = filter(None, cell_paragraphs(texts_of(row, self.field)))
        return tuple(sentence for paragraph in paragraphs for sentence in split_sentences(paragraph))


def open_streamed_text(entry: str, text_field: str, held_out: int) -> StreamedText:
    """Look at the first rows of `dataset:NAME`. Raises `InputError` where they are not documents to train on."""
    dataset = DatasetName.parse(entry)
    sample = list(islice(ResumableRows(dataset), held_out + 1))
    if len(sample) <= held_out:
        raise InputError(
            f"{quoted(dataset.name)} has {len(sample)} documents, of which the first {held_out} would be held out: "
            "lower `held_out_documents`."
        )
    field = text_field_of(sample, text_field or None, dataset.name) or ""
    if rows_are_lines(sample, field):
        raise InputError(
            f"The rows of {quoted(dataset.name)} are lines of text, not documents: leave `streaming` out to read it."
        )
    return StreamedText(dataset, field, held_out)


class ChunkReader:
    """The training documents of a streamed text, chunk by chunk, without end; `chunk` and `place` start it again."""

    def __init__(
        self,
        text: StreamedText,
        tokenizer: Tokenizer,
        chunk: int = 0,
        place: dict[str, Any] | None = None,
        characters: int = CHUNK_CHARACTERS,
    ) -> None:
        self._text, self._lookup, self._characters = text, CachedTokenizer(tokenizer), characters
        self._places = {chunk: place}
        self._next = chunk
        self._rows = self._open(place)

    def place(self, chunk: int) -> dict[str, Any] | None:
        """Return where a chunk begins in the data set, as JSON can hold it; one that was read lately, or the first."""
        return self._places[chunk]

    def read(self, chunk: int) -> CorpusView:
        """Return the documents of a chunk: the next one, or one that was read lately."""
        if chunk != self._next:
            self._rows = self._open(self._places[chunk])
        self._places[chunk] = self._rows.place
        for old in [number for number in self._places if number <= chunk - _REMEMBERED]:
            del self._places[old]
        corpus = TokenizedCorpus.of_texts(self._documents(), self._lookup)
        self._next = chunk + 1
        return corpus.select(np.arange(corpus.documents))

    def _open(self, place: dict[str, Any] | None) -> ResumableRows:
        return ResumableRows(self._text.dataset, self._text.held_out, place)

    def _documents(self) -> Sequence[tuple[str, ...]]:
        """Return documents of about so many characters; a pass over the data set ends a chunk with enough documents."""
        documents: list[tuple[str, ...]] = []
        characters = beginnings = 0
        while characters < self._characters or len(documents) < _LEAST_DOCUMENTS:
            row = next(self._rows, None)
            if row is not None:
                if sentences := self._text.sentences(row):
                    documents.append(sentences)
                    characters += sum(map(len, sentences))
            elif len(documents) >= _LEAST_DOCUMENTS:
                break
            elif beginnings > 1:
                raise InputError(f"After the held-out documents {quoted(self._text.dataset.name)} holds no words.")
            else:
                beginnings += 1
                self._rows = self._open(None)
        return documents


@dataclass(frozen=True)
class StreamedData:
    """Batches of a streamed text; what they are like is as in `like`, whose own documents are not used."""

    like: PretrainingData
    reader: ChunkReader

    def epoch(self, number: int) -> Iterator[tuple[PretrainingData, Examples]]:
        """Yield the examples of each batch of a chunk, (batch, 5), with the data they are from."""
        data = replace(self.like, documents=self.reader.read(number))
        for rows in data.epoch(number):
            yield data, rows

    def batch_at(self, rows: tuple[PretrainingData, Examples], epoch: int, number: int) -> PretrainingBatch:
        """Return the batch of these examples at its place."""
        data, examples = rows
        return data.batch_at(examples, epoch, number)
