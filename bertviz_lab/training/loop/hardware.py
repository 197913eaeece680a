"""What a run computes on: device, precision, threads, and the processes that share each step.

Processes come from Accelerate: under `accelerate launch` or `torchrun` each builds the same batch and computes its
share of the rows; gradients are summed, and the main process alone writes files. With FSDP2 they share the weights too
(`sharding`).
"""

import contextlib
import copy
import ctypes
import os
import sys
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, DistributedType, broadcast_object_list
from torch import Tensor, nn

from bertviz_lab.config.cores import available_cores
from bertviz_lab.errors import InputError
from bertviz_lab.model.encoder import EncoderLayer
from bertviz_lab.training.loop.sharding import is_sharded, shard_model

T = TypeVar("T")

_SUPPORTED = (DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU, DistributedType.FSDP)
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def start_accelerator(**options: Any) -> Accelerator:
    """Join the other processes of this run, if there are any; `options` are passed to Accelerate.

    Raises `InputError` for ways to divide a model that are not data parallelism or FSDP2.
    """
    # The lab chooses the precision itself (below), so Accelerate is told to leave it alone.
    accelerator = Accelerator(cpu=not torch.cuda.is_available(), mixed_precision="no", **options)
    kind = accelerator.distributed_type
    if kind not in _SUPPORTED or (kind == DistributedType.FSDP and not accelerator.is_fsdp2):
        raise InputError(
            f"The lab trains data-parallel, or sharded with FSDP2, not with {kind.value}: choose plain multi-GPU in "
            "the launcher's configuration, or --use_fsdp --fsdp_version 2 for a model that does not fit on one device."
        )
    return accelerator


@dataclass(frozen=True)
class Hardware:
    """Where a run computes."""

    device: torch.device
    precision: str  # fp32, bf16 or fp16
    threads: int
    accelerator: Accelerator = field(default_factory=start_accelerator, repr=False)
    #: Enabled in fp16: keeps small gradients from underflowing.
    scaler: torch.amp.GradScaler = field(default_factory=lambda: torch.amp.GradScaler(enabled=False), repr=False)

    @property
    def processes(self) -> int:
        return self.accelerator.num_processes

    @property
    def rank(self) -> int:
        return self.accelerator.process_index

    @property
    def is_main(self) -> bool:
        """Whether this process writes the files and reports."""
        return self.accelerator.is_main_process

    @property
    def is_sharded(self) -> bool:
        """Whether each process holds a part of the model only."""
        return is_sharded(self.accelerator)

    def autocast(self) -> contextlib.AbstractContextManager:
        """Matrix products in the chosen precision, what is numerically delicate in fp32."""
        dtype = _DTYPES.get(self.precision)
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None)

    def prepare(self, model: nn.Module, *, find_unused_parameters: bool = False) -> nn.Module:
        """Return the model on the device; with several processes wrapped in DDP, which averages gradients, or sharded.

        `find_unused_parameters`: some layers have no gradient yet, which DDP looks for in every step.
        """
        if self.is_sharded:
            return shard_model(model, self.device, self.processes)
        if find_unused_parameters:
            self.accelerator.ddp_handler = DistributedDataParallelKwargs(find_unused_parameters=True)
        return self.accelerator.prepare_model(model) if self.processes > 1 else model.to(self.device)

    def borrow(self, model: nn.Module) -> nn.Module:
        """Somebody else's model, to be asked on the device: as it is on a CPU, else a copy, since others use it."""
        return model if self.device.type == "cpu" else copy.deepcopy(model).to(self.device)

    def sync_gradients(self, model: nn.Module, now: bool) -> contextlib.AbstractContextManager:
        """Have the backward pass inside exchange gradients or not: once a step, with its last micro-batch."""
        if self.is_sharded:
            model.set_requires_gradient_sync(now)  # type: ignore[operator]
            return contextlib.nullcontext()
        return contextlib.nullcontext() if now else self.accelerator.no_sync(model)

    def backward(self, loss: Tensor) -> None:
        """Backward pass of a process's share of the loss; DDP averages gradients, but shares have to be summed."""
        self.scaler.scale(loss * self.processes if self.processes > 1 else loss).backward()

    def broadcast(self, value: T) -> T:
        """Return the main process's picklable value for all processes, see `broadcast_object`."""
        return broadcast_object(self.accelerator, value)


def choose_hardware(precision: str, threads: int = 0, accelerator: Accelerator | None = None) -> Hardware:
    """Return the GPU if there is one, else the CPU, and set the number of threads of this process: 0 is all cores.

    Precision "auto" is bf16 where the GPU computes in it (Ampere and later; older ones only emulate it, slowly), else
    fp16; on a CPU see `precision_on_cpu`. With "auto" every
    process has to call this, since the main one chooses. Raises `InputError` for another precision, and for sharded
    training in fp16.
    """
    if precision not in ("auto", "fp32", *_DTYPES):
        raise InputError(f"The precision is auto, fp32, bf16 or fp16, not {precision!r}.")
    accelerator = accelerator or start_accelerator()
    device = accelerator.device
    threads = threads or max(1, available_cores() // local_processes())
    torch.set_num_threads(threads)
    if device.type == "cpu":
        tune_malloc()
    if precision == "auto":
        if device.type == "cuda":
            precision = "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
        else:
            precision = precision_on_cpu("auto")
        precision = broadcast_object(accelerator, precision)
    if precision == "fp16" and is_sharded(accelerator):
        raise InputError("Sharded training (FSDP) is in fp32 or bf16; choose one of them with `precision`.")
    scaler = torch.amp.GradScaler(device.type, enabled=precision == "fp16")
    return Hardware(device, precision, threads, accelerator, scaler)


def broadcast_object(accelerator: Accelerator, value: T) -> T:
    """Return the main process's picklable value for all processes; they wait for it. Not for use in every step."""
    return broadcast_object_list([value])[0] if accelerator.num_processes > 1 else value


def local_processes() -> int:
    """Processes of this run on this machine, as set by their launcher."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def precision_on_cpu(precision: str) -> str:
    """Return what "auto" is on a CPU: bf16 where the processor multiplies it, else fp32."""
    return precision if precision != "auto" else "bf16" if cpu_multiplies_bf16() else "fp32"


def cpu_multiplies_bf16() -> bool:
    """Return whether the processor has instructions for products of bf16 matrices; without them they are slower.

    What it is decides, not a measurement: the same command gives the same weights however busy the machine is.
    """
    return any(torch.cpu.get_capabilities().get(name) for name in ("amx_bf16", "avx512_bf16", "bf16", "sve_bf16"))


def tune_malloc() -> None:
    """Have the C library keep freed memory for the tensors of the next step, which have the same sizes.

    By default it returns large blocks to the system and gets them back zeroed, page by page. glibc on Linux only.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


_BACKEND = "inductor"
#: Layers, lengths of batches, with and without padding and gradients: each may be compiled once more.
_MOST_VERSIONS = 64


def compile_layers(model: nn.Module, device: torch.device) -> None:
    """Compile the encoder's layers in place; their weights and names stay as they are.

    Raises `InputError` where nothing can be compiled, for lack of a compiler or of Triton.
    """
    try:
        torch.compile(lambda x: x.sin() + 1, backend=_BACKEND)(torch.ones(8, device=device))
    except Exception as error:  # of many types, by the backend
        cause = getattr(error, "inner_exception", error)
        reason = (str(cause).strip() or type(cause).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"torch.compile does not work on this machine ({reason}): leave `compile` out.") from error
    torch._dynamo.config.recompile_limit = _MOST_VERSIONS
    for module in model.modules():
        if isinstance(module, EncoderLayer):
            module.compile(backend=_BACKEND)
