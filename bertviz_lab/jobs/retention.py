"""How long runs are kept: until they are too old, or until there is no more room for all of them.

Then those of the address, and of its browser, with the largest share go first: no visitor evicts the runs of another by
making many.
"""

import contextlib
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bertviz_lab.config.limits import DAY, Limits
from bertviz_lab.errors import InputError
from bertviz_lab.jobs.runs import Runs
from bertviz_lab.jobs.scheduler import Visitor, groups_of
from bertviz_lab.training.runs.run_folder import ACTIVE, RunState

_NOTICE = 365 * DAY  # what is kept for longer has no date worth telling


def deleted_at(state: RunState, limits: Limits) -> float | None:
    """Return when a run will be deleted for its age, as Unix time; None while it is active, or for a date far away."""
    if state.status in ACTIVE or not state.updated or limits.run_age > _NOTICE:
        return None
    return state.updated + limits.run_age


def delete_expired(runs: Runs, limits: Limits, now: float | None = None) -> tuple[str, ...]:
    """Delete ended runs that are too old, then others until the rest fits into its space; return their ids.

    Runs that train or wait are kept, whatever room they take. Also removes what an interrupted deletion left.
    """
    now = time.time() if now is None else now
    for removed in runs.root.glob(".deleted-*"):
        shutil.rmtree(removed, ignore_errors=True)
    states = {run_id: runs.state(run_id) for run_id in runs.ids()}
    oldest_first = sorted(states, key=lambda run_id: states[run_id].updated)
    ended = [run_id for run_id in oldest_first if states[run_id].status not in ACTIVE]
    deleted = [run_id for run_id in ended if now - states[run_id].updated > limits.run_age]
    ended = ended[len(deleted) :]
    sizes = {run_id: bytes_below(runs.root / run_id) for run_id in states if run_id not in deleted}
    while ended and sum(sizes.values()) > limits.runs_space:
        deleted.append(_next_to_go(runs, ended, sizes))
        ended.remove(deleted[-1])
        del sizes[deleted[-1]]
    for run_id in deleted:
        with contextlib.suppress(InputError):  # its owner was faster, or has resumed it
            runs.delete(run_id)
    return tuple(deleted)


def _next_to_go(runs: Runs, ended: Sequence[str], sizes: Mapping[str, int]) -> str:
    """Return the first run in `ended` of the browser that takes the most room at the address that takes the most."""
    taken: Counter[Visitor] = Counter()
    for run_id, size in sizes.items():
        for group in groups_of(runs.visitor(run_id)):
            taken[group] += size
    return max(ended, key=lambda run_id: [taken[group] for group in groups_of(runs.visitor(run_id))])


def bytes_below(folder: Path) -> int:
    """Return the size of all files in a folder and its subfolders."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size if not path.is_dir() else 0
        except OSError:
            continue  # deleted meanwhile
    return total
