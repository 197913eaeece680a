"""Runs as processes of their own: start, watch, stop, resume, queue. They outlive the page that started them.

In reading order: `runs` (the folder of runs and their queue), `worker` (a run's process, from both sides), `scheduler`
(who is next), `new_run` (its name and copies of its files), `retention` (how long runs are kept).
"""

from bertviz_lab.jobs.runs import Runs

__all__ = ["Runs"]
