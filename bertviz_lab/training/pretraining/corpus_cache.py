"""Prepared texts, kept for this user: a second run over the same text starts at once.

A folder each, named after everything that the result depends on, with the tokenizer and the token ids. A run takes
hard links where it can and copies where it cannot, so it loses nothing when the cache is emptied. Nothing here may
fail a run: a cache that cannot be read or written is one that has nothing.

BERTVIZ_LAB_CACHE names the folder, or is "none" to do without.
"""

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bertviz_lab.config import PretrainConfig
from bertviz_lab.data.corpora.read import fingerprint
from bertviz_lab.data.pretraining import tokenized_corpus
from bertviz_lab.errors import InputError
from bertviz_lab.tokenization import Tokenizer
from bertviz_lab.training.checkpoints.atomic_io import atomic_folder
from bertviz_lab.training.checkpoints.checkpoint import checkpoint_folder

#: Raised whenever a text is read, split or tokenized differently than before.
FORMAT = 5
#: Beyond this the texts that were not used for longest go.
MOST_BYTES = 4_000_000_000
_ENTRY = "entry.json"  # names and sizes of the files; written last, and touched at every use
_LEFT_BEHIND = 86_400.0  # seconds after which a hidden folder is that of a process that was killed


def cache_folder() -> Path | None:
    """Return the folder of prepared texts, on every system where Hugging Face's caches are; None without a cache."""
    named = os.environ.get("BERTVIZ_LAB_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    with contextlib.suppress(RuntimeError):  # a user without a home
        return None if named == "none" else Path(named or base.expanduser() / "bertviz_lab") / "texts"
    return None


def given_tokenizer(config: PretrainConfig) -> Tokenizer | None:
    """Return the tokenizer that a run names, or that of its model or teacher; None where it trains one."""
    model = config.init_from or config.teacher
    folder = checkpoint_folder(model) if model else config.tokenizer
    return Tokenizer.load(folder) if folder else None


def words_to_add(config: PretrainConfig) -> list[str]:
    """Return the lines of the file of `add_vocabulary`. Raises `InputError` where it cannot be read."""
    try:
        return Path(config.add_vocabulary).expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"`add_vocabulary` is a number, or a text file (UTF-8) with a word in each line; {config.add_vocabulary!r} "
            "is neither."
        ) from error


def place_of(config: PretrainConfig, on_progress: Callable[[int, int], None] = lambda done, total: None) -> Path | None:
    """Return where what `prepare` makes of a config's text is kept; None where it is not (see `fingerprint`).

    Raises `InputError` for a text or tokenizer that is not there.
    """
    cache = cache_folder()
    text = fingerprint(config.corpus, on_progress) if cache else None
    if cache is None or text is None:
        return None
    given = given_tokenizer(config)
    trained = {"vocab_size": config.vocab_size, "algorithm": config.algorithm, "lowercase": config.lowercase}
    parts: dict[str, Any] = {
        "formats": [FORMAT, tokenized_corpus.FORMAT],
        "libraries": [version(name) for name in ("sentencex", "tokenizers")],
        "text": text,
        "reading": [config.documents, config.text_field],
        "tokenizer": given.fingerprint if given else trained,
    }
    if config.without:
        parts["without"] = config.without
    if config.add_vocabulary:
        parts["added"] = config.added_pieces or words_to_add(config)
    return cache / hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


def take(place: Path, folder: Path) -> bool:
    """Put the prepared text into a run's folder; False if it is not there, or not whole."""
    try:
        files = json.loads((place / _ENTRY).read_text(encoding="utf-8"))["files"]
        if any((place / name).stat().st_size != size for name, size in files.items()):
            return False
        for name in files:  # the file that says that a corpus is whole comes last
            _put(place / name, folder / name)
        os.utime(place / _ENTRY)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def keep(place: Path, folder: Path) -> None:
    """Keep what a run's folder has prepared, and let go of what was not used for longest if there is too much."""
    paths = [path for part in ("tokenizer", "corpus") for path in (folder / part).iterdir()]
    paths.sort(key=lambda path: path.name == "corpus.json")
    files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
    if sum(files.values()) > MOST_BYTES:
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # a person's texts are their own
        with atomic_folder(place) as fresh:
            for name in files:
                _put(folder / name, fresh / name)
            (fresh / _ENTRY).write_text(json.dumps({"files": files}), encoding="utf-8")
        _tidy(place.parent)
    except OSError:
        return


def _put(source: Path, target: Path) -> None:
    """A hard link to a large file, which nothing ever writes into; else a copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if source.suffix == ".bin":
        with contextlib.suppress(OSError):  # another file system, or one without links
            os.link(source, target)
            return
    shutil.copyfile(source, target)


def _tidy(cache: Path) -> None:
    """Remove the oldest texts beyond `MOST_BYTES`, and what killed processes left behind."""
    free = MOST_BYTES
    entries = [folder for folder in cache.iterdir() if folder.is_dir()]
    for folder in sorted(entries, key=_last_used, reverse=True):
        if folder.name.startswith("."):
            if time.time() - _last_used(folder) > _LEFT_BEHIND:
                shutil.rmtree(folder, ignore_errors=True)
            continue
        free -= sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if free < 0:
            shutil.rmtree(folder, ignore_errors=True)


def _last_used(folder: Path) -> float:
    entry = folder / _ENTRY
    try:
        return (entry if entry.exists() else folder).stat().st_mtime
    except OSError:  # gone meanwhile
        return 0.0
