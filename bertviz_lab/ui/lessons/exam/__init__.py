"""The final exam: ten tasks over the whole course, with other sentences and numbers for each seed.

In reading order: `task` (what a task is, and how it is marked), `texts.toml` (what the tasks say), `inputs`, `network`
and `evidence` (their numbers and keys), `exam` (the ten of a seed, and what the page shows of them; the templates are
beside it). A task is made again from its seed whenever it is shown or marked, so nothing is kept, and a key leaves the
server with the answers only.
"""

from bertviz_lab.ui.lessons.exam.exam import COUNT, TITLES, certificate_page, task_of, task_page
from bertviz_lab.ui.lessons.exam.task import HINT_COST, PASSING, POINTS, Field, Mark, Task, mark

__all__ = [
    "COUNT", "HINT_COST", "PASSING", "POINTS", "TITLES", "Field", "Mark", "Task", "certificate_page", "mark", "task_of",
    "task_page",
]  # fmt: skip
