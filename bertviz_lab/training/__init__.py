"""Training: text or labeled files in, a stream of events and a folder with a model out.

From the lowest room up: `checkpoints` (a model on disk), `runs` (events, the folder of a run), `loop` (steps, time and
gradients, whatever the task), `pretraining` (MLM with NSP or SOP, replaced tokens) and `finetuning` (labelled tasks).
"""

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from bertviz_lab.config import FinetuneConfig, RunConfig
from bertviz_lab.training.runs.events import Event


def run_training(
    config: RunConfig,
    folder: Path,
    *,
    resume: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
    require_sure: bool = False,
) -> Iterator[Event]:
    """Pretrain or fine-tune, as `config` says, in `folder`. Raises as `pretrain` and `finetune` do."""
    if isinstance(config, FinetuneConfig):  # imported late because torch takes seconds
        from bertviz_lab.training.finetuning.finetune import finetune

        return finetune(config, folder, resume=resume, should_stop=should_stop, require_sure=require_sure)
    from bertviz_lab.training.pretraining.pretrain import pretrain

    return pretrain(config, folder, resume=resume, should_stop=should_stop)


def stop_on_signals() -> threading.Event:
    """Return an event that Ctrl-C and SIGTERM set from now on, so that training ends after a checkpoint."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop
