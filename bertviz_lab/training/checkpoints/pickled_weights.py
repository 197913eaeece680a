"""Weights from `pytorch_model.bin`, the pickles of older hub models, read where they can do no harm.

`torch.load(weights_only=True)` builds tensors and calls nothing else. It runs in a confined process, which may use
little more memory than the file has bytes, and leaves the same tensors as safetensors.
"""

import contextlib
import pickle
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from bertviz_lab.confined import Confinement, MemoryLimitError, TimeLimitError, run_confined
from bertviz_lab.errors import InputError
from bertviz_lab.model.weights import weight_files

_SECONDS = 300.0
_SPARE_BYTES = 512 << 20  # beside the tensors and their copy: the allocator, the unpickler
_HEADER_BYTES = 1 << 20  # of a safetensors file, and what small tensors round up to
_TOO_LARGE = "it unpacks to far more than its size"
_DAMAGED = "it is damaged"


@contextlib.contextmanager
def safetensors_of(folder: Path) -> Iterator[list[Path]]:
    """The weights of a checkpoint as safetensors files; pickles are converted into a temporary folder.

    Raises `InputError` where they are not all there, and as `convert_pickle`.
    """
    files = weight_files(folder)
    if not any(path.suffix == ".bin" for path in files):
        yield files
        return
    with tempfile.TemporaryDirectory(prefix="bertviz-lab-weights-", ignore_cleanup_errors=True) as converted:
        targets = [Path(converted) / f"{path.stem}.safetensors" for path in files]
        for path, target in zip(files, targets, strict=True):
            convert_pickle(path, target)
        yield targets


def convert_pickle(path: Path, target: Path) -> None:
    """Write the tensors of a `.bin` file as safetensors. Raises `InputError` for one that is damaged or holds more."""
    size = path.stat().st_size
    limits = Confinement(4 * size + _SPARE_BYTES, _SECONDS, file_bytes=size + _HEADER_BYTES)
    try:
        run_confined(partial(write_tensors_of, path, target, size + _HEADER_BYTES), limits)
    except MemoryLimitError:
        reason = _TOO_LARGE
    except TimeLimitError:
        reason = f"it was not read within {_SECONDS:.0f} s"
    except InputError as error:
        reason = str(error)
    except RuntimeError:
        reason = _DAMAGED
    else:
        return
    raise InputError(f"{path.name} cannot be opened as weights: {reason}. Save the model as model.safetensors instead.")


def write_tensors_of(path: Path, target: Path, most_bytes: int) -> None:
    """What the confined process does. Raises `InputError` with the reason why it does not."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        code = "nsupported" in str(error)
        raise InputError("it holds more than weights, which could run code" if code else _DAMAGED) from error
    except (ValueError, TypeError, EOFError, OSError) as error:
        raise InputError(_DAMAGED) from error
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise InputError("it does not hold named tensors")
    if not all(isinstance(t, Tensor) and t.layout is torch.strided and not t.is_quantized for t in state.values()):
        raise InputError("it holds other things than plain tensors")
    if sum(tensor.nbytes for tensor in state.values()) > most_bytes:  # views can be larger than what they view
        raise InputError(_TOO_LARGE)
    save_file({name: t.detach().clone(memory_format=torch.contiguous_format) for name, t in state.items()}, target)
