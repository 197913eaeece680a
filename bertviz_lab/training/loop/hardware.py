"""What a run computes on: device, number format, threads, and how many processes share each step.

Formats are chosen by trying, not by faith. Processes come from Accelerate: under `accelerate launch` or `torchrun`
each builds the same batch and computes its share of the rows; gradients are summed, and one process writes.
"""

import contextlib
import ctypes
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType, broadcast_object_list
from torch import Tensor, nn

from bertviz_lab.config import BertConfig
from bertviz_lab.errors import InputError

T = TypeVar("T")

_KINDS = (DistributedType.NO, DistributedType.MULTI_CPU, DistributedType.MULTI_GPU)
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def start_accelerator(**options: Any) -> Accelerator:
    """Join the other processes of this run, if there are any; `options` are more of Accelerate's."""
    # Number formats are the lab's own choice (below), so Accelerate is told to leave them alone.
    accelerator = Accelerator(cpu=not torch.cuda.is_available(), mixed_precision="no", **options)
    if accelerator.distributed_type not in _KINDS:
        raise InputError(
            f"The lab trains with whole copies of the model, not with {accelerator.distributed_type.value}: "
            "even BERT-large takes 6 GB so. Choose plain multi-GPU in the launcher's configuration."
        )
    return accelerator


@dataclass(frozen=True)
class Hardware:
    """Where a run computes."""

    device: torch.device
    precision: str  # fp32, bf16 or fp16
    threads: int
    accelerator: Accelerator = field(default_factory=start_accelerator, repr=False)
    scaler: torch.amp.GradScaler | None = None  # keeps small gradients from vanishing in fp16

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

    def autocast(self) -> contextlib.AbstractContextManager:
        """Matrix products in the chosen format, everything delicate in 32 bits."""
        dtype = _DTYPES.get(self.precision)
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None)

    def prepare(self, model: nn.Module) -> nn.Module:
        """The model on the device; with several processes, wrapped so that their gradients meet."""
        return self.accelerator.prepare_model(model) if self.processes > 1 else model.to(self.device)

    def sync_gradients(self, model: nn.Module, now: bool) -> contextlib.AbstractContextManager:
        """Whether gradients meet in the backward pass inside: once a step, after its last part."""
        return contextlib.nullcontext() if now else self.accelerator.no_sync(model)

    def backward(self, loss: Tensor) -> None:
        """Gradients of a process's share of the loss; their mean over processes is undone, for shares add up."""
        loss = loss * self.processes if self.processes > 1 else loss
        (self.scaler.scale(loss) if self.scaler else loss).backward()

    def optimizer_step(
        self, model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], max_grad_norm: float
    ) -> Tensor:
        """Clip the gradient, take the step and forget the gradient; returns its length before clipping.

        In fp16 a step whose gradient overflowed is left out and the scale halved; its length is reported as 0.
        """
        for optimizer in optimizers if self.scaler else ():
            self.scaler.unscale_(optimizer)  # type: ignore[union-attr]
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        for optimizer in optimizers:
            if self.scaler:
                self.scaler.step(optimizer)
            else:
                optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if self.scaler:
            self.scaler.update()
            norm = torch.where(norm.isfinite(), norm, 0.0)
        return norm

    def broadcast(self, *values: float) -> tuple[float, ...]:
        """The main process's values, for clocks differ and all must turn the same way."""
        return broadcast_object(self.accelerator, values)

    def all_reduce_sum(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        return self.accelerator.reduce(values, "sum") if self.processes > 1 else values

    def barrier(self) -> None:
        """Until every process is here."""
        self.accelerator.wait_for_everyone()


def choose_hardware(
    precision: str, config: BertConfig, threads: int = 0, accelerator: Accelerator | None = None
) -> Hardware:
    """The GPU if there is one, else the CPU; "auto" precision takes bf16 only where it measures faster."""
    accelerator = accelerator or start_accelerator()
    device = accelerator.device
    threads = threads or max(1, available_cores() // _processes_here())
    torch.set_num_threads(threads)
    if device.type == "cpu":
        tune_malloc()
    if precision == "auto":
        if device.type == "cuda":
            precision = "bf16" if torch.cuda.is_bf16_supported() else "fp16"
        else:
            precision = "bf16" if bf16_is_faster(config) else "fp32"
    precision = broadcast_object(accelerator, precision)
    scaler = torch.amp.GradScaler(device.type) if precision == "fp16" else None
    return Hardware(device, precision, threads, accelerator, scaler)


def broadcast_object(accelerator: Accelerator, value: T) -> T:
    """The main process's value, for all; they wait for it."""
    if accelerator.num_processes == 1:
        return value
    shared = [value]
    broadcast_object_list(shared)
    return shared[0]


def available_cores() -> int:
    """Cores this process may run on, which a container can set below the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processes_here() -> int:
    """Processes of this run on this machine, as their launcher tells."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def bf16_is_faster(config: BertConfig, tries: int = 8) -> bool:
    """Time the feed-forward products of one layer, forward and backward, in both formats.

    By turns, and the fastest of several tries counts: on a busy machine any single one may be slow.
    """
    x = torch.randn(1024, config.hidden_size)
    w = torch.randn(config.intermediate_size, config.hidden_size, requires_grad=True)
    fastest = {torch.float32: math.inf, torch.bfloat16: math.inf}
    for index in range(tries + 2):
        for dtype in fastest:
            start = time.perf_counter()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
                y = torch.nn.functional.linear(x, w)
            torch.autograd.grad(y.float().sum(), w)
            if index > 1:  # the first calls prepare kernels
                fastest[dtype] = min(fastest[dtype], time.perf_counter() - start)
    return fastest[torch.float32] > 1.15 * fastest[torch.bfloat16]


def tune_malloc() -> None:
    """Have the C library keep what tensors free for those of the next step, which have the same sizes.

    By default it hands large pieces back to the system and fetches them anew, zeroed page by page. Linux's only.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 1 << 30)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
