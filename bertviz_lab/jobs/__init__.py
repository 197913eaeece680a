"""Runs as processes of their own: start, watch, stop, resume, queue. They outlive the page that started them.

In reading order: `runs` (the folder of runs and their queue), `processes` (how the process of a run starts, and whether
it lives), `worker` (what it does), `scheduler` (who is next), `new_run` (its name and copies of its files), `retention`
(how long runs are kept).
"""

from bertviz_lab.jobs.processes import WorkerProcesses
from bertviz_lab.jobs.runs import Runs

__all__ = ["Runs", "WorkerProcesses"]
