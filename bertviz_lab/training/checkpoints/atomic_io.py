"""Files and folders that are replaced whole or not at all, whatever happens meanwhile, and locks between processes.

Everything is flushed to the disk (fsync) before it gets its name: a power cut leaves no empty file under it.
"""

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from bertviz_lab import strict_json

_DISK_ERRORS = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG, errno.EROFS, errno.EIO)
_WINDOWS = os.name == "nt"
_REPLACED = "-old"  # ends the hidden name of a folder that is being replaced
_LOOKING = threading.Lock()


@contextmanager
def atomic_file(path: Path, durable: bool = True) -> Iterator[Path]:
    """A new file to write; it takes the place of `path` when the block ends, and is gone if the block fails.

    With `durable=False` it is not flushed to the disk first: no reader meets half of it, but a power cut may lose it.
    """
    fresh = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        yield fresh
        if durable:
            flush(fresh)
        os.replace(fresh, path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes, durable: bool = True) -> None:
    """Replace a file in one step: a reader, or a crash, meets the old content or the new. Its permissions stay."""
    with atomic_file(path, durable) as fresh:
        if not path.exists():
            fresh.write_bytes(content)
            return
        fresh.touch(0o600)
        fresh.write_bytes(content)
        shutil.copymode(path, fresh)


def write_json(path: Path, body: Any, durable: bool = True) -> None:
    """Replace a JSON file in one step; NaN and infinity become null."""
    write_bytes(path, strict_json.dumps(body, indent=2, ensure_ascii=False).encode(), durable)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; None where there is none that can be read."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        return json.loads(path.read_text(encoding="utf-8"))


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one where there is none that can be read."""
    return body if isinstance(body := read_json(path), dict) else {}


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A new folder to fill; it takes the place of `folder` when the block ends, and is gone if the block fails."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield fresh
        for path in fresh.rglob("*"):
            flush(path)
        flush(fresh)
        _replace_folder(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    flush(folder.parent)


def clean_up(folder: Path, names: str) -> None:
    """Remove what killed writers left beside files and folders whose `names` fit a pattern; only for a single writer.

    A folder is put back if a crash came between the two renames of its replacement.
    """
    for partial in [*folder.glob(f".{names}-*")]:
        with contextlib.suppress(OSError):
            if partial.name.endswith(_REPLACED):
                target = partial.with_name(partial.name[1 : -len(_REPLACED)])
                if not target.exists():
                    partial.rename(target)
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            else:
                partial.unlink(missing_ok=True)


def list_steps(folder: Path, suffix: str = "") -> list[tuple[int, Path]]:
    """(step, path) of what is called `step-00000010` and `suffix` in a folder, the earliest first."""
    name = re.compile(rf"step-(\d{{8,}}){re.escape(suffix)}")
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted((int(match[1]), path) for path in paths if (match := name.fullmatch(path.name)))


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Windows cannot flush a folder."""
    if _WINDOWS and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if _WINDOWS else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def exclusive_lock(path: Path, *, seconds: float) -> Iterator[None]:
    """Hold the lock file `path` for the block; the system releases it however the process ends.

    Raises `filelock.Timeout` where another holds it for so many `seconds`; -1 are as many as it takes. Where the file
    system has no locks, everybody is let in.
    """
    lock = FileLock(path, timeout=seconds, poll_interval=0.01, thread_local=False, fallback_to_soft=False)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock)
        except Timeout:
            raise
        except OSError:
            pass
        yield


def is_locked(path: Path) -> bool:
    """Return whether another holds the lock file `path`; where the file system has no locks, nobody does.

    To look is to hold it for a moment, so those who look wait for each other.
    """
    try:
        with _LOOKING, exclusive_lock(path, seconds=0.05):
            return False
    except Timeout:
        return True


def disk_error(error: BaseException) -> str:
    """Return the message of a disk that failed, such as "No space left on device"; "" for any other error.

    Libraries written in Rust report it as text, with the error number at the end.
    """
    if isinstance(error, OSError):
        number = error.errno or 0
    else:
        match = re.search(r"\(os error (\d+)\)", str(error))
        number = int(match[1]) if match else 0
    return os.strerror(number) if number in _DISK_ERRORS else ""


def _replace_folder(fresh: Path, folder: Path) -> None:
    """At every moment the old folder or the new one is whole under a name that `clean_up` finds."""
    fresh.chmod(0o755)  # temporary folders are private; a model is not
    old = folder.with_name(f".{folder.name}{_REPLACED}")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    try:
        fresh.rename(folder)
    except OSError:
        if old.is_dir() and not folder.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
