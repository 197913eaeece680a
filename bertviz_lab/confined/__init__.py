"""Process uploaded files in processes with limits of memory and time, so that no file takes the page down.

In reading order: `run` (the side that asks), `channel` (processes and their pipes), `template` (the process that is
copied) and `worker` (the process that works).
"""

from bertviz_lab.confined.run import Confinement, MemoryLimitError, TimeLimitError, Workers, run_confined
