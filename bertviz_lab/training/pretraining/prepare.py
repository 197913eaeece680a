"""From a text to token ids, with a word on how far it is: read, learn a vocabulary, tokenize; or take it as kept."""

import math
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeVar

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.corpora.read import read_documents
from bertviz_lab.data.pretraining.sentence_cache import read_spool, sample_sentences, write_spool
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.pretraining import corpus_cache
from bertviz_lab.training.runs.events import Preparing

# As much text as a vocabulary needs to settle. Measured on 50 MB of an encyclopaedia: learnt from 600 characters a
# token instead of all of it, 8,192 tokens spell a held-out text with 0.1% more; 30,522 learnt from 330, with 0.3%.
_CHARACTERS_PER_TOKEN = 1_000
_LEAST_CHARACTERS = 4_000_000

Report = Callable[[int, int], None]  # done, of how many in all (0: not known)
Result = TypeVar("Result")


def prepare(config: PretrainConfig, folder: Path) -> Generator[Preparing, None, None]:
    """Turn the text into `folder/corpus`, with the vocabulary in `folder/tokenizer`. Raises `InputError`."""
    key = yield from _watched("read", "Looking at the text", lambda report: corpus_cache.text_key(config, report))
    if key and corpus_cache.take(key, folder):
        yield Preparing("read", 1, 1, "The text is prepared, from an earlier run")
        return
    spool = folder / "corpus.txt"

    def read(report: Report) -> int:
        documents = read_documents(
            config.corpus,
            documents=config.documents,
            text_field=config.text_field,
            max_bytes=math.inf,
            on_progress=report,
        )
        count = write_spool(documents, spool)
        if count == 0:
            raise InputError("The text holds no sentences to train on.")
        return count

    def learn(report: Report) -> Tokenizer:
        if config.tokenizer:
            return Tokenizer.load(config.tokenizer)
        characters = max(_LEAST_CHARACTERS, _CHARACTERS_PER_TOKEN * config.vocab_size)
        total = min(characters, spool.stat().st_size)
        return Tokenizer.train(
            sample_sentences(spool, characters),
            vocab_size=config.vocab_size,
            algorithm=config.algorithm,
            lowercase=config.lowercase,
            on_progress=lambda done: report(min(done, total), total),
        )

    def tokenize(report: Report) -> None:
        tokenizer.save(folder / "tokenizer")
        saved = Tokenizer.load(folder / "tokenizer")
        TokenizedCorpus.write(read_spool(spool), saved, folder / "corpus", lambda done: report(done, documents))

    try:
        documents = yield from _watched("read", "Reading the text", read)
        tokenizer = yield from _watched("vocabulary", "Learning the vocabulary", learn)
        yield from _watched("tokenize", "Turning text into token ids", tokenize)
    finally:
        spool.unlink(missing_ok=True)
    if key:
        corpus_cache.keep(key, folder)


def _watched(stage: str, message: str, work: Callable[[Report], Result]) -> Generator[Preparing, None, Result]:
    """Do `work` in a thread and yield how far it is, so that a long preparation is not a silent one."""
    latest = [0, 0]
    results: list[Result] = []
    failure: list[BaseException] = []

    def report(done: int, total: int) -> None:
        latest[:] = done, total

    def run() -> None:
        try:
            results.append(work(report))
        except BaseException as error:  # carried over to the thread that waits
            failure.append(error)

    yield Preparing(stage, 0, 0, message)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    shown = (0, 0)
    while thread.is_alive():
        thread.join(0.5)
        if thread.is_alive() and shown != tuple(latest):
            shown = (latest[0], latest[1])
            yield Preparing(stage, *shown, message)
    if failure:
        raise failure[0]
    return results[0]
