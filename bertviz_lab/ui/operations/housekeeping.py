"""Nothing of visitors stays for longer than it should: uploads, files made for download, and runs.

Uploads lie in a folder of this server's process. A sweep removes what is too old, when the server starts and every few
minutes; at its end the folder goes. What a killed server left is removed by the next one on the same machine.
"""

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

import psutil
from gradio.utils import get_upload_folder

from bertviz_lab.errors import InputError
from bertviz_lab.jobs.retention import delete_expired
from bertviz_lab.ui.operations.event_log import log_event
from bertviz_lab.ui.state.app_state import AppState

_PREFIX = "bertviz-lab-server-"
_EVERY = 300.0  # seconds


def own_upload_folder() -> Path:
    """Make the upload folder of this process, which Gradio then uses. Raises `InputError` where it cannot be made."""
    parent = Path(os.environ.get("GRADIO_TEMP_DIR") or tempfile.gettempdir())
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for folder in parent.glob(f"{_PREFIX}*"):  # of servers on this machine that were killed
            pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
            if pid.isdecimal() and (int(pid) == os.getpid() or not psutil.pid_exists(int(pid))):
                shutil.rmtree(folder, ignore_errors=True)  # another user's stays, for want of permission
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))
    except OSError as error:
        raise InputError(f"The folder for uploads, {parent}, cannot be written: {error.strerror}.") from error
    os.environ["GRADIO_TEMP_DIR"] = str(folder)
    return folder


async def sweep_regularly(state: AppState) -> None:
    """Sweep now and every few minutes, until cancelled."""
    while True:
        await asyncio.to_thread(sweep, state)
        await asyncio.sleep(_EVERY)


def sweep(state: AppState, now: float | None = None) -> tuple[str, ...]:
    """Remove what is too old; return the runs that were deleted."""
    limits = state.settings.limits
    now = time.time() if now is None else now
    for path in sorted(Path(get_upload_folder()).rglob("*"), reverse=True):  # a folder after what is in it
        with contextlib.suppress(OSError):  # not empty, or gone meanwhile
            if path.lstat().st_mtime < now - limits.upload_seconds:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    deleted = delete_expired(state.runs, limits, now)
    for run_id in deleted:
        log_event("run deleted", run=run_id)
    return deleted
