"""The analyses and the models, imported when first asked: torch takes seconds, and the first page should not wait."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertviz_lab import interpret
    from bertviz_lab.training.checkpoints import checkpoint as checkpoints
    from bertviz_lab.training.checkpoints.checkpoint import Checkpoint
else:

    class _Lazy:
        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._module), name)

    interpret = _Lazy("bertviz_lab.interpret")
    checkpoints, Checkpoint = _Lazy("bertviz_lab.training.checkpoints.checkpoint"), Any

__all__ = ["Checkpoint", "checkpoints", "interpret"]
