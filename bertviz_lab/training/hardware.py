"""What this machine computes on and in which number format, found by trying, not by faith."""

import contextlib
import os
import time
from dataclasses import dataclass

import torch

from bertviz_lab.config import BertConfig

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Hardware:
    """Where a run computes."""

    device: torch.device
    precision: str  # fp32, bf16 or fp16
    threads: int

    def autocast(self) -> contextlib.AbstractContextManager:
        """Matrix products in the chosen format, everything delicate in 32 bits."""
        dtype = _DTYPES.get(self.precision)
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None)


def choose_hardware(precision: str, config: BertConfig, threads: int = 0) -> Hardware:
    """The GPU if there is one, else the CPU; "auto" precision takes bf16 only where it measures faster."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    threads = threads or usable_cores()
    torch.set_num_threads(threads)
    if precision == "auto":
        if device.type == "cuda":
            precision = "bf16" if torch.cuda.is_bf16_supported() else "fp16"
        else:
            precision = "bf16" if _bf16_pays(config) else "fp32"
    return Hardware(device, precision, threads)


def usable_cores() -> int:
    """Cores this process may run on, which a container can set below the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _bf16_pays(config: BertConfig, seconds: float = 0.2) -> bool:
    """Time the feed-forward products of one layer, forward and backward, in both formats."""

    def speed(dtype: torch.dtype | None) -> float:
        x = torch.randn(1024, config.hidden_size)
        w = torch.randn(config.intermediate_size, config.hidden_size, requires_grad=True)
        done, start = 0, 0.0
        while True:
            with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                y = torch.nn.functional.linear(x, w)
            y.float().sum().backward()
            done += 1
            if done == 2:  # the first calls prepare kernels
                start = time.perf_counter()
            elif done > 2 and time.perf_counter() - start > seconds:
                return (done - 2) / (time.perf_counter() - start)

    return speed(torch.bfloat16) > 1.15 * speed(None)
