"""Equal cost on a machine that others use too.

Waiting for a core costs no CPU time, so CPU seconds are the same on a busy machine and an idle one; nearly, for those
who share caches and memory slow each other down. So a fixed training step is timed again and again during a run, and
CPU seconds are counted as more where it is fast and as fewer where it is slow.
"""

import statistics
import time
from collections import deque

import torch

from bertviz_lab.config import BertConfig
from bertviz_lab.model import BertForMaskedLM

#: CPU seconds of the fixed step on a machine whose seconds count as they are.
NOMINAL = 0.05
_EVERY = 1.0  # CPU seconds between two timings of the fixed step
_TIMINGS = 9  # of which the median is taken
_EXAMPLES, _TOKENS, _MASKED = 16, 128, 19


class ReferenceStep:
    """Forward and backward pass of a small model on one batch, always the same."""

    def __init__(self, precision: str) -> None:
        random = torch.Generator().manual_seed(0)
        config = BertConfig.preset("tiny", vocab_size=8192)
        self._model = BertForMaskedLM(config, generator=random)
        self._ids = torch.randint(5, config.vocab_size, (_EXAMPLES, _TOKENS), generator=random)
        self._positions = torch.arange(0, _TOKENS - 1, _TOKENS // _MASKED)[:_MASKED].expand(_EXAMPLES, -1)
        self._bf16 = precision == "bf16"

    def cpu_seconds(self) -> float:
        """What the step costs just now."""
        begin = time.thread_time()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._bf16):
            logits = self._model.eval()(self._ids, masked_positions=self._positions).logits
        logits.float().logsumexp(-1).mean().backward()
        self._model.zero_grad(set_to_none=True)
        return time.thread_time() - begin


class Clock:
    """Seconds of a run: CPU seconds of all threads of this process, in terms of the fixed step.

    A run that goes on after an interruption begins with its `seconds` and `cpu_seconds` so far.
    """

    def __init__(self, reference: ReferenceStep, seconds: float = 0.0, cpu_seconds: float = 0.0) -> None:
        self._reference = reference
        for _ in range(3):  # the first steps allocate memory
            reference.cpu_seconds()
        self.timings = [reference.cpu_seconds() for _ in range(_TIMINGS)]
        self._recent = deque(self.timings, _TIMINGS)
        self.cpu_seconds, self._seconds = cpu_seconds, seconds
        self._last = self._timed = time.process_time()

    def read(self) -> float:
        """The seconds so far, without what the timings cost."""
        now = time.process_time()
        passed = now - self._last
        self.cpu_seconds += passed
        self._seconds += passed * NOMINAL / statistics.median(self._recent)
        if now - self._timed >= _EVERY:
            self.timings.append(self._reference.cpu_seconds())
            self._recent.append(self.timings[-1])
            self._timed = now = now + self.timings[-1]
        self._last = now
        return self._seconds
