"""How long runs are kept: until they are too old, or until there is no more room for all of them."""

import contextlib
import shutil
import time
from pathlib import Path

from bertviz_lab.config.limits import DAY, Limits
from bertviz_lab.errors import InputError
from bertviz_lab.jobs.runs import Runs
from bertviz_lab.training.runs.run_folder import ACTIVE, RunState

_NOTICE = 365 * DAY  # what is kept for longer has no date worth telling


def deleted_at(state: RunState, limits: Limits) -> float | None:
    """When a run will be deleted for its age, as Unix time; None while it is active, or for a date far away."""
    if state.status in ACTIVE or not state.updated or limits.run_age > _NOTICE:
        return None
    return state.updated + limits.run_age


def delete_expired(runs: Runs, limits: Limits, now: float | None = None) -> tuple[str, ...]:
    """Delete ended runs that are too old, then the oldest until the others fit into their space; returns their ids.

    Runs that train or wait are kept, whatever room they take. Also removes what a deletion left that was interrupted.
    """
    now = time.time() if now is None else now
    for removed in runs.root.glob(".deleted-*"):
        shutil.rmtree(removed, ignore_errors=True)
    states = {run_id: runs.state(run_id) for run_id in runs.ids()}
    ended = sorted(
        (run_id for run_id, state in states.items() if state.status not in ACTIVE), key=lambda r: states[r].updated
    )
    deleted = [run_id for run_id in ended if now - states[run_id].updated > limits.run_age]
    sizes = {run_id: bytes_below(runs.root / run_id) for run_id in states if run_id not in deleted}
    total = sum(sizes.values())
    for run_id in ended:
        if total <= limits.runs_space:
            break
        if run_id in sizes:
            deleted.append(run_id)
            total -= sizes[run_id]
    for run_id in deleted:
        with contextlib.suppress(InputError):  # its owner was faster, or has resumed it
            runs.delete(run_id)
    return tuple(deleted)


def bytes_below(folder: Path) -> int:
    """The size of all files in a folder and its subfolders."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size if not path.is_dir() else 0
        except OSError:
            continue  # deleted meanwhile
    return total
