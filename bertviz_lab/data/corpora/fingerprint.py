"""Fingerprint of a corpus: independent of file names, different as soon as a byte of the text changes."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bertviz_lab.data.corpora.read import sort_entries
from bertviz_lab.data.corpora.reading_notes import ReadingNotes
from bertviz_lab.data.corpora.sources import close_archives, find_sources

#: A larger file is identified by its path, size, modification time and ends, since reading it whole takes long.
_READ_WHOLE = 2_000_000_000
_END = 1 << 16
_BLOCK = 1 << 20


def fingerprint(
    entries: Sequence[str | Path], on_progress: Callable[[int, int], None] = lambda done, total: None
) -> str | None:
    """32 hexadecimal digits that identify the text of the entries of a corpus, see `read_documents`.

    None for samples, which are generated, and data sets of the hub: they have no files to compare. Raises `InputError`
    as `find_sources` does.
    """
    notes = ReadingNotes()
    samples, datasets, files = sort_entries(entries, notes)
    if samples or not all(dataset.files() for dataset in datasets):
        return None
    sources = find_sources(files, notes, math.inf) if files or not datasets else []
    close_archives(sources)
    paths = [*(path for dataset in datasets for path in dataset.files()), *(source.path for source in sources)]
    contents = _hashes(paths, on_progress)
    # Order, format and names inside a zip matter; names of files do not.
    parts = [
        *(
            (dataset.config, dataset.split, [(path.suffix, contents[path]) for path in dataset.files()])
            for dataset in datasets
        ),
        *((s.format, s.member.filename if s.member else None, contents[s.path]) for s in sources),
        *notes.skipped,  # what a run says of them is kept with the text
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _hashes(paths: Iterable[Path], on_progress: Callable[[int, int], None]) -> dict[Path, str]:
    sizes = {path: path.stat().st_size for path in paths}
    done, total = 0, sum(sizes.values())
    hashes = {}
    for path, size in sizes.items():
        digest = hashlib.blake2b(digest_size=16)
        with path.open("rb") as file:
            if size < _READ_WHOLE:
                while block := file.read(_BLOCK):
                    digest.update(block)
                    done += len(block)
                    on_progress(done, total)
            else:
                digest.update(f"{path.resolve()}\n{size}\n{path.stat().st_mtime_ns}\n".encode(errors="replace"))
                digest.update(file.read(_END))
                file.seek(-_END, 2)
                digest.update(file.read(_END))
        hashes[path] = digest.hexdigest()
    return hashes
