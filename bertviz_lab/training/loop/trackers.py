"""Experiment trackers: events also go to one that Accelerate supports, such as TensorBoard.

tracker.json in the folder of a run says where its curves are, and the last step of each, so that a run that resumes
adds to them: the steps since its checkpoint, which it repeats, are not sent twice.
"""

import contextlib
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.tracking import LOGGER_TYPE_TO_CLASS, get_available_trackers

from bertviz_lab.config import RunConfig
from bertviz_lab.errors import InputError
from bertviz_lab.training.checkpoints.atomic_io import read_object, write_json
from bertviz_lab.training.loop.hardware import start_accelerator
from bertviz_lab.training.runs.events import EvalDone, Event, ProbesDone, RunStarted, StepDone

_STATE = "tracker.json"
_PROJECT = "bertviz-lab"


def track(events: Iterable[Event], config: RunConfig, folder: Path) -> Iterator[Event]:
    """Pass every event on, and log its metrics to `config.tracker`, if set, in the same tracker run after a resume.

    Raises `InputError` for a tracker that is unknown or not installed, or that refuses to start.
    """
    if not config.tracker or not start_accelerator().is_main_process:
        yield from events
        return
    accelerator = _accelerator(config.tracker, folder)
    # The run's name at the tracker, unlike that of any other, and the last step that was sent of each kind of curve.
    state: dict[str, Any] = {"tracker": config.tracker, "run": "", "last_steps": {}}
    if (earlier := read_object(folder / _STATE)).get("tracker") == config.tracker:
        state |= earlier
    try:
        for event in events:
            if isinstance(event, RunStarted):
                state["run"] = _start(accelerator, state["run"], config, folder)
                write_json(folder / _STATE, state)
            elif metrics := _metrics(event):
                curves, step, values = metrics
                if step > state["last_steps"].get(curves, -1):
                    state["last_steps"][curves] = step
                    write_json(folder / _STATE, state, durable=False)
                    accelerator.log({f"{curves}/{name}": value for name, value in values.items()}, step=step)
            yield event
    finally:
        with contextlib.redirect_stdout(sys.stderr):
            for opened in accelerator.trackers:
                opened.finish()


def _metrics(event: Event) -> tuple[str, int, Mapping[str, float]] | None:
    """Return the curves that an event adds to, its step, and a value for each; None for an event without any."""
    if isinstance(event, StepDone):
        speed = {"tokens_per_second": event.tokens_per_second, "learning_rate": event.learning_rate}
        return "train", event.step, {"loss": event.loss, "grad_norm": event.grad_norm, **speed, **event.metrics}
    if isinstance(event, EvalDone):
        return "held_out", event.step, event.metrics
    if isinstance(event, ProbesDone):
        return "probes", event.step, event.right
    return None


def _accelerator(name: str, folder: Path) -> Accelerator:
    known = sorted(str(kind) for kind in LOGGER_TYPE_TO_CLASS)
    if name not in known:
        raise InputError(f"There is no tracker {name!r}; Accelerate knows {', '.join(known)}.")
    if name not in {str(kind) for kind in get_available_trackers()}:
        raise InputError(f"The tracker {name} is not installed: pip install {name}.")
    return start_accelerator(log_with=name, project_dir=str(folder))


def _start(accelerator: Accelerator, earlier: str, config: RunConfig, folder: Path) -> str:
    """Open a run at the tracker, or the `earlier` one again, and return its name."""
    settings = None if earlier else {name: str(value) for name, value in config.to_dict().items()}
    run = earlier or f"{folder.resolve().name}-{secrets.token_hex(4)}"
    options: dict[str, dict[str, Any]] = {
        "tensorboard": {"filename_suffix": f".{secrets.token_hex(4)}"},  # a file of its own, also within a second
        "trackio": {"name": run, "resume": "allow"},
        "wandb": {"name": run, "id": run, "resume": "allow", "dir": str(folder)},
    }
    # TensorBoard's run is a folder, this one's; its project is the folder inside.
    project = "tensorboard" if config.tracker == "tensorboard" else _PROJECT
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
            accelerator.init_trackers(project, config=settings, init_kwargs=options)
    except Exception as error:  # of any type: they speak to servers
        accelerator.trackers.clear()
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"The tracker {config.tracker} could not be started: {reason}.") from error
    return run
