"""What the page is told when it is built: where things lie, and how much it may be used for."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bertviz_lab.config import SHIPPED
from bertviz_lab.errors import InputError

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Settings:
    """Settings of one page. Raises `InputError` for numbers that cannot work.

    Attributes:
        runs_dir: holds a folder for every training run.
        checkpoints: holds a folder for every model that comes with the lab.
        shared: strangers can reach the page. Then a visitor sees only the runs that their own browser started,
            and no folders of the machine.
        max_runs: trainings at a time; others wait for their turn.
        max_upload: bytes of one uploaded file.
        max_model: bytes of the weights of a model that may be opened.
        threads: CPU threads of one training.
    """

    runs_dir: Path = Path("runs")
    checkpoints: Path = SHIPPED
    shared: bool = False
    max_runs: int = 1
    max_upload: int = 200 * MEGABYTE
    max_model: int = 4000 * MEGABYTE
    threads: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.max_runs <= 64:
            raise InputError(f"--max-runs must lie between 1 and 64, not {self.max_runs}.")

    @classmethod
    def for_host(
        cls, host: str, runs_dir: Path, max_runs: int | None, environment: Mapping[str, str] = os.environ
    ) -> "Settings":
        """Settings for a page at an address: open to the person at this machine, careful with everybody else."""
        shared = host not in LOCAL_HOSTS or "SPACE_ID" in environment
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if max_runs is None:
            max_runs = max(1, min(cores // 2, 64))
        # Trainings run at low priority, so one person's may take every core; strangers get equal parts.
        threads = max(1, cores // max_runs) if shared else min(cores, 8)
        return cls(
            runs_dir=runs_dir,
            shared=shared,
            max_runs=max_runs,
            max_upload=(50 if shared else 200) * MEGABYTE,
            max_model=(1000 if shared else 4000) * MEGABYTE,
            threads=threads,
        )
