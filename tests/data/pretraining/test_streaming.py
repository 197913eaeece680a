"""Text that is read while it is trained on: which documents, in which order, and where a reader goes on."""

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.pretraining.streaming import ChunkReader, StreamedText, open_streamed_text
from bertviz_lab.data.pretraining.tokenized_corpus import CorpusView
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer

NUMBERS = "one two three four five six seven eight nine ten".split()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([" ".join(NUMBERS)] * 3, vocab_size=80)


def text_of(number: int) -> str:
    """Two sentences that spell a number."""
    digits = " ".join(NUMBERS[int(digit)] for digit in f"{number:03}")
    return f"It says {digits} here. It says {digits} there."


def write_rows(folder: Path, count: int = 40, kind: str = "jsonl", per_file: int = 15) -> Path:
    folder.mkdir(parents=True)
    rows = [{"id": number, "text": text_of(number)} for number in range(count)]
    for start in range(0, count, per_file):
        part, path = rows[start : start + per_file], folder / f"part-{start:04}.{kind}"
        if kind == "parquet":
            pq.write_table(pa.Table.from_pylist(part), path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in part))
    return folder


def streamed(folder: Path, held_out: int = 5) -> StreamedText:
    return open_streamed_text(f"dataset:{folder}", "", held_out)


def texts(view: CorpusView, tokenizer: Tokenizer) -> list[str]:
    """The documents of a chunk, in words."""
    corpus = view.corpus
    ends = [0, *corpus.sentence_ends[corpus.document_ends - 1].tolist()]
    return [tokenizer.decode(corpus.ids[a:b].tolist()) for a, b in itertools.pairwise(ends)]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_first_documents_are_held_out_and_the_others_come_in_order(tmp_path, tokenizer, kind):
    text = streamed(write_rows(tmp_path / "rows", kind=kind))
    held_out = list(text.held_out_documents())
    assert [" ".join(sentences) for sentences in held_out] == [text_of(number) for number in range(5)]
    reader = ChunkReader(text, tokenizer, characters=500)
    chunks = [texts(reader.read(chunk), tokenizer) for chunk in range(4)]
    everything = [text for chunk in chunks for text in chunk]
    assert len(chunks[0]) < 35, "a chunk is a part"
    expected = [tokenizer.decode(tokenizer.ids([text_of(number)])[0]) for number in range(5, 40)]
    assert everything[:35] == expected


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_file_and_a_folder_are_named_as_they_are(tmp_path, kind):
    folder = write_rows(tmp_path / "rows", kind=kind)
    for entry in (folder, folder / f"part-0000.{kind}"):
        assert PretrainConfig(corpus=(str(entry),), streaming=True).streaming
        held_out = open_streamed_text(str(entry), "", 5).held_out_documents()
        assert [" ".join(sentences) for sentences in held_out] == [text_of(number) for number in range(5)]


def test_a_data_set_begins_again_also_for_a_second_document(tmp_path, tokenizer):
    reader = ChunkReader(streamed(write_rows(tmp_path / "rows")), tokenizer)
    first, second = (texts(reader.read(chunk), tokenizer) for chunk in range(2))
    assert len(first) == 35
    assert second == first
    view = ChunkReader(streamed(write_rows(tmp_path / "few", count=6)), tokenizer).read(0)
    assert len(view) == 2


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_reader_goes_on_from_the_place_of_any_chunk(tmp_path, tokenizer, kind):
    text = streamed(write_rows(tmp_path / "rows", kind=kind))
    reader = ChunkReader(text, tokenizer, characters=300)
    chunks, places = [], []
    for number in range(14):  # more than one pass
        chunks.append(texts(reader.read(number), tokenizer))
        places.append(json.loads(json.dumps(reader.place(number))))
    for number in (0, 1, 4, 9, 13):
        resumed = ChunkReader(text, tokenizer, number, places[number], characters=300)
        assert texts(resumed.read(number), tokenizer) == chunks[number]
        if number < 13:
            assert texts(resumed.read(number + 1), tokenizer) == chunks[number + 1]


def test_a_chunk_that_was_read_lately_can_be_read_again(tmp_path, tokenizer):
    reader = ChunkReader(streamed(write_rows(tmp_path / "rows")), tokenizer, characters=300)
    first, second = (texts(reader.read(chunk), tokenizer) for chunk in range(2))
    assert texts(reader.read(0), tokenizer) == first
    assert texts(reader.read(1), tokenizer) == second


def test_rows_without_words_are_passed_over(tmp_path, tokenizer):
    folder = tmp_path / "rows"
    folder.mkdir()
    rows = [text_of(number) if number % 11 else " " for number in range(1, 40)]
    (folder / "rows.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    view = ChunkReader(streamed(folder), tokenizer).read(0)
    assert len(view) == 34 - 3
    assert np.all(np.diff(view.spans, axis=1) > 0)


def test_data_sets_of_too_little_text_or_of_lines_are_refused(tmp_path, tokenizer):
    with pytest.raises(InputError, match=r"has 5 documents.*lower `held_out_documents`"):
        streamed(write_rows(tmp_path / "few", count=5))
    folder = write_rows(tmp_path / "rows", count=30)
    (folder / "part-9999.jsonl").write_text(json.dumps({"id": 0, "text": "..."[:0]}) + "\n")
    reader = ChunkReader(streamed(folder, held_out=30), tokenizer)
    with pytest.raises(InputError, match="holds no words"):
        reader.read(0)
    folder = tmp_path / "lines"
    folder.mkdir()
    rows = ["= A heading =", "", text_of(1), "", text_of(2), ""] * 3
    (folder / "rows.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    with pytest.raises(InputError, match="lines of text, not documents"):
        streamed(folder)
