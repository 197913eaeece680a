"""From a text to token ids, with a word on how far it is: read, learn a vocabulary, tokenize."""

import threading
from collections.abc import Callable, Generator
from pathlib import Path

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.corpora import read_documents
from bertviz_lab.data.spool import read_spool, sample_sentences, write_spool
from bertviz_lab.data.tokenized import TokenizedCorpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.events import Preparing

_VOCABULARY_CHARACTERS = 20_000_000  # as much text as a vocabulary needs to settle


def prepare(config: PretrainConfig, folder: Path) -> Generator[Preparing, None, None]:
    """Turn the text into `folder/corpus`, with the vocabulary in `folder/tokenizer`. Raises `InputError`."""
    spool = folder / "corpus.txt"

    def read(report: Callable[[int, int], None]) -> None:
        documents = read_documents(config.corpus, documents=config.documents, on_progress=report)
        if write_spool(documents, spool) == 0:
            raise InputError("The text holds no sentences to train on.")

    def learn(report: Callable[[int, int], None]) -> None:
        if config.tokenizer:
            Tokenizer.load(config.tokenizer).save(folder / "tokenizer")
            return
        Tokenizer.train(
            sample_sentences(spool, _VOCABULARY_CHARACTERS),
            vocab_size=config.vocab_size,
            algorithm=config.algorithm,
            lowercase=config.lowercase,
        ).save(folder / "tokenizer")

    def tokenize(report: Callable[[int, int], None]) -> None:
        tokenizer = Tokenizer.load(folder / "tokenizer")
        TokenizedCorpus.write(read_spool(spool), tokenizer, folder / "corpus", lambda done: report(done, 0))

    yield from _watched("read", "Reading the text", read)
    yield from _watched("vocabulary", "Learning the vocabulary", learn)
    yield from _watched("tokenize", "Turning text into token ids", tokenize)
    spool.unlink()


def _watched(
    stage: str, message: str, work: Callable[[Callable[[int, int], None]], None]
) -> Generator[Preparing, None, None]:
    """Do `work` in a thread and yield how far it is, so that a long preparation is not a silent one."""
    latest = [0, 0]
    failure: list[BaseException] = []

    def report(done: int, total: int) -> None:
        latest[:] = done, total

    def run() -> None:
        try:
            work(report)
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
