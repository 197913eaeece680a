"""The process that works: `python -m bertviz_lab.confined.worker`, with the work on its standard input.

It limits itself, works once and ends. What libraries print goes nowhere.
"""

import contextlib
import json
import math
import os
import pickle
import time
import traceback
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from bertviz_lab.confined.run import Confinement, WorkerReply, reply_bytes
from bertviz_lab.errors import InputError

_NICE = 5  # the page comes first
_OPEN_FILES = 256
_NO_MEMORY = (
    *("allocate memory", "not enough memory", "failed to allocate", "malloc of size", "bad_alloc"),
    *("could not create a primitive", "can't start new thread"),
)
_SPARE_BYTES = 64 << 20  # to say that there was not enough memory


def work_once() -> None:
    """Read the work, do it within its limits, write the answer, and end the process."""
    answer = os.fdopen(os.dup(1), "wb")
    request = os.fdopen(os.dup(0), "rb").read()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    if request:  # without any, the side that asks has ended
        work, limits = pickle.loads(request)
        limit_process(limits)
        answer.write(_outcome(work))
        answer.flush()
    os._exit(0)  # without freeing gigabytes piece by piece


def _outcome(work: "partial[Any]") -> bytes:
    try:
        declared: TypeAdapter[Any] = TypeAdapter(get_type_hints(work.func)["return"])
        body = declared.dump_python(work(), mode="json")
        # Lone surrogates, which JSON files can spell, are no text in UTF-8.
        return reply_bytes(WorkerReply(outcome="done"), json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
    except InputError as error:
        return reply_bytes(WorkerReply(outcome="refused", reason=str(error).encode("utf-8", "replace").decode()))
    except BaseException as error:  # Rust's panics are no Exception
        if is_out_of_memory(error):
            error.__traceback__ = None  # its frames hold the memory
            _allow_spare_memory()
            return reply_bytes(WorkerReply(outcome="memory"))
        place = traceback.extract_tb(error.__traceback__)[-1:]  # the message may quote the file
        where = "".join(f" at {Path(frame.filename).name}:{frame.lineno}" for frame in place)
        return reply_bytes(WorkerReply(outcome="failed", reason=f"{type(error).__name__}{where}"))


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says, in the words of Python, PyTorch, oneDNN or Arrow, that there is no memory left."""
    text = str(error)
    return isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY)


def limit_process(limits: Confinement) -> None:
    """Hold this process to the limits from now on; Windows has none of them, macOS no limit of address space."""
    with contextlib.suppress(OSError):
        os.nice(_NICE) if hasattr(os, "nice") else None
    with contextlib.suppress(ImportError):
        import resource

        cpu = math.ceil(time.process_time() + limits.seconds)
        for which, most in (
            (resource.RLIMIT_CORE, (0, 0)),
            (resource.RLIMIT_CPU, (cpu, cpu + 2)),
            (resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes)),
            (resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES)),
        ):
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(which, most)
        limit_memory(limits.memory_bytes)


def limit_memory(more: int) -> None:
    """Limit the address space to what is in use now and `more` bytes, where the system has such a limit."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        in_use = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = in_use + more
        ceiling = most + _SPARE_BYTES if hard == resource.RLIM_INFINITY else min(hard, most + _SPARE_BYTES)
        resource.setrlimit(resource.RLIMIT_AS, (min(most, ceiling), ceiling))


def _allow_spare_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


if __name__ == "__main__":
    work_once()
