"""Corpora to index, and their indexes: in memory, with the run, or for shipped models in the cache folder."""

import contextlib
import hashlib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.documents import Document
from bertviz_lab.data.pretraining.tokenized_corpus import TokenizedCorpus
from bertviz_lab.data.samples.corpus_texts import CORPORA, corpus_texts, sample_texts, suited_corpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.ui.lazy import Checkpoint, interpret
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.uploads import UploadedFile
from bertviz_lab.ui.server.visitors import Visitor
from bertviz_lab.ui.state.file_reading import FileReader
from bertviz_lab.ui.state.lru_cache import LruCache
from bertviz_lab.ui.state.models import Models

if TYPE_CHECKING:  # torch takes seconds to import and the first page should not wait for it
    from bertviz_lab.interpret import CorpusIndex

#: A run's held-out text, and a text that a visitor uploads, next to those of `CORPORA`.
OWN, FILE = "own", "file"
_SECONDS_OF_WORK = 5e11  # operations of an index that a page makes unless all texts are asked for: some seconds
_TEXTS_A_STEP = 400  # of each snapshot
_KEPT, _MOST_FILES = 24, 60  # indexes in memory, and in one folder


class Corpora:
    """Reads corpora, and makes and keeps their indexes; safe to use from many threads."""

    def __init__(self, models: Models, files: FileReader) -> None:
        self._models, self._files = models, files
        self._indexes, self._suited = LruCache(_KEPT), LruCache(_KEPT)

    def choices(self, model: str, visitor: Visitor) -> list[tuple[str, str]]:
        """Return (name, title) of the corpora for a model: its own held-out text first, then what suits it best."""
        suited = self._suited_to(model)
        names = [OWN] * bool(self._own_folder(model, visitor)) + [suited] + [name for name in CORPORA if name != suited]
        titles = CORPORA | {OWN: "the held-out text of this run", FILE: "a text of your own"}
        return [(name, titles[name]) for name in [*names, FILE]]

    def index(
        self, model: str, visitor: Visitor, corpus: str, file: UploadedFile | None = None, *, all_texts: bool = False
    ) -> "CorpusIndex":
        """Return the index of a corpus, "" for the first choice; made where none is kept. Raises `InputError`."""
        titles = dict(self.choices(model, visitor))
        corpus = corpus or next(iter(titles))
        if corpus not in titles:
            raise InputError("Choose a corpus from the list.")
        checkpoint, key = self._models.open(model), self._key(model, corpus, "all" if all_texts else "")
        if corpus == FILE:
            if file is None:
                raise InputError("Choose a file: a text, or a table of texts.")
            texts, path = self._files.corpus_texts(file.path, interpret.MOST_TEXTS), None
            name, key = file.name, f"{key} {file.path}"
        else:
            texts, path, name = None, self._path(model, key), titles[corpus]

        def make() -> "CorpusIndex":
            if kept := _loaded(path):
                return kept
            read = texts if texts is not None else self._texts(model, visitor, corpus)
            operations = None if all_texts else _SECONDS_OF_WORK
            index = interpret.index_corpus(
                checkpoint, read, name=name, operations=operations, on_progress=report_progress
            )
            return self._keep(index, path)

        return self._indexes.get(key, make)

    def known(self, model: str, visitor: Visitor) -> "CorpusIndex | None":
        """Return an index that has been made, where there are several that of the first choice; nothing is computed."""
        corpora = [OWN] * bool(self._own_folder(model, visitor)) + list(CORPORA)
        indexes = {corpus: kept for corpus in corpora if (kept := self._kept(model, corpus))}
        return (
            indexes.get(self.choices(model, visitor)[0][0]) if len(indexes) > 1 else next(iter(indexes.values()), None)
        )

    def _kept(self, model: str, corpus: str) -> "CorpusIndex | None":
        for key in (self._key(model, corpus, "all"), self._key(model, corpus, "")):
            path = self._path(model, key)
            if self._indexes.peek(key) is None and path and path.is_file():
                self._indexes.put(key, interpret.CorpusIndex.load(path))
            if kept := self._indexes.peek(key):
                return cast("CorpusIndex", kept)
        return None

    def of_snapshot(
        self, run: str, step: int, checkpoint: Checkpoint, index: "CorpusIndex", version: object
    ) -> "CorpusIndex":
        """Return the index of a snapshot over some texts of an index, heads only."""
        texts = index.texts[:: -(-len(index.texts) // _TEXTS_A_STEP)]
        key = f"step-{step:08d}-{_digest(version, interpret.INDEX_FORMAT, texts)}"
        path = self._path(run, key)

        def make() -> "CorpusIndex":
            kept = _loaded(path)
            return kept or self._keep(interpret.index_corpus(checkpoint, texts, name=index.name, neurons=False), path)

        return self._indexes.get(key, make)

    def _suited_to(self, model: str) -> str:
        tokenizer = self._models.open(model).tokenizer
        return self._suited.get(tokenizer.fingerprint, lambda: suited_corpus(tokenizer))

    def _own_folder(self, model: str, visitor: Visitor) -> Path | None:
        """Return the folder of a pretraining run of the visitor that still has its text."""
        if not self._models.owns(visitor, model):
            return None
        folder = self._models.runs.folder(model)
        is_pretraining = isinstance(self._models.runs.config(model), PretrainConfig)
        return folder if is_pretraining and (folder / "corpus" / "corpus.json").is_file() else None

    def _texts(self, model: str, visitor: Visitor, corpus: str) -> list[str]:
        folder = self._own_folder(model, visitor)
        if corpus != OWN or folder is None:
            return sample_texts(corpus, interpret.MOST_TEXTS)
        config = self._models.runs.config(model)
        assert isinstance(config, PretrainConfig)
        return held_out_texts(folder, config, interpret.MOST_TEXTS)

    def _key(self, model: str, corpus: str, variant: str) -> str:
        return f"{corpus}-{variant}{_digest(self._models.version(model), interpret.INDEX_FORMAT)}"

    def _path(self, model: str, key: str) -> Path | None:
        if self._models.is_run(model):
            return self._models.runs.folder(model) / "corpus_indexes" / f"{key}.npz"
        from bertviz_lab.training.pretraining.corpus_cache import cache_folder  # which imports torch

        cache = cache_folder()
        return cache.with_name("indexes") / f"{key}.npz" if cache else None

    def _keep(self, index: "CorpusIndex", path: Path | None) -> "CorpusIndex":
        """Write an index where it can be written; one that cannot is made again another time."""
        with contextlib.suppress(OSError):
            if path:
                index.save(path)
                files = sorted(path.parent.glob("*.npz"), key=lambda file: file.stat().st_mtime)
                for old in files[:-_MOST_FILES]:
                    old.unlink(missing_ok=True)
        return index


def held_out_texts(folder: Path, config: PretrainConfig, most: int) -> list[str]:
    """Return texts of a run that were held out of its training, as its tokenizer spells them."""
    from bertviz_lab.training.pretraining.setup import build_data

    tokenizer, corpus = Tokenizer.load(folder / "tokenizer"), TokenizedCorpus.open(folder / "corpus")
    held_out = build_data(config, tokenizer, corpus).held_out.documents

    def sentences(document: int) -> tuple[str, ...]:
        bounds = held_out.sentence_bounds(document).tolist()
        return tuple(tokenizer.decode(corpus.ids[start:end].tolist()) for start, end in pairwise(bounds))

    documents = (Document("", sentences(document)) for document in range(len(held_out)))
    return corpus_texts(documents, most)


def _loaded(path: Path | None) -> "CorpusIndex | None":
    return interpret.CorpusIndex.load(path) if path else None


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
