"""Weights from `pytorch_model.bin`, the pickles of older hub models, read where they can do no harm.

`torch.load(weights_only=True)` builds tensors and calls nothing else. It runs in a process of its own, this file as a
script, which may use little more memory than the file has bytes, and answers with the same tensors as safetensors.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

_TIMEOUT_S = 300
_SPARE_BYTES = 512 << 20  # beside the tensors and their copy: the allocator, the unpickler
_TOO_LARGE = "it unpacks to far more than its size"


def read_pickled(path: Path) -> dict[str, Tensor]:
    """All tensors of a `.bin` file, in 32 bits. Raises `InputError` for one that is damaged or more than tensors."""
    from bertviz_lab.errors import InputError  # here, because the script runs without the package

    reason = _inflates(path)
    if not reason:
        command = [sys.executable, "-P", __file__, str(path)]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        try:
            answer = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, env=environment, check=False)
        except subprocess.TimeoutExpired:
            reason = f"it was not read within {_TIMEOUT_S} s"
        else:
            if answer.returncode == 0:
                return {name: tensor.float() for name, tensor in safetensors.torch.load(answer.stdout).items()}
            lines = answer.stderr.decode(errors="replace").splitlines()
            # The script says why in one line; a process that was killed says nothing.
            reason = lines[-1].removeprefix("reason: ") if lines and lines[-1].startswith("reason: ") else _TOO_LARGE
    raise InputError(f"{path.name} cannot be opened as weights: {reason}. Save the model as model.safetensors instead.")


def _inflates(path: Path) -> str:
    """Why a file is refused before it is opened; "" where nothing speaks against it. torch.save compresses nothing."""
    if not zipfile.is_zipfile(path):
        return ""  # the format before torch 1.6
    try:
        with zipfile.ZipFile(path) as archive:
            return _TOO_LARGE if sum(entry.file_size for entry in archive.infolist()) > path.stat().st_size else ""
    except (zipfile.BadZipFile, OSError, ValueError):
        return "it is damaged"


def _limit_memory(spare: int) -> None:
    """No more address space than is in use now and `spare` bytes; Windows and macOS have no such limit."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (in_use + spare, in_use + spare))


def _tensors(path: Path, most_bytes: int) -> dict[str, Tensor]:
    """The tensors of a file, each with memory of its own. Raises `ValueError` where there is anything else."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise ValueError("it does not hold named tensors")
    if not all(isinstance(t, Tensor) and t.layout is torch.strided and not t.is_quantized for t in state.values()):
        raise ValueError("it holds other things than plain tensors")
    if sum(tensor.nbytes for tensor in state.values()) > most_bytes:  # views can be larger than what they view
        raise MemoryError
    return {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in state.items()}


def _main(path: Path) -> int:
    size = path.stat().st_size
    _limit_memory(4 * size + _SPARE_BYTES)  # the tensors, their clones, and as bytes
    try:
        sys.stdout.buffer.write(safetensors.torch.save(_tensors(path, size + (1 << 20))))
    except (MemoryError, pickle.UnpicklingError, RuntimeError, ValueError, TypeError, EOFError, OSError) as error:
        memory = isinstance(error, MemoryError) or "allocate memory" in str(error)
        code = isinstance(error, pickle.UnpicklingError) and "nsupported" in str(error)
        message = str(error).splitlines()[0] if isinstance(error, ValueError) and str(error) else "it is damaged"
        reason = _TOO_LARGE if memory else "it holds more than weights, which could run code" if code else message
        sys.stderr.write(f"\nreason: {reason}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
