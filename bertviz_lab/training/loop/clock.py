"""Time: the seconds of training, which all processes must agree on, and how often the probes are affordable."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from bertviz_lab.config import BertConfig, PretrainConfig
from bertviz_lab.model import BertForPreTraining
from bertviz_lab.training.loop.hardware import Hardware, precision_on_cpu
from bertviz_lab.training.loop.optim import build_optimizers

#: Several processes exchange clock and stop request this often, in seconds.
SYNC_SECONDS = 0.25
#: The probes take at most this fraction of the time, plus so many seconds for the first steps.
_PROBE_FRACTION, _PROBE_HEAD_START = 0.03, 6.0


class Stopwatch:
    """Seconds of training over all sessions of a run, without pauses for evaluation and saving; and the stop request.

    Every decision of the loop follows from these two, so several processes must see the same. The main process's are
    broadcast every `SYNC_SECONDS`, not each step; in between, all processes extrapolate from the same numbers.
    """

    def __init__(self, hardware: Hardware, should_stop: Callable[[], bool], earlier: float) -> None:
        self._hardware, self._should_stop, self._earlier = hardware, should_stop, earlier
        self._start = time.perf_counter()
        self._synced, self._seconds_per_step = earlier, 0.0
        self._steps, self._steps_until_sync = 0, 0
        self.paused = 0.0

    def read(self) -> tuple[float, bool]:
        """Return the seconds so far, and whether to stop; to be called once a step, by all processes."""
        if self._hardware.processes > 1 and self._steps + 1 < self._steps_until_sync:
            self._steps += 1
            return self._synced + self._steps * self._seconds_per_step, False
        seconds = self._earlier + time.perf_counter() - self._start - self.paused
        if self._hardware.processes == 1:
            return seconds, self._should_stop()
        return self._sync(seconds)

    def _sync(self, seconds: float) -> tuple[float, bool]:
        seconds = max(seconds, self._synced + self._steps * self._seconds_per_step)  # time never runs backwards
        pace = (seconds - self._synced) / (self._steps + 1)
        until_sync = min(1000, max(1, int(SYNC_SECONDS / pace))) if self._steps_until_sync and pace > 0 else 1
        values = self._hardware.broadcast((seconds, self._should_stop(), pace, until_sync))
        self._synced, stop, self._seconds_per_step, self._steps_until_sync = values
        self._steps = 0
        return self._synced, stop


@dataclass
class ProbeBudget:
    """When the probes may be run again, by how long they have taken so far."""

    next_due: float  # seconds of training, between the steps that are snapshotted
    cost: float = 0.0  # seconds that they took the last time
    spent: float = 0.0  # in this session

    def is_affordable(self, seconds: float) -> bool:
        """Return whether there is time to probe at a snapshot; these come in quick succession at first."""
        return self.spent + self.cost <= _PROBE_HEAD_START + _PROBE_FRACTION * seconds

    def charge(self, cost: float, seconds: float) -> None:
        """Account for probes that have just taken `cost` seconds."""
        self.cost = cost
        self.spent += cost
        self.next_due = seconds + cost / _PROBE_FRACTION


_MAX_TOKENS, _SECONDS, _LEAST_STEPS = 4096, 0.4, 2


def tokens_per_second(model_config: BertConfig, settings: PretrainConfig) -> float:
    """Train on random ids for a moment in the run's precision, with torch's current number of threads.

    The batch is the run's, up to `_MAX_TOKENS`; a step of more computes longer, and updates the weights once as well.
    """
    generator = torch.Generator().manual_seed(0)
    examples = max(1, min(settings.batch_size, _MAX_TOKENS // settings.seq_len))
    shape = (examples, settings.seq_len)
    ids = torch.randint(5, model_config.vocab_size, shape, generator=generator)
    positions = torch.arange(1, 1 + max(1, round(settings.mean_mask_probability * settings.seq_len))).expand(
        examples, -1
    )
    labels = ids.gather(1, positions)
    next_label = torch.zeros(examples, dtype=torch.long)
    model = BertForPreTraining(model_config, generator=generator)
    optimizers = build_optimizers(model, settings, 1e-4)

    half = precision_on_cpu(settings.precision) == "bf16"
    steps, start, updating = 0, 0.0, 0.0
    while True:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            out = model(ids, labels=labels, next_sentence_label=next_label, masked_positions=positions)
        out.loss.backward()
        computed = time.perf_counter()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        now, steps = time.perf_counter(), steps + 1
        if steps == 1:  # it compiles kernels and allocates buffers
            start = now
            continue
        updating += now - computed
        if steps > _LEAST_STEPS and now - start > _SECONDS:
            computing = (now - start - updating) * settings.batch_size / examples
            return (steps - 1) * settings.batch_size * settings.seq_len / (computing + updating)
