"""The analyses and the models, imported when first asked: torch takes seconds, and the first page should not wait.

A module of `bertviz_lab.interpret` is imported through the package: two threads, one that imports the package and one
that imports a module of it, would wait for each other.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertviz_lab import interpret
    from bertviz_lab.interpret import family_notes
    from bertviz_lab.training.checkpoints import checkpoint as checkpoints
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
else:

    class _Lazy:
        def __init__(self, *names: str) -> None:
            self._names = names

        def __getattr__(self, name: str) -> Any:
            *_, module = [import_module(name) for name in self._names]
            return getattr(module, name)

    interpret = _Lazy("bertviz_lab.interpret")
    family_notes = _Lazy("bertviz_lab.interpret", "bertviz_lab.interpret.family_notes")
    checkpoints, Checkpoint = _Lazy("bertviz_lab.training.checkpoints.checkpoint"), Any

__all__ = ["Checkpoint", "checkpoints", "family_notes", "interpret"]
