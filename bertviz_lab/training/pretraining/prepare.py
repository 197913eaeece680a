"""From a text to token ids, with progress: read, train the tokenizer, tokenize; or take them from the cache.

Of a text that is streamed only the held-out documents are tokenized beforehand, and the tokenizer is trained on the
first documents after them.
"""

import json
import math
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.corpora.formats.hub import DatasetName
from bertviz_lab.data.corpora.health_report import unknown_warning, writing_system, writing_warnings
from bertviz_lab.data.corpora.read import ReadingNotes, read_documents
from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining.streaming import StreamedText, open_streamed_text
from bertviz_lab.data.pretraining.tokenized_corpus import (
    TokenizedCorpus,
    read_sentence_cache,
    sample_sentences,
    sentence_lines,
    write_sentence_cache,
)
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.tokenization.added_pieces import (
    NewPiece,
    most_useful_pieces,
    pieces_of_words,
    with_pieces,
    write_pieces,
)
from bertviz_lab.training.checkpoints.atomic_io import write_json
from bertviz_lab.training.pretraining import corpus_cache
from bertviz_lab.training.runs.events import Preparing

# As much text as a vocabulary needs to settle. Measured on 50 MB of an encyclopaedia: learned from 600 characters a
# token instead of all of it, 8,192 tokens spell a held-out text with 0.1% more; 30,522 learned from 330, with 0.3%.
_CHARACTERS_PER_TOKEN = 1_000
_LEAST_CHARACTERS = 4_000_000

_STREAM = "corpus/stream.json"  # how rows are read
_SAMPLE_CHARACTERS = 200_000  # by which the writing system is recognized
_LEFT_OUT = "corpus/left_out.json"  # what to know about the text, in sentences
_ADDED = "corpus/added_vocabulary.json"
_POLL_SECONDS, _REPORT_SECONDS = 0.1, 0.5
_GRACE_SECONDS = 0.5  # that a thread has to end when it is time to stop

Result = TypeVar("Result")
Item = TypeVar("Item")


class PreparationStoppedError(Exception):
    """`should_stop` said yes while a text was being prepared."""


def prepare(
    config: PretrainConfig, folder: Path, should_stop: Callable[[], bool] = lambda: False
) -> Generator[Preparing, None, None]:
    """Turn the text into `folder/corpus`, with the tokenizer in `folder/tokenizer`.

    Raises `InputError` for a text that cannot be used; within two seconds of `should_stop`, `PreparationStoppedError`.
    """
    if config.streaming:
        yield from _prepare_stream(config, folder, should_stop)
        return
    kept = yield from _in_background(
        "read", "Checking the corpus", should_stop, lambda progress: corpus_cache.place_of(config, progress.report)
    )
    if kept and corpus_cache.take(kept, folder):
        yield Preparing("read", 1, 1, "The corpus is cached from an earlier run")
        return
    spool, notes = folder / "corpus.txt", ReadingNotes()

    def read(progress: _Progress) -> int:
        options: dict[str, Any] = {"documents": config.documents, "text_field": config.text_field}
        documents = read_documents(
            config.corpus, on_progress=progress.report, notes=notes, max_bytes=math.inf, **options
        )
        count = write_sentence_cache(progress.checked(documents), spool)
        if count == 0:
            raise InputError("The text holds no sentences to train on.")
        return count

    try:
        count = yield from _in_background("read", "Reading the corpus", should_stop, read)
        lines, sentences = read_sentence_cache(spool), partial(sample_sentences, spool)
        warnings = yield from _tokenize(
            config, folder, should_stop, "corpus", lines, count, sentences, spool.stat().st_size
        )
    finally:
        spool.unlink(missing_ok=True)
    write_json(folder / _LEFT_OUT, [*notes.left_out(), *notes.markup(), *warnings])
    if kept:
        corpus_cache.keep(kept, folder)


def _prepare_stream(
    config: PretrainConfig, folder: Path, should_stop: Callable[[], bool]
) -> Generator[Preparing, None, None]:
    """Save the tokenizer, and the held-out documents as `folder/corpus`: all that is kept of a streamed text."""
    where = (config.corpus[0], config.text_field, config.held_out_documents)
    text = yield from _in_background("read", "Opening the data set", should_stop, lambda _: open_streamed_text(*where))
    (folder / "corpus").mkdir(exist_ok=True)
    (folder / _STREAM).write_text(json.dumps({"field": text.field}), encoding="utf-8")
    lines = sentence_lines(Document(text.dataset.name, sentences) for sentences in text.held_out_documents())
    count, sentences = config.held_out_documents, text.first_sentences
    warnings = yield from _tokenize(
        config, folder, should_stop, "held-out documents", lines, count, sentences, math.inf
    )
    write_json(folder / _LEFT_OUT, warnings)


def _tokenize(
    config: PretrainConfig,
    folder: Path,
    should_stop: Callable[[], bool],
    what: str,
    lines: Iterable[str],
    count: int,
    sentences: Callable[[int], Iterable[str]],
    available: float,
) -> Generator[Preparing, None, list[str]]:
    """Save the tokenizer of the settings, or one trained on `sentences`, and the ids that it gives for `lines`.

    Of both there are so many: `count` documents, `available` characters. Returns what does not suit the text.
    """

    pieces: list[NewPiece] = []  # that the vocabulary gains
    given, added = corpus_cache.given_tokenizer(config), config.add_vocabulary

    def train_tokenizer(progress: _Progress) -> Tokenizer:
        if given and not added:
            return given
        characters = max(_LEAST_CHARACTERS, _CHARACTERS_PER_TOKEN * (config.added_pieces or config.vocab_size))
        total, text = int(min(characters, available)), progress.checked(sentences(characters))
        if given:
            if config.added_pieces:
                pieces.extend(most_useful_pieces(given, text, config.added_pieces))
            else:
                pieces.extend(pieces_of_words(given, corpus_cache.words_to_add(config), text))
            return with_pieces(given, pieces)
        return Tokenizer.train(
            text,
            vocab_size=config.vocab_size,
            algorithm=config.algorithm,
            lowercase=config.lowercase,
            on_progress=lambda done: progress.report(min(done, total), total),
        )

    def tokenize(progress: _Progress) -> None:
        tokenizer.save(folder / "tokenizer")
        saved, corpus = Tokenizer.load(folder / "tokenizer"), folder / "corpus"
        if pieces:  # before the corpus, which is prepared once it is whole
            write_pieces(pieces, folder / _ADDED)
        TokenizedCorpus.write(
            progress.checked(lines),
            saved,
            corpus,
            lambda done: progress.report(done, count),
            without=config.without,
        )

    work = "Loading the tokenizer" if given else "Training the tokenizer"
    work = "Adding words to the vocabulary" if added else work
    tokenizer = yield from _in_background("vocabulary", work, should_stop, train_tokenizer)
    yield from _in_background("tokenize", f"Tokenizing the {what}", should_stop, tokenize)
    sample, corpus = [*sentences(_SAMPLE_CHARACTERS)], TokenizedCorpus.open(folder / "corpus")
    unknown = float(corpus.counts(tokenizer.vocab_size)[tokenizer.unk_id] / corpus.tokens)
    unsuited = [*writing_warnings(writing_system(sample), tokenizer)]  # settings of the tokenizer
    return [*unsuited, *unknown_warning(unknown, tokenizer, sample, is_given=given is not None)]


def added_vocabulary(config: PretrainConfig, folder: Path) -> list[NewPiece]:
    """Return the pieces that the vocabulary of a run has gained over that of the model it starts from."""
    return NewPiece.read(folder / _ADDED) if config.add_vocabulary else []


def left_out_files(folder: Path) -> tuple[str, ...]:
    """Return sentences on files and markup that were left out of the text of a run, and on its writing system."""
    path = folder / _LEFT_OUT
    return tuple(map(str, _read_json(path))) if path.is_file() else ()


def prepared_stream(config: PretrainConfig, folder: Path) -> StreamedText:
    """Return the streamed text of a run that has been prepared."""
    field = _read_json(folder / _STREAM)["field"]
    return StreamedText(DatasetName.parse(config.corpus[0]), field, config.held_out_documents)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged: restore it, or start a new run.") from error


class _Progress:
    """What a background thread and the one that waits for it tell each other: how far it is, and when to stop."""

    def __init__(self) -> None:
        self.latest = (0, 0)
        self.stop = threading.Event()

    def report(self, done: int, total: int) -> None:
        """Note the progress. Raises `PreparationStoppedError` when it is time to stop."""
        self.latest = (done, total)
        if self.stop.is_set():
            raise PreparationStoppedError

    def checked(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the same items until it is time to stop; raises `PreparationStoppedError` then."""
        for item in items:
            self.report(*self.latest)
            yield item


def _in_background(
    stage: str, message: str, should_stop: Callable[[], bool], work: Callable[[_Progress], Result]
) -> Generator[Preparing, None, Result]:
    """Do `work` in a thread and yield its progress.

    When it is time to stop, `work` ends at its next report. Where it is inside a library that cannot be interrupted
    (the tokenizer's merges take seconds) it is left behind: its result is dropped, and it writes nothing.
    """
    progress = _Progress()
    result: Future[Result] = Future()

    def run() -> None:
        try:
            result.set_result(work(progress))
        except BaseException as error:  # raised again in the thread that waits
            result.set_exception(error)

    yield Preparing(stage, 0, 0, message)
    if should_stop():
        raise PreparationStoppedError
    thread = threading.Thread(target=run, daemon=True, name=f"prepare-{stage}")
    thread.start()
    reported, elapsed = (0, 0), 0.0
    try:
        while not wait([result], _POLL_SECONDS).done:
            if should_stop():
                raise PreparationStoppedError
            elapsed += _POLL_SECONDS
            if elapsed >= _REPORT_SECONDS and reported != progress.latest:
                reported, elapsed = progress.latest, 0.0
                yield Preparing(stage, *reported, message)
    finally:
        progress.stop.set()
        thread.join(_GRACE_SECONDS)
    return result.result()
