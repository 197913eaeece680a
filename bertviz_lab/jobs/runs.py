"""The folder of runs, the processes that train in it, and the queue of those that wait for a free place.

A run is a subprocess with a folder. Nobody holds a handle to it: whether it lives and what it does is read from the
folder, so any page may watch. When the server ends, its runs save a checkpoint and stop; after a restart they can be
resumed. A machine trains only so many at a time, since more would only slow each other down: the others wait, also
across a restart, and their visitors take turns by the rule of `scheduler`.
"""

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import shutil
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bertviz_lab.config import RunConfig
from bertviz_lab.config.cores import available_cores
from bertviz_lab.errors import InputError
from bertviz_lab.jobs.new_run import new_run_id, short_name, with_copies
from bertviz_lab.jobs.processes import STOP_FILE, WorkerProcesses, death_of, is_alive
from bertviz_lab.jobs.scheduler import Job, Start, Visitor, fair_order, groups_of, plan_starts
from bertviz_lab.training.checkpoints.atomic_io import exclusive_lock, write_json
from bertviz_lab.training.runs.run_folder import ACTIVE, RunState, read_config, read_log, read_state, write_state
from bertviz_lab.training.runs.summary import RunNotes, read_notes, write_notes

_RUN_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,80}")
_AT_WORK = tuple(status for status in ACTIVE if status != "waiting")
_OWNER_FILE = "owner"  # a hash of the cookie and a tag of the network address, on a line each
_KEY_FILE = ".address-key"
#: From the start of a process to its first step: Python, PyTorch and a text that was prepared before.
PREPARING_SECONDS = 8.0
_START_SECONDS = 60.0  # a process that has not reported by then never will
_POLL_SECONDS = 1.0  # between two checks of the queue
_PLAN_SECONDS = 0.5  # for which a plan of the queue is told to all who ask


@dataclass
class _Known:
    """What was read of the folders: a poll parses what has changed since, not hundreds of runs."""

    states: dict[str, tuple[tuple[int, int], RunState]] = field(default_factory=dict)  # with what tells the file apart
    budgets: dict[str, float | None] = field(default_factory=dict)  # seconds of a run; they never change
    visitors: dict[str, Visitor] = field(default_factory=dict)  # nor do these
    plan: dict[str, Start] = field(default_factory=dict)
    planned: float = -1.0  # when, on the monotonic clock


@dataclass(frozen=True)
class Runs:
    """All runs under one folder."""

    root: Path
    most_running: int = field(default_factory=lambda: max(1, available_cores() // 2))  # runs that train at a time
    processes: WorkerProcesses = field(default_factory=WorkerProcesses)
    _polling: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _known: _Known = field(default_factory=_Known, repr=False, compare=False)

    def start(
        self,
        config: RunConfig,
        texts: tuple[Path, ...] = (),
        scored: tuple[Path, ...] = (),
        *,
        owner: str = "",
        address: str = "",
    ) -> str:
        """Start a run in a process of its own, or queue it, and return its id at once.

        `texts` are copied into the run's folder and trained on together with the samples that `config` names, so that
        the run can be repeated when the originals are gone; `scored` likewise, as validation set of a fine-tuning.
        `owner` and a tag of the network `address` are recorded, for `visitor`.
        Raises `InputError` when the disk is full.
        """
        taken = {name for other in self.root.glob("*") for name in (short_name(other.name), read_notes(other).name)}
        run_id = new_run_id(taken)
        folder = self.root / run_id
        try:
            folder.mkdir(parents=True)
            config = with_copies(config, folder, texts, scored)
            (folder / _OWNER_FILE).write_text(f"{owner}\n{self.address_tag(address)}", encoding="utf-8")
            write_state(folder, RunState("waiting"))
            write_json(folder / "config.json", config.to_dict())  # last: this makes it a run
            self.start_queue()
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError(f"The run could not be started: {error.strerror or error}.") from error
        return run_id

    def resume(self, run_id: str) -> None:
        """Resume a run that was stopped, failed or was killed, as soon as there is a free place.

        Does nothing if it is running. Raises `InputError` when it is finished or unknown.
        """
        folder = self.folder(run_id)
        with self._exclusive():  # otherwise two requests at once could launch it twice
            state = self.state(run_id)
            if state.status in ACTIVE:
                return
            if state.status == "finished":
                raise InputError("This run is finished; start a new one to train longer.")
            read_config(folder)
            write_state(folder, replace(state, status="waiting", message="", pid=0))
        self.start_queue()

    def stop(self, run_id: str) -> None:
        """Ask a run to save a checkpoint and end, or take it out of the queue, if it has not ended; return at once."""
        folder = self.folder(run_id)
        with self._exclusive():  # otherwise it could be launched meanwhile
            state = read_state(folder)
            if state.status == "waiting":
                write_state(folder, replace(state, status="stopped"))
                self._known.planned = -1.0
                return
        if self.state(run_id).status in ACTIVE:
            (folder / STOP_FILE).touch()

    def delete(self, run_id: str) -> None:
        """Remove a run with its model and checkpoints. Raises `InputError` while it trains or waits, or if unknown."""
        folder = self.folder(run_id)
        with self._exclusive():  # otherwise it could be launched meanwhile
            if self.state(run_id).status in ACTIVE:
                raise InputError("This run is still training or queued; stop it before you delete it.")
            removed = folder.with_name(f".deleted-{folder.name}")  # gone at once, however long its files take
            try:
                folder.rename(removed)
            except OSError as error:
                raise InputError(f"The run could not be deleted: {error.strerror or error}.") from error
        self._known.visitors.pop(run_id, None)
        shutil.rmtree(removed, ignore_errors=True)

    def notes(self, run_id: str) -> RunNotes:
        """Return the name, tags and note of a run. Raises `InputError` for an unknown id."""
        return read_notes(self.folder(run_id))

    def annotate(self, run_id: str, notes: RunNotes) -> None:
        """Replace the notes of a run. Raises `InputError` for an unknown id or a full disk."""
        folder = self.folder(run_id)
        try:
            write_notes(folder, notes)
        except OSError as error:
            raise InputError(f"The notes could not be saved: {error.strerror or error}.") from error

    def visitor(self, run_id: str) -> Visitor:
        """Return who started a run: the tag of their address and the hash of their cookie, "" for what is not known."""
        if run_id not in self._known.visitors:
            with contextlib.suppress(InputError, OSError, ValueError):
                owner, _, tag = (self.folder(run_id) / _OWNER_FILE).read_text(encoding="utf-8").partition("\n")
                self._known.visitors[run_id] = tag, owner
        return self._known.visitors.get(run_id, ("", ""))

    def address_tag(self, address: str) -> str:
        """Return what runs record of a network address: with the key of this folder it can be recognized, not read."""
        if not address:
            return ""
        path = self.root / _KEY_FILE
        if not path.is_file():
            self.root.mkdir(parents=True, exist_ok=True)
            with self._exclusive():
                if not path.is_file():
                    path.touch(mode=0o600)
                    path.write_text(secrets.token_hex(32), encoding="ascii")
        return hmac.new(path.read_bytes(), address.encode(), hashlib.sha256).hexdigest()[:16]

    def name(self, run_id: str) -> str:
        """Return the display name of a run. Raises `InputError` for an unknown id."""
        return self.notes(run_id).name or short_name(run_id)

    def folder(self, run_id: str) -> Path:
        """Return the folder of a run. Raises `InputError` for an unknown id, or one that is a path elsewhere."""
        folder = self.root / run_id
        if not _RUN_ID.fullmatch(run_id) or not (folder / "config.json").is_file():
            raise InputError(f"There is no run {run_id[:80]!r}.")
        return folder

    def config(self, run_id: str) -> RunConfig:
        """Return the settings of a run. Raises `InputError` for an unknown id."""
        return read_config(self.folder(run_id))

    def started(self, run_id: str) -> float:
        """Return when a run was started, as Unix time. Raises `InputError` for an unknown id."""
        return (self.folder(run_id) / "config.json").stat().st_mtime

    def state(self, run_id: str) -> RunState:
        """Return the state of a run; "failed" where its process has died, or seems to have, without reporting it."""
        folder = self.folder(run_id)
        state = self._parsed(run_id)
        if state.status == "waiting":
            start = self._plan().get(run_id)
            return replace(state, message=describe_start(start) if start else "It is about to start.")
        starting = state.pid == 0 and abs(time.time() - state.updated) < _START_SECONDS  # a clock may be set back
        if state.status in ACTIVE and not starting and not is_alive(state, folder):
            return replace(state, status="failed", message=death_of(state), eta_seconds=None)
        return state

    def events(self, run_id: str, start: int = 0) -> tuple[list[dict[str, Any]], int]:
        """Return the run's events after the first `start` bytes of its log, and the offset to continue from."""
        return read_log(self.folder(run_id), start)

    def ids(self) -> tuple[str, ...]:
        """Return all runs, the newest first; a folder without a state, such as an exported model, is none."""
        started = {}
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self.root):
                if _RUN_ID.fullmatch(name):
                    with contextlib.suppress(OSError):
                        os.stat(self.root / name / "state.json")
                        started[name] = os.stat(self.root / name / "config.json").st_mtime
        return tuple(sorted(started, key=lambda name: -started[name]))

    def queue(self) -> tuple[str, ...]:
        """Return the runs that wait, in the order in which they start."""
        return tuple(self._plan())

    def queue_seconds(self) -> float:
        """Return the seconds until all runs that wait have ended, or at least until then; 0 if none wait."""
        ends = (
            start.seconds + PREPARING_SECONDS + (self._budget(run_id) or 0.0) for run_id, start in self._plan().items()
        )
        return max(ends, default=0.0)

    def warm_up(self) -> None:
        """Start the process of the next run, which takes seconds to import what it needs, where a run would find room.

        Where that fails, the run's own start says why.
        """
        if self._places_left():
            with contextlib.suppress(OSError):
                self.processes.warm_up()

    def start_queue(self) -> None:
        """Launch what there is room for, and poll until the queue is empty; a server calls this when it starts."""
        if self._launch_next():
            threading.Thread(target=self._poll_queue, daemon=True).start()

    def _poll_queue(self) -> None:
        with self._polling:  # one thread polls; later ones find the queue empty, or take its place
            waiting = 1
            while waiting:
                time.sleep(_POLL_SECONDS)
                with contextlib.suppress(OSError):  # a full disk may have room again at the next poll
                    waiting = self._launch_next()

    def _launch_next(self) -> int:
        """Launch as many runs as there is room for, in order; return how many still wait."""
        if not self.root.is_dir():
            return 0
        with self._exclusive():
            queue = self._queue()
            room = self._places_left() if queue else 0
            for run_id in queue[:room]:
                self._launch(self.folder(run_id))
                self._known.planned = -1.0
        return len(queue[room:])

    def _queue(self) -> list[str]:
        """Return the runs that wait, in the order in which they start."""
        waiting, active, served = [], [], dict[Visitor, float]()
        there = self.ids()
        for known in (self._known.states, self._known.budgets, self._known.visitors):
            for gone in known.keys() - set(there):
                known.pop(gone, None)
        for run_id in there:
            state, (tag, owner) = self._read(run_id), self.visitor(run_id)
            visitor = tag, owner or run_id  # a run of nobody has a turn of its own
            if state.status == "waiting":
                waiting.append(Job(visitor, run_id, "run", state.updated))
            elif state.status in ACTIVE:
                active.append(visitor)
            elif state.seconds:  # it has trained
                for group in groups_of(visitor):
                    served[group] = max(state.updated, served.get(group, 0.0))
        order = fair_order(waiting, active, served)
        left = [self._left(run_id) for run_id in there if self._is_running(run_id)]
        names = [job.name for job in order]
        expected = [None if (budget := self._budget(name)) is None else PREPARING_SECONDS + budget for name in names]
        starts = plan_starts(expected, left, self.most_running)
        self._known.plan = dict(zip(names, starts, strict=True))
        self._known.planned = time.monotonic()
        return names

    def _plan(self) -> dict[str, Start]:
        """Return when each of the runs that wait starts, in their order."""
        if time.monotonic() - self._known.planned > _PLAN_SECONDS:
            self._queue()
        return self._known.plan

    def _budget(self, run_id: str) -> float | None:
        """Return the seconds that a run will train; None where it trains for a number of steps."""
        if run_id not in self._known.budgets:
            with contextlib.suppress(InputError):
                self._known.budgets[run_id] = getattr(self.config(run_id), "time_budget_seconds", None)
        return self._known.budgets.get(run_id)

    def _left(self, run_id: str) -> float | None:
        """Return the seconds that a run at work still trains; None where nobody knows."""
        state = self._read(run_id)
        if state.status == "training" and state.eta_seconds is not None and state.step:
            return max(0.0, state.eta_seconds - max(0.0, time.time() - state.updated))
        budget = self._budget(run_id)
        return None if budget is None else max(0.0, budget - state.seconds)

    def _places_left(self) -> int:
        """Return how many more runs may train at a time."""
        return max(0, self.most_running - sum(map(self._is_running, self.ids())))

    def _is_running(self, run_id: str) -> bool:
        try:
            return self._read(run_id).status in _AT_WORK and self.state(run_id).status in _AT_WORK
        except InputError:
            return False

    def _read(self, run_id: str) -> RunState:
        """Return the state as the file has it; "failed" without one."""
        try:
            return self._parsed(run_id)
        except InputError:
            return RunState("failed")

    def _parsed(self, run_id: str) -> RunState:
        """Return the state as the file has it, parsed when the file has changed. Raises as `read_state`."""
        folder = self.root / run_id
        try:
            stat = os.stat(folder / "state.json")
        except OSError:
            return read_state(folder)
        version = stat.st_mtime_ns, stat.st_ino  # two writes may fall into one tick of the clock
        known = self._known.states.get(run_id)
        if known is None or known[0] != version:
            self._known.states[run_id] = known = version, read_state(folder)
        return known[1]

    def _exclusive(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock of the queue: one thread of one server at a time changes it."""
        return exclusive_lock(self.root / ".queue.lock", seconds=-1)

    def _launch(self, folder: Path) -> None:
        """Start the process of a run; "starting" is written first, so that there is never a process without a state."""
        (folder / STOP_FILE).unlink(missing_ok=True)
        write_state(folder, replace(read_state(folder), status="starting", message="", pid=0))
        self.processes.start(folder)


def describe_start(start: Start) -> str:
    """Return a sentence such as "One other is before it in the queue; it starts in about 2 min."."""
    messages = {0: "It is next in the queue", 1: "One other is before it in the queue"}
    place = messages.get(start.before, f"{start.before} others are before it in the queue")
    if start.seconds < (60 if start.at_least else 1):  # nothing that helps
        return f"{place}."
    hours, minutes = divmod(round(start.seconds / 60), 60)
    duration = f"{hours} h {minutes} min" if hours else f"{minutes} min"
    if start.seconds < 57.5:
        duration = f"{max(5, 5 * round(start.seconds / 5))} s"
    return f"{place}; it starts in {'at least' if start.at_least else 'about'} {duration}."
