"""Folders that are replaced whole or not at all, whatever happens in between."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A new folder to fill; it takes the place of `folder` when the block ends, and is gone if the block fails.

    All of it is on the disk, not only on its way there, before it gets its name: a power cut leaves no folder
    of empty files.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield fresh
        for path in fresh.rglob("*"):
            flush(path)
        flush(fresh)
        _replace(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    flush(folder.parent)


def restore_interrupted(folder: Path) -> Path:
    """The folder, put back if a crash came between the two renames of a replacement."""
    old = _old(folder)
    if old.is_dir() and not folder.exists():
        old.rename(folder)
    return folder


def remove_partial_writes(folder: Path) -> None:
    """Remove what writers of `folder` that were killed have left beside it; for a folder that has one writer only."""
    for left in folder.parent.glob(f".{folder.name}-*"):
        if left.name != _old(folder).name:
            shutil.rmtree(left, ignore_errors=True)


def flush(path: Path) -> None:
    """Have a file, or the names in a folder, written to the disk before going on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def disk_error(error: BaseException) -> str:
    """What the disk has to say where it was the disk that failed, such as "No space left on device"; else "".

    The libraries written in Rust report it in words, with the number of the error at the end.
    """
    if isinstance(error, OSError):
        number = error.errno or 0
    else:
        found = re.search(r"\(os error (\d+)\)", str(error))
        number = int(found[1]) if found else 0
    return os.strerror(number) if number in _DISK else ""


def _replace(fresh: Path, folder: Path) -> None:
    """At every moment the old folder or the new one is whole under a name that `restore_interrupted` finds."""
    fresh.chmod(0o755)  # temporary folders are private; a model is not
    old = _old(folder)
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        restore_interrupted(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}-old")
