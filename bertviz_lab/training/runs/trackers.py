"""Experiment trackers: events also go to one that Accelerate supports, such as TensorBoard."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from accelerate import Accelerator
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

from bertviz_lab.config import RunConfig
from bertviz_lab.errors import InputError
from bertviz_lab.training.loop.hardware import start_accelerator
from bertviz_lab.training.runs.events import EvalDone, Event, ProbesDone, RunStarted, StepDone


def track(events: Iterable[Event], config: RunConfig, folder: Path) -> Iterator[Event]:
    """Pass every event on, and log its metrics to `config.tracker`, if set, which writes under `folder`.

    Raises `InputError` for a tracker that is unknown or not installed.
    """
    if not config.tracker:
        yield from events
        return
    tracker = _tracker(config.tracker, folder)
    try:
        for event in events:
            if isinstance(event, RunStarted):
                settings = {name: str(value) for name, value in config.to_dict().items()}
                tracker.init_trackers(folder.name, config=settings)
            elif isinstance(event, StepDone):
                speed = {"tokens_per_second": event.tokens_per_second, "learning_rate": event.learning_rate}
                values = {"loss": event.loss, "grad_norm": event.grad_norm, **speed, **event.metrics}
                tracker.log({f"train/{name}": value for name, value in values.items()}, step=event.step)
            elif isinstance(event, EvalDone):
                tracker.log({f"held_out/{name}": value for name, value in event.metrics.items()}, step=event.step)
            elif isinstance(event, ProbesDone):
                tracker.log({f"probes/{kind}": share for kind, share in event.right.items()}, step=event.step)
            yield event
    finally:
        for opened in tracker.trackers:
            opened.finish()


def _tracker(name: str, folder: Path) -> Accelerator:
    known = sorted(str(kind) for kind in LOGGER_TYPE_TO_CLASS)
    if name not in known:
        raise InputError(f"There is no tracker {name!r}; Accelerate knows {', '.join(known)}.")
    if name not in {str(kind) for kind in get_available_trackers()}:
        raise InputError(f"The tracker {name} is not installed: pip install {name}.")
    return start_accelerator(log_with=name, project_dir=str(folder))
