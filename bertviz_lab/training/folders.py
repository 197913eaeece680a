"""Folders that are replaced whole or not at all, whatever happens in between."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A new folder to fill; it takes the place of `folder` when the block ends, and is gone if the block fails."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield fresh
        _replace(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def settled(folder: Path) -> Path:
    """The folder, put back if a crash came between the two renames of a replacement."""
    old = _old(folder)
    if old.is_dir() and not folder.exists():
        old.rename(folder)
    return folder


def _replace(fresh: Path, folder: Path) -> None:
    """At every moment the old folder or the new one is whole under a name that `settled` finds."""
    fresh.chmod(0o755)  # temporary folders are private; a model is not
    old = _old(folder)
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        settled(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-old")
